"""Exact values by further passes: from the sketch, around the anomalies, and sorted on disk."""

import errno
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import streaming
from fastad._kernels.ordering.cell_curves import write_points
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.streaming.large_files import exact
from fastad.streaming.large_files.anomaly_ranks import AnomalyRanks
from fastad.streaming.large_files.spill import SpilledScores
from fastad.streaming.sketches.checks import check_points
from tests.support.score_files import CAN_BE_EXACT, check_bounds, defined, save
from tests.support.strategies import Sample, samples

# Memory for a sketch of some hundred cells, and ranges of 500 points.
SMALL = 16_000
# The least: nine cells, and ranges of 64 points.
LEAST = exact.FEWEST_BYTES
# Memory beside the points that `AnomalyRanks` needs.
ROOM_FOR_ANOMALIES = "200MB"

RNG = np.random.default_rng(0)
N = 2500
Y = (RNG.random(N) < 0.2).astype(np.int64)
NORMAL = RNG.normal(size=N) + Y
ULPS = 1 + np.spacing(1.0) * RNG.integers(0, 3000, N)
SCORES: dict[str, npt.NDArray[Any]] = {
    "normal": NORMAL,
    "float32": NORMAL.astype(np.float32),
    "rounded": np.round(NORMAL, 2),
    "integers": RNG.integers(-(2**62), 2**62, N),
    "log-normal": np.exp(NORMAL * 30) * np.sign(NORMAL),
    "infinities": np.where(RNG.random(N) < 0.1, np.where(Y == 1, np.inf, -np.inf), NORMAL),
    # A tie that fills the memory many times over, and scores on both sides of it.
    "heavy tie": np.where(RNG.random(N) < 0.7, 0.25, NORMAL),
    "one score": np.full(N, 3.5),
    # Nearly all in one cell of the sketch, beside scores of all sizes.
    "wide cell": np.where(RNG.random(N) < 0.9, ULPS, np.exp(RNG.normal(size=N) * 100)),
    "one cell": ULPS,
    "a tie in a wide cell": np.where(
        RNG.random(N) < 0.6, 1 + 1e-12, np.where(RNG.random(N) < 0.9, ULPS, NORMAL * 1e300)
    ),
}


