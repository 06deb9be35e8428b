"""goix's benchmark: which rows train, test and judge; what the table says of agreement."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from bench import goix as script
from fastad.errors import InvalidInputError
from fastad.study.papers.goix import goix_benchmark, goix_cell
from fastad.study.papers.goix_data import (
    FILES,
    SETTINGS,
    GoixProtocol,
    Setting,
    load_goix,
    split_goix,
)
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.unsupervised.criteria import Criterion

Matrix = npt.NDArray[np.float64]

SHARED = Path(__file__).parents[3] / "shared" / "data"
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "goix_tables.json").read_text("utf-8"))
# Few points and draws, and rows as they came.
FEW = GoixProtocol(n_subspaces=6, n_uniform=2000, n_resamples=50, max_train=500, max_test=500)
PLAIN = dataclasses.replace(FEW, standardize=False)
FAST = {
    "forest": IsolationForest(n_estimators=10),
    "lof": LocalOutlierFactor(novelty=True),
}


def data(n_normals: int, n_anomalies: int, d: int, seed: int = 0) -> tuple[Matrix, Any]:
    rng = np.random.default_rng(seed)
    normals, anomalies = rng.normal(size=(n_normals, d)), rng.uniform(-6, 6, (n_anomalies, d))
    return np.concatenate([normals, anomalies]), np.repeat([0, 1], [n_normals, n_anomalies])


def numbered(n_normals: int, n_anomalies: int) -> tuple[Matrix, Any]:
    """Rows that hold their numbers, so that it shows where each went."""
    y = np.repeat([0, 1], [n_normals, n_anomalies])
    return np.arange(y.shape[0], dtype=np.float64)[:, None], y


def cut(X: Matrix, y: Any, setting: Setting, protocol: GoixProtocol = PLAIN, seed: int = 0) -> Any:
    return split_goix(X, y, setting, protocol=protocol, rng=np.random.default_rng(seed))


def flat(X: Matrix) -> Callable[[Matrix], Matrix]:
    """Learn to give all points one score."""
    return lambda rows: np.zeros(rows.shape[0])


def same_criteria(one: GoixRow, other: GoixRow) -> bool:
    # NaN is compared by its text.
    return str(one.em.to_dict()) + str(one.mv.to_dict()) == str(other.em.to_dict()) + str(
        other.mv.to_dict()
    )


# --- rows and features


def test_features_with_fewer_than_ten_values_are_dropped() -> None:
    n = np.arange(200)
    X = np.column_stack([n % 9, n % 10, n, np.ones(200), n % 11]).astype(np.float64)
    split = cut(X, n >= 150, "novelty")
    assert split.X_train.shape[1] == split.evaluated.shape[1] == 3
    assert set(np.unique(split.X_test[:, 0])) <= set(range(10))
    assert (
        cut(X, n >= 150, "novelty", dataclasses.replace(PLAIN, min_distinct=9)).X_test.shape[1] == 4
    )


def test_values_are_counted_in_all_rows() -> None:
    X = np.column_stack([np.arange(200), np.repeat([0, 1], 100) * np.arange(200) % 9])
    X[190:, 1] = np.arange(100, 110)  # more values, in anomalies alone
    assert cut(X.astype(np.float64), np.arange(200) >= 190, "novelty").X_train.shape[1] == 2


def test_halves_of_the_novelty_setting() -> None:
    X, y = numbered(301, 50)
    split = cut(X, y, "novelty")
    train, test, judged = (rows[:, 0].astype(int) for rows in (split.X_train, *split[1::2]))
    assert test.shape[0] == 351 - 351 // 2
    assert set(train) | set(test) == set(range(301)) | (set(test) & set(range(301, 351)))
    assert not set(train) & set(test)
    np.testing.assert_array_equal(split.y_test, test >= 301)
    np.testing.assert_array_equal(judged, test[test < 301])
    assert 15 < split.y_test.sum() < 35
    assert np.any(np.diff(test) < 0)  # shuffled


def test_halves_of_the_unsupervised_setting() -> None:
    X, y = numbered(300, 20)
    split = cut(X, y, "unsupervised")
    train, test = split.X_train[:, 0], split.X_test[:, 0]
    assert sorted([*train, *test]) == list(range(320))
    assert len(train) == len(test) == 160
    np.testing.assert_array_equal(split.evaluated, split.X_test)
    np.testing.assert_array_equal(split.y_test, test >= 300)


@pytest.mark.parametrize(("share", "most"), [(0.1, 33), (0.25, 100), (0.29, 122), (0.5, 300)])
def test_surplus_anomalies_are_left_out_at_random(share: float, most: int) -> None:
    X, y = numbered(300, 400)
    split = cut(X, y, "unsupervised", dataclasses.replace(PLAIN, max_anomaly_fraction=share))
    rows = np.concatenate([split.X_train, split.X_test])[:, 0]
    kept = rows[rows >= 300]
    assert kept.shape[0] == most
    assert most / (300 + most) <= share < (most + 1) / (301 + most)
    assert np.unique(rows).shape[0] == rows.shape[0] == 300 + most
    # Neither the first of the data, nor all of them in one half.
    assert kept.max() > 300 + most
    assert 0.2 < split.y_test.sum() / most < 0.8


def test_novelty_keeps_all_anomalies_for_roc() -> None:
    X, y = numbered(300, 300)
    assert cut(X, y, "novelty").y_test.sum() > 100


def test_caps_take_the_first_rows_of_the_halves() -> None:
    X, y = numbered(400, 100)
    caps = dataclasses.replace(PLAIN, max_train=40, max_test=70)
    for setting in SETTINGS:
        whole, few = cut(X, y, setting), cut(X, y, setting, caps)
        np.testing.assert_array_equal(few.X_train, whole.X_train[:40])
        np.testing.assert_array_equal(few.X_test, whole.X_test[:70])
        assert few.evaluated.shape[0] == (
            70 if setting == "unsupervised" else np.count_nonzero(few.y_test == 0)
        )
    free = dataclasses.replace(PLAIN, max_train=None, max_test=None)
    assert cut(*numbered(2000, 10), "unsupervised", free).X_train.shape[0] == 1005


def test_units_are_those_of_the_training_rows() -> None:
    X, y = data(300, 30, 3)
    X = X * [1.0, 50.0, 1e-3] + 7
    for setting in SETTINGS:
        plain, split = cut(X, y, setting), cut(X, y, setting, FEW)
        np.testing.assert_allclose(split.X_train.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(split.X_train.std(axis=0), 1)
        train = plain.X_train
        np.testing.assert_allclose(
            split.X_test, (plain.X_test - train.mean(axis=0)) / train.std(axis=0), atol=1e-9
        )


def test_a_feature_constant_in_training_keeps_its_unit() -> None:
    X, y = numbered(100, 20)
    X = np.column_stack([X[:, 0], np.where(y, X[:, 0], 3.0)])
    split = cut(X, y, "novelty", FEW)
    assert np.all(split.X_train[:, 1] == 0)
    assert set(split.X_test[split.y_test == 1, 1]) <= set(range(97, 117))


@pytest.mark.parametrize(
    ("X", "y", "setting", "message"),
    [
        (np.zeros((20, 2)), np.zeros(20), "novelty", "at least 10 distinct values; found none"),
        (np.arange(20.0)[:, None], np.ones(20), "novelty", "rows to train on; found none"),
        (np.arange(20.0)[:, None], np.zeros(19), "novelty", "each of the 20 rows; found 19"),
        (np.arange(20.0)[:, None], np.zeros(20), "other", "setting must be one of"),
        (np.full((20, 1), np.nan), np.zeros(20), "novelty", "finite"),
    ],
)
def test_data_that_cannot_be_cut(X: Matrix, y: Any, setting: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cut(X, y, setting)


@pytest.mark.parametrize(
    "wrong",
    [{"min_distinct": 0}, {"max_anomaly_fraction": 1.0}, {"max_train": 0}, {"n_subspaces": 0}],
)
def test_numbers_of_the_protocol_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        GoixProtocol(**wrong)
    with pytest.raises(TypeError, match="standardize"):
        GoixProtocol(standardize=1)  # type: ignore[arg-type]


# --- what is measured


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("max_direct", [8, 2])
def test_the_box_is_that_of_the_judged_rows(setting: Setting, max_direct: int) -> None:
    X, y = data(800, 40, 3)
    # A few values only, which a box takes to be discrete by default.
    X[:, 0] = np.arange(840) % 12
    protocol = dataclasses.replace(FEW, max_direct=max_direct, n_features=3)
    (row,) = goix_cell(
        X, y, dataset="a", setting=setting, detectors={"flat": flat}, protocol=protocol, rng=3
    )
    seeds = np.random.SeedSequence([3, script_key("a"), SETTINGS.index(setting)]).spawn(3)
    split = split_goix(X, y, setting, protocol=protocol, rng=np.random.default_rng(seeds[0]))
    volume = float(np.prod(np.ptp(split.evaluated, axis=0)))
    # One level set, the whole box: MV is 0.099 of it, EM(t) = 1 - t * volume down to 0.9.
    assert row.mv.value == pytest.approx(0.099 * volume)
    assert row.em.value == pytest.approx(0.095 / volume)
    assert row.n_subspaces == (0 if max_direct == 8 else 6)
    assert (row.n_evaluated, row.n_test) == (split.evaluated.shape[0], split.X_test.shape[0])
    assert row.n_anomalies == split.y_test.sum()
    assert row.n_train == split.X_train.shape[0]
    assert row.roc == 0.5


def script_key(name: str) -> int:
    from zlib import crc32

    return crc32(name.encode())


@pytest.mark.parametrize("d", [3, 9])
def test_no_label_of_the_unsupervised_setting_is_used(d: int) -> None:
    X, y = data(380, 40, d)
    other = np.random.default_rng(1).permutation(y)

    def cell(labels: Any) -> tuple[GoixRow, ...]:
        return goix_cell(
            *(X, labels),
            dataset="a",
            setting="unsupervised",
            detectors=FAST,
            protocol=FEW,
            rng=0,
        )

    for one, two in zip(cell(y), cell(other), strict=True):
        assert same_criteria(one, two)
        assert one.em_better_than == two.em_better_than
        assert one.roc != two.roc
        assert not math.isnan(one.em.value)


@pytest.mark.parametrize("d", [3, 9])
def test_anomalies_do_not_touch_the_criteria_of_the_novelty_setting(d: int) -> None:
    X, y = data(300, 60, d)
    moved = np.where(y[:, None] == 1, X + 3, X)

    def cell(samples: Matrix) -> tuple[GoixRow, ...]:
        return goix_cell(
            *(samples, y),
            dataset="a",
            setting="novelty",
            detectors=FAST,
            protocol=FEW,
            rng=0,
        )

    before, after = cell(X), cell(moved)
    assert all(map(same_criteria, before, after))
    assert [one.roc for one in before] != [one.roc for one in after]


def test_a_benchmark_is_made_of_cells_and_a_seed() -> None:
    datasets = {"low": data(200, 20, 3), "high": data(200, 20, 9)}
    told: list[tuple[int, int]] = []
    result = goix_benchmark(
        datasets,
        detectors=FAST,
        protocol=FEW,
        rng=5,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(row.dataset, row.setting, row.detector) for row in result.rows] == [
        (name, setting, detector) for name in datasets for setting in SETTINGS for detector in FAST
    ]
    draws: list[tuple[int, int | None]] = []
    alone = goix_cell(
        *datasets["high"],
        dataset="high",
        setting="novelty",
        detectors=FAST,
        protocol=FEW,
        rng=5,
        progress=lambda done, total: draws.append((done, total)),
    )
    assert draws == [(done + 1, 6) for done in range(6)]
    assert [str(row.to_dict()) for row in alone] == [str(row.to_dict()) for row in result.rows[4:6]]
    other = goix_benchmark(
        {"high": datasets["high"]}, settings=["novelty"], detectors=FAST, protocol=FEW, rng=6
    )
    assert not same_criteria(other.rows[0], alone[0])


@pytest.mark.parametrize("d", [2, 9])
def test_the_better_detector_is_named(d: int) -> None:
    def norm(_: Matrix) -> Callable[[Matrix], Matrix]:
        return lambda rows: np.sqrt((rows**2).sum(axis=1))

    detectors = {"flat": flat, "norm": norm}
    X, y = data(800, 40, d)
    for setting in SETTINGS:
        worse, better = goix_cell(
            X, y, dataset="a", setting=setting, detectors=detectors, protocol=FEW, rng=0
        )
        assert worse.em_better_than == worse.mv_better_than == ()
        assert better.em_better_than == better.mv_better_than == ("flat",)


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(0)
    one, two = (
        goix_benchmark({"a": data(100, 9, 2)}, detectors=FAST, protocol=FEW, rng=rng)
        for _ in range(2)
    )
    assert not same_criteria(one.rows[0], two.rows[0])


def test_undefined_criteria_are_recorded() -> None:
    X, y = data(200, 20, 2)
    known = set(X[:, 0])

    def seen(_: Matrix) -> Callable[[Matrix], Matrix]:
        # Draws from a box hit none of the values of the data.
        return lambda rows: np.array([0.0 if x in known else 1.0 for x in rows[:, 0]])

    result = goix_benchmark(
        {"a": (X, y)}, detectors={"seen": seen, "flat": flat}, protocol=PLAIN, rng=0
    )
    for row in result.rows[::2]:
        assert math.isnan(row.em.value)
        assert "uniform" in row.em.reason
        assert row.mv.value == 0
        assert not row.em_better_than
    assert result.agreement("em").roc is None
    # Both areas are 0.5 for both detectors, which MV orders: half of the pairs agree.
    mv = result.agreement("mv").roc
    assert mv is not None
    assert (mv.n_agreeing, mv.n_pairs) == (1.0, 2)
    assert result.agreement("mv").both is None
    assert "undefined" in str(result)


@pytest.mark.parametrize("max_direct", [8, 1])
def test_a_box_without_volume_is_recorded(max_direct: int) -> None:
    X, y = numbered(100, 30)
    X = np.column_stack([X[:, 0], np.where(y, X[:, 0], 3.0)])
    protocol = dataclasses.replace(FEW, max_direct=max_direct, n_features=2)
    rows = goix_cell(X, y, dataset="a", setting="novelty", detectors=FAST, protocol=protocol, rng=0)
    for row in rows:
        assert math.isnan(row.em.value)
        assert math.isnan(row.mv.log_value)
        assert row.em.reason == row.mv.reason
        assert "1 features vary, 2 must" in row.em.reason
        assert row.roc > 0.5


def test_one_class_is_recorded() -> None:
    X, _ = data(200, 0, 2)
    rows = goix_cell(
        X,
        np.zeros(200, int),
        dataset="a",
        setting="unsupervised",
        detectors=FAST,
        protocol=FEW,
        rng=0,
    )
    for row in rows:
        assert math.isnan(row.roc)
        assert math.isnan(row.pr)
        assert row.reason
        assert row.em.value > 0
    assert GoixBenchmark(rows).agreement("em").roc is None
    assert GoixBenchmark(rows).agreement("em").labels is None


@pytest.mark.evidence
def test_the_paper_s_detectors_on_bundled_data() -> None:
    X, malignant = load_breast_cancer(return_X_y=True)
    wine, kind = load_wine(return_X_y=True)
    datasets = {"cancer": (X, malignant == 0), "wine": (wine, kind == 0)}
    result = goix_benchmark(datasets, protocol=FEW, rng=0)
    assert [row.detector for row in result.rows] == ["iForest", "OCSVM", "LOF"] * 4
    for row in result.rows:
        assert row.n_features == datasets[row.dataset][0].shape[1]
        assert row.roc > 0.5
        assert row.em.value > 0
        assert row.mv.value > 0
        assert row.em.n_test == row.n_evaluated
    overall = result.agreement("mv")
    assert overall.roc is not None
    assert overall.roc.n_pairs == 12


@pytest.mark.parametrize(
    ("datasets", "options", "error", "message"),
    [
        ({}, {}, TypeError, "datasets must name at least one data set; found dict without any"),
        ([], {}, TypeError, "found list"),
        ({"a": data(50, 5, 2)}, {"settings": ["all"]}, InvalidInputError, "settings must be one"),
        ({"a": data(50, 5, 2)}, {"detectors": {}}, TypeError, "detectors must name at least one"),
        (
            {"a": data(50, 5, 2)},
            {"detectors": {"a; b": flat}},
            InvalidInputError,
            "names without '; '",
        ),
        ({"a": data(50, 5, 2)}, {"detectors": {"a": 3}}, TypeError, "method fit"),
        ({"a": data(50, 5, 2)}, {"rng": -1}, InvalidInputError, "rng"),
    ],
)
def test_wrong_arguments(
    datasets: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        goix_benchmark(datasets, **options)


# --- agreement


def criterion(value: float) -> Criterion:
    log_value = math.log(value)
    return Criterion(
        value=value,
        low=value,
        high=value,
        log_value=log_value,
        log_low=log_value,
        log_high=log_value,
        sampling_error=math.nan,
        monte_carlo_error=math.nan,
        confidence_level=0.95,
        n_test=1,
        n_uniform=None,
        n_resamples=1,
        n_undefined=0,
        reason="" if value == value else "nothing known",
    )


def row(
    dataset: str,
    setting: Any,
    detector: str,
    values: tuple[float, float, float, float],
    better: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
) -> GoixRow:
    roc, pr, em, mv = values
    return GoixRow(
        *(dataset, setting, detector, roc, pr, criterion(em), criterion(mv), *better),
        *(1, 1, 1, 1, 1, 0),
    )


def printed() -> GoixBenchmark:
    """The paper's tables."""
    return GoixBenchmark(
        row(name, setting, detector, tuple(cell[c][i] for c in ("roc", "pr", "em", "mv")))
        for setting in SETTINGS
        for name, cell in GOLDEN[setting].items()
        for i, detector in enumerate(GOLDEN["detectors"])
    )


