"""goix's benchmark: what its table says of agreement, and its files."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench import goix as script
from fastad.errors import InvalidInputError
from fastad.study.papers.goix import goix_benchmark
from fastad.study.papers.goix_data import FILES, SETTINGS, Setting, load_goix
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.unsupervised.criteria import Criterion
from tests.support.goix import FAST, FEW, data
from tests.support.shared_data import DATA, needs_shared_data

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "goix_tables.json").read_text("utf-8"))


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


# As tests of `pairwise_agreement` count the printed tables: EM has a tie of rounded values.
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


def test_pairs_that_are_distinguished() -> None:
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


# Files.


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


@pytest.mark.slow
@needs_shared_data
def test_real_data() -> None:
    protocol = dataclasses.replace(FEW, n_subspaces=2)
    result = goix_benchmark(load_goix(DATA, ["pima", "ionosphere"]), protocol=protocol, rng=0)
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