def evaluate(path: Path, **options: Any) -> streaming.BoundedEvaluation:
    result = streaming.evaluate(path, score_columns="score", exact=True, **options)
    return result["score"]


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def count_calls(monkeypatch: pytest.MonkeyPatch, made: type) -> list[Any]:
    """Return a list to which each object of a class is added when it is made."""
    objects: list[Any] = []
    init = made.__init__  # type: ignore[misc]

    def counted_init(self: Any, *args: Any, **options: Any) -> None:
        objects.append(self)
        init(self, *args, **options)

    monkeypatch.setattr(made, "__init__", counted_init)
    return objects


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder to write scores in."""
    made = tmp_path / "spilled"
    made.mkdir()
    return made


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("route", ["sketch", "anomalies", "disk"])
def test_every_route_gives_the_bits_that_are_computed_in_memory(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, route: str, name: str
) -> None:
    s = SCORES[name]
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": s})
    spilled = count_calls(monkeypatch, SpilledScores)
    ranked = count_calls(monkeypatch, AnomalyRanks)
    if route == "anomalies":
        monkeypatch.setattr(exact, "_SKETCH", SMALL // 4)
    memory = SMALL if route == "disk" else ROOM_FOR_ANOMALIES
    table = evaluate(path, measures=CAN_BE_EXACT, memory=memory, folder=folder)
    expected = defined([*CAN_BE_EXACT, "threshold@0.01"], Y, s)
    if name == "one cell" and route != "sketch":
        # By chance it depends on thousands of scores: more than these passes have room for.
        expected -= {"recall@precision0.5"}
    assert check_bounds(table, Y, s) >= expected
    assert left_in(folder) == []
    # Which way it went.
    in_cells = route == "sketch" or name == "one score"
    assert bool(spilled) == (route == "disk" and not in_cells)
    assert bool(ranked) == (route == "anomalies" and not in_cells)


# Measures that depend on the normals between two anomalies, too.
OF_ALL_POINTS = [
    measure
    for measure in MEASURES.values()
    if not isinstance(measure.extremes, str)
    and not measure.extremes.local
    and not measure.extremes.corners
]


def by_passes(
    bound: BoundMeasure, s: npt.NDArray[Any], memory: int, folder: Path
) -> streaming.BoundedEvaluation:
    """Return a measure after as many passes over the scores as it takes."""
    passes = exact.ScorePasses([bound], memory, exact=True)
    points = check_points(Y, s, None, None)
    assert points is not None
    while not passes.is_done:
        counted = passes.next_pass(folder if passes.can_spill else None)
        counted.count_points(points)
        passes.end(counted)
    return passes.result()


@pytest.mark.parametrize("measure", OF_ALL_POINTS, ids=lambda measure: str(measure.name))
@pytest.mark.parametrize("name", SCORES)
def test_measures_of_all_points_are_exact_where_these_fit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, measure: Measure[Any], name: str
) -> None:
    monkeypatch.setattr(exact, "_SKETCH", SMALL // 4)
    s = SCORES[name]
    parameters: dict[str, Any] = {}
    if measure.operating_point is not None and measure.default_points is None:
        parameters[str(measure.operating_point)] = 0.1
    if measure.takes_score_range:
        finite = s[np.isfinite(s)]
        parameters["score_range"] = (finite.min().item(), finite.max().item() + 1)
    bound = bind(measure.name, parameters)
    if measure.takes_score_range and not np.isfinite(s).all():
        with pytest.raises(fastad.InvalidInputError, match="must be finite"):
            by_passes(bound, s, 10_000_000, folder)
        return
    expected = measure.of(Y, s, None, None, **bound.parameters)
    value = by_passes(bound, s, 10_000_000, folder)[bound.key]
    assert (value.low, value.value, value.high) == (expected,) * 3
    assert left_in(folder) == []


@pytest.mark.parametrize("decimals", [2, 9])
def test_areas_are_exact_beside_a_measure_of_all_points(
    tmp_path: Path, folder: Path, decimals: int
) -> None:
    """All points were kept then, which did not fit, though the corners did."""
    rng = np.random.default_rng(decimals)
    y = rng.random(200_000) < 0.01
    s = np.round(rng.normal(size=200_000) + 2 * y, decimals)
    path = save(tmp_path / "scores.parquet", {"y": y.astype(np.int64), "score": s})
    measures = ["auc@0.01", "auc_pr", "auc_w", "auc"]
    table = evaluate(path, measures=measures, memory=2_000_000, folder=folder)
    expected = fastad.evaluate(y, s, measures=measures)["score"]
    found = {key: (table[key].low, table[key].high) for key in measures}
    assert found == {key: (expected[key], expected[key]) for key in measures}


@pytest.mark.slow
@pytest.mark.parametrize(
    "bound",
    [
        bind("precision_at_fpr", {"fpr": 0.0001}),
        bind("auc_at_fpr", {"fpr": 0.0001, "normalize": "mcclish"}),
    ],
    ids=lambda bound: bound.key,
)
def test_what_only_the_exact_scores_leave_undefined_has_its_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bound: BoundMeasure
) -> None:
    """The two highest scores share a cell of the sketch, and the highest is a normal's."""
    monkeypatch.setattr(exact, "_SKETCH", SMALL // 4)
    s = NORMAL.copy()
    s[np.argmin(Y)], s[np.argmax(Y)] = 100.0, np.nextafter(100.0, 0)
    result = by_passes(bound, s, 10_000_000, folder)
    assert bound.key not in result
    with pytest.raises(fastad.UndefinedMeasureError) as error:
        bound.measure.of(Y, s, None, None, **bound.parameters)
    assert result.undefined == {bound.key: str(error.value)}


@pytest.mark.parametrize("quadrature", ["right", "exact"])
@pytest.mark.parametrize("name", SCORES)
def test_sums_go_on_from_piece_to_piece(folder: Path, quadrature: str, name: str) -> None:
    bound = bind("weighted_auc", {"quadrature": quadrature})
    value = by_passes(bound, SCORES[name], SMALL, folder)[bound.key]
    expected = bound.measure.of(Y, SCORES[name], None, None, **bound.parameters)
    assert value == streaming.BoundedValue(expected, expected, expected)


@pytest.mark.parametrize("name", SCORES)
def test_corners_are_the_points_beside_an_anomaly(name: str) -> None:
    bits = np.unique(SCORES[name], return_inverse=True)[1]
    anomalies, normals = (np.sort(bits[kind == Y]) for kind in (1, 0))
    curves = []
    for corners in (False, True):
        keys, fps, tps = (np.empty(N + 1, np.int64) for _ in range(3))
        n = write_points(anomalies, normals, 3, 2, corners, keys, fps, tps)
        curves.append((fps[: n + 1], tps[: n + 1], keys[:n]))
    (fps, tps, keys), found = curves
    steps = np.diff(tps) > 0
    # A step with an anomaly, and what is above one or last.
    kept = np.concatenate([[True], steps | np.append(steps[1:], True)])
    for expected, each in zip((fps[kept], tps[kept], keys[kept[1:]]), found, strict=True):
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize("name", ["wide cell", "one cell", "a tie in a wide cell"])
def test_a_cell_that_does_not_fit_is_split_until_it_does(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    split = []
    original = SpilledScores._of_wide_cell

    def of_wide_cell(self: SpilledScores, *args: int) -> Any:
        split.append(args)
        return original(self, *args)

    monkeypatch.setattr(SpilledScores, "_of_wide_cell", of_wide_cell)
    s = SCORES[name]
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": s})
    for measures in (["auc", "ap"], ["auc", "auc_w"]):
        split.clear()
        table = evaluate(path, measures=measures, memory=LEAST, folder=folder)
        assert check_bounds(table, Y, s) >= set(measures)
        assert split
    assert left_in(folder) == []


@pytest.mark.parametrize("name", ["normal", "wide cell", "heavy tie"])
def test_areas_are_exact_in_the_least_memory_and_others_keep_their_bounds(
    tmp_path: Path, folder: Path, name: str
) -> None:
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": SCORES[name]})
    table = evaluate(
        path, memory=LEAST, folder=folder, measures=["auc", "ap", "auc_pr", "auc@0.05"]
    )
    assert check_bounds(table, Y, SCORES[name]) >= {"auc", "ap"}
    # The corners of its curve do not fit.
    assert not table["auc_pr"].is_exact


@given(
    sample=samples(max_size=40, both=True),
    repeats=st.integers(1, 8),
    memory=st.one_of(st.integers(LEAST, 3 * LEAST), st.sampled_from([SMALL, "1MB"])),
    size=st.integers(3, 100),
)
def test_any_scores_of_any_memory(
    sample: Sample, repeats: int, memory: int | str, size: int
) -> None:
    y, s = (
        np.tile(each, repeats).astype(each.dtype.newbyteorder("=")) for each in (sample.y, sample.s)
    )
    with tempfile.TemporaryDirectory() as name:
        path = save(Path(name, "scores.parquet"), {"y": y, "score": s}, size)
        folder = Path(name, "spilled")
        folder.mkdir()
        table = evaluate(
            path, memory=memory, folder=folder, measures=["auc", "ap", "tpr@0.2", "eer"]
        )
        assert check_bounds(table, y, s) >= {"auc", "ap", "tpr@0.2", "eer"}
        assert left_in(folder) == []


@pytest.mark.parametrize("memory", [LEAST, 3000, 4000])
def test_groups_of_wide_scores_in_little_memory(tmp_path: Path, memory: int) -> None:
    """Half of the integers are negative, so that all bits but the highest are dropped.

    Another group is exact after the first pass.
    """
    group = np.arange(N) % 3
    scores = np.where(group == 2, 7, SCORES["integers"])
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": scores, "group": group})
    measures = ["auc", "ap", "tpr@0.2"]
    tables = streaming.evaluate(
        path,
        score_columns="score",
        group_columns="group",
        memory=3 * memory,
        measures=measures,
        exact=True,
    )
    assert len(tables) == 3
    for (which, _), table in tables.items():
        assert check_bounds(table, Y[group == which], scores[group == which]) >= {"auc", "ap"}


@given(data=st.data(), n=st.integers(2, 300), memory=st.integers(LEAST, SMALL))
def test_any_distinct_neighbours(data: st.DataObject, n: int, memory: int) -> None:
    """Scores some ulps apart around numbers of all sizes: more than fit any of these memories."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    centres = np.array(data.draw(st.lists(st.floats(allow_nan=False), min_size=1, max_size=4)))
    bits = rng.choice(centres, n).view(np.int64) + rng.integers(0, n, n)
    s = bits.view(np.float64)
    s = np.where(np.isnan(s), 0, s)
    y = np.append(rng.integers(0, 2, n), [0, 1])
    s = np.append(s, [s[0], s[-1]])
    with tempfile.TemporaryDirectory() as name:
        path = save(Path(name, "scores.parquet"), {"y": y, "score": s}, 50)
        table = evaluate(path, memory=memory, measures=["auc", "ap", "tpr@0.2"])
        assert check_bounds(table, y, s) >= {"auc", "ap"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_nothing_and_names_the_folder(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": NORMAL})
    write, n_calls = SpilledScores._write, []

    def full(self: SpilledScores) -> None:
        n_calls.append(1)
        if len(n_calls) == 3:
            assert [each for each in folder.rglob("*") if each.is_file()]
            raise OSError(code, "no space")
        write(self)

    monkeypatch.setattr(SpilledScores, "_write", full)
    with pytest.raises(OSError, match=r"disk of .* is full") as error:
        evaluate(path, measures="auc", memory=LEAST, folder=folder)
    assert error.value.errno == code
    assert str(folder) in str(error.value)
    assert len(n_calls) == 3
    assert left_in(folder) == []


@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken"), KeyboardInterrupt()])
def test_whatever_ends_it_leaves_nothing(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": NORMAL})
    monkeypatch.setattr(SpilledScores, "_read", lambda *_: (_ for _ in ()).throw(error))
    with pytest.raises(type(error)) as raised:
        evaluate(path, measures="auc", memory=LEAST, folder=folder)
    assert raised.value is error
    assert left_in(folder) == []


def test_the_systems_folder_is_used_by_default(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "scores.parquet", {"y": Y, "score": NORMAL})
    made: list[Path] = []
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    write = SpilledScores._write

    def watched_write(self: SpilledScores) -> None:
        write(self)
        made.extend(left_in(folder))

    monkeypatch.setattr(SpilledScores, "_write", watched_write)
    evaluate(path, measures="auc", memory=LEAST)
    assert made
    assert left_in(folder) == []