# As MEASURES counts the printed tables: EM has a tie of rounded values.
@pytest.mark.parametrize(
    ("setting", "name", "with_roc", "with_pr", "both", "n_both"),
    [
        ("novelty", "em", 26.5, 29.5, 26.5, 33),
        ("novelty", "mv", 26, 27, 25, 33),
        ("unsupervised", "em", 23.5, 25, 21, 30),
        ("unsupervised", "mv", 25.5, 25, 22, 30),
    ],
)
def test_agreement_of_the_printed_tables(
    setting: Setting, name: Any, with_roc: float, with_pr: float, both: float, n_both: int
) -> None:
    result = printed().agreement(name, setting=setting)
    assert result.roc is not None
    assert result.pr is not None
    assert result.both is not None
    assert (result.roc.n_agreeing, result.roc.n_pairs) == (with_roc, 36)
    assert (result.pr.n_agreeing, result.pr.n_pairs) == (with_pr, 36)
    assert (result.both.n_agreeing, result.both.n_pairs) == (both, n_both)


def test_labels_of_the_printed_table() -> None:
    result = [printed().agreement(c, setting="novelty").labels for c in ("em", "mv")]
    assert [(one.n_recovered, one.n_labels) for one in result if one] == [(26, 31), (21, 31)]


def test_both_settings_add_up() -> None:
    both, *parts = (printed().agreement("mv", setting=one).roc for one in (None, *SETTINGS))
    assert both is not None
    assert both.n_pairs == 72
    assert both.n_agreeing == sum(part.n_agreeing for part in parts if part)


def test_values_beyond_all_floats_are_ordered() -> None:
    rows = [row("a", "novelty", name, (0.5, 0.5, 1.0, 1.0)) for name in "xy"]
    rows[1] = dataclasses.replace(rows[1], roc=0.6, pr=0.6)
    vast = [dataclasses.replace(criterion(1.0), value=math.inf, log_value=x) for x in (900, 800)]
    result = GoixBenchmark(dataclasses.replace(r, mv=v) for r, v in zip(rows, vast, strict=True))
    agreement = result.agreement("mv").roc
    assert agreement is not None
    assert agreement.n_agreeing == 1
    plain = [json.loads(json.dumps(r.to_dict(), allow_nan=False)) for r in result.rows]
    assert [GoixRow.from_dict(one).mv.value for one in plain] == [math.inf, math.inf]


def test_pairs_that_are_told_apart() -> None:
    result = GoixBenchmark(
        [
            # EM tells x from y and z, and is right on x, z; MV tells nothing apart.
            row("a", "novelty", "x", (0.8, 0.8, 3.0, 1.0), (("y", "z"), ())),
            row("a", "novelty", "y", (0.9, 0.9, 2.0, 2.0)),
            row("a", "novelty", "z", (0.7, 0.7, 1.0, 3.0)),
            # Another data set, where the second beats the first.
            row("b", "novelty", "x", (0.6, 0.5, 1.0, 1.0)),
            row("b", "novelty", "y", (0.7, 0.4, 2.0, 2.0), (("x",), ())),
            row("b", "novelty", "z", (0.8, 0.3, math.nan, 3.0)),
        ]
    )
    apart = result.agreement("em", pairs="significant")
    assert apart.roc is not None
    assert apart.pr is not None
    assert apart.both is not None
    assert (apart.roc.n_agreeing, apart.roc.n_pairs) == (2, 3)  # x > z, and y > x on b
    assert (apart.pr.n_agreeing, apart.pr.n_pairs) == (1, 3)
    assert (apart.both.n_agreeing, apart.both.n_pairs, apart.both.n_undecided) == (1, 2, 1)
    assert apart.labels is None
    unclear = result.agreement("em", pairs="not_significant").roc
    assert unclear is not None
    assert (unclear.n_agreeing, unclear.n_pairs, unclear.n_left_out) == (1, 1, 2)  # y > z on a
    none = result.agreement("mv", pairs="significant")
    assert none == dataclasses.replace(none, roc=None, pr=None, both=None)
    assert result.agreement("em", setting="unsupervised").labels is None
    with pytest.raises(InvalidInputError, match="pairs must be one of"):
        result.agreement(pairs="some")  # type: ignore[arg-type]


# --- files


def test_rows_go_through_json_and_tables(tmp_path: Path) -> None:
    datasets = {"low": data(120, 20, 3), "high": data(120, 20, 9)}
    result = goix_benchmark(datasets, detectors=FAST, protocol=FEW, rng=0)
    texts = [str(one.to_dict()) for one in result.rows]
    plain = [json.loads(json.dumps(one.to_dict(), allow_nan=False)) for one in result.rows]
    assert [str(GoixRow.from_dict(one).to_dict()) for one in plain] == texts
    script.write(result, tmp_path / "table.csv")
    again = script.read(tmp_path / "table.csv")
    assert [str(one.to_dict()) for one in again.rows] == texts
    assert again.agreement("em") == result.agreement("em")


def test_the_table_is_a_frame() -> None:
    frame = printed().to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape[0] == 72
    assert frame["em"].tolist()[:3] == pytest.approx(GOLDEN["novelty"]["adult"]["em"])
    assert "iForest" in str(printed())
    assert repr(printed()) == "<GoixBenchmark of 72 rows>"
    assert GoixBenchmark([]).to_columns() == {}


def write_files(folder: Path, names: list[str]) -> None:
    for i, name in enumerate(names):
        path = folder / FILES[name]
        path.parent.mkdir(exist_ok=True)
        X, y = data(80, 10, 2, seed=i)
        np.savez(path, X=X.astype(np.float32), y=y.astype(np.uint8))


def test_missing_files_are_named(tmp_path: Path) -> None:
    write_files(tmp_path, [name for name in FILES if name not in ("pima", "arrhythmia")])
    with pytest.raises(InvalidInputError, match=r"lacks adbench/Pima.npz, goix/arrhythmia.npz$"):
        load_goix(tmp_path)
    with pytest.raises(InvalidInputError, match="names must be one of"):
        load_goix(tmp_path, ["smtp"])
    assert list(load_goix(tmp_path, ["http", "adult"])) == ["http", "adult"]


def test_the_script_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path, ["adult", "pima"])
    table, names = tmp_path / "goix.csv", ["pima", "adult"]
    script.run(tmp_path, table, names, FEW, FAST)
    whole = table.read_text()
    rows = script.read(table).rows
    assert [(one.dataset, one.setting) for one in rows[::2]] == [
        (name, setting) for setting in SETTINGS for name in ("adult", "pima")
    ]
    notes = table.with_suffix(".partial")
    assert not notes.exists()
    notes.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in rows[:4]))
    capsys.readouterr()
    script.run(tmp_path, table, names, FEW, FAST)
    assert table.read_text() == whole
    assert capsys.readouterr().out.count(" s\n") == 2  # cells that were measured again
    assert len(script.lines(script.read(table)).splitlines()) == 2 + 3 * 2 * 3


def test_the_table_of_the_docs_is_whole() -> None:
    rows = script.read().rows
    assert [(one.dataset, one.setting, one.detector) for one in rows] == [
        (name, setting, detector)
        for setting in SETTINGS
        for name in FILES
        for detector in GOLDEN["detectors"]
    ]
    for one in rows:
        assert not math.isnan(one.roc)
        assert not math.isnan(one.mv.log_value)
        assert bool(one.em.reason) == math.isnan(one.em.log_value)
        assert one.n_train <= 10_000
        assert one.n_test <= 20_000
        assert one.n_subspaces == (50 if one.n_features > 8 else 0)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared data")
def test_real_data() -> None:
    protocol = dataclasses.replace(FEW, n_subspaces=2)
    result = goix_benchmark(load_goix(SHARED, ["pima", "ionosphere"]), protocol=protocol, rng=0)
    pima, ionosphere = result.rows[:3], result.rows[6:9]
    assert {(one.n_features, one.n_subspaces) for one in pima} == {(8, 0)}
    assert {(one.n_features, one.n_subspaces) for one in ionosphere} == {(32, 2)}
    assert {one.n_test for one in pima} == {384}
    assert all(one.n_evaluated == one.n_test - one.n_anomalies for one in (*pima, *ionosphere))
    assert all(one.roc > 0.85 for one in ionosphere)
    unsupervised = result.rows[3:6]
    # 500 normals beside which 55 anomalies stay.
    assert {one.n_train + one.n_test for one in unsupervised} == {555}
    assert {one.n_evaluated for one in unsupervised} == {278}
