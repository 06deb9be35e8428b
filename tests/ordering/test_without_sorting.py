"""Counting without sorting: every path against a slow definition, and which one is taken."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError
from fastad._core.threads import thread_limit
from fastad.measures.measure import Extremes
from fastad.measures.registry import MEASURES
from fastad.ordering import counts as ordered_counts
from fastad.ordering import distinct, gaps
from fastad.ordering.counts import count_sorted, count_without_sorting
from fastad.ordering.labels import Labels, check_labels, check_scores
from fastad.ordering.raw import view_raw
from tests.support import oracles
from tests.support.operating import options_of
from tests.support.strategies import FLOATS, Sample, float_pools, samples

N = 200_000
RNG = np.random.default_rng(0)
FEW = np.arange(N) % 500 == 0


@contextmanager
def every_path() -> Iterator[None]:
    """Let small samples take every path."""
    always = dict.fromkeys((True, False), (10**6, 1.0))
    shortest = dict.fromkeys((True, False), 0)
    with (
        mock.patch.multiple(ordered_counts, _FEWEST_NARROW=0, _FEWEST_WIDE=0, _FEWEST_DISTINCT=1),
        mock.patch.multiple(gaps, _LIMITS=always, _FEWEST_SHORT=shortest, _MOST_COMPARED=1.0),
        mock.patch.object(distinct, "_SAMPLES_PER_VALUE", 0),
    ):
        yield


def of(sample: Sample) -> tuple[Any, Labels]:
    labels = check_labels(sample.y)
    return check_scores(sample.s, labels), labels


def corners_of(sample: Sample) -> list[tuple[int, int]]:
    """Points of the curve without those on a horizontal piece: where neighbours have one TP."""
    points = [(int(fp), int(tp)) for fp, tp, _ in oracles.points(oracles.rows(sample.y, sample.s))]
    inner = [
        here
        for before, here, after in zip(points, points[1:], points[2:], strict=False)
        if not before[1] == here[1] == after[1]
    ]
    return [points[0], *inner, points[-1]]


@st.composite
def float_samples(draw: st.DrawFn) -> Sample:
    """Few distinct scores, neighbours, infinities and subnormals among them, and one anomaly."""
    dtype: Any = draw(st.sampled_from([np.float32, np.float64]))
    pool = draw(float_pools(dtype))
    pool += [np.nextafter(x, dtype(np.inf)) for x in pool if x < np.finfo(dtype).max]
    size = draw(st.integers(1, 40))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    y[0] = 1
    return Sample(
        y, np.array(draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size)), dtype)
    )


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, -1], ids=["by value", "by rank bits"])
@given(sample=float_samples(), n_cells=st.integers(4, 40))
def test_corners_are_those_of_the_curve(which: int, sample: Sample, n_cells: int) -> None:
    maps = gaps._maps
    with (
        every_path(),
        mock.patch.object(gaps, "_maps", lambda *args: [list(maps(*args))[which]]),
        mock.patch.object(gaps, "_MOST_CELLS", n_cells),
    ):
        scores, labels = of(sample)
        raw = view_raw(scores)
        corners = gaps.count_corners(raw, labels, "y_score")
    assert corners is not None
    assert list(zip(corners.fps.tolist(), corners.tps.tolist(), strict=True)) == corners_of(sample)


def counts_by_listing(sample: Sample) -> Any:
    scores, labels = of(sample)
    raw = view_raw(scores)
    return distinct.count_listed(raw, labels, "y_score")


def counts_by_patterns(sample: Sample) -> Any:
    return distinct.count_narrow(*of(sample), "y_score")


def short(scores: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Scores of bfloat16, as float32."""
    with np.errstate(over="ignore"):
        bits = scores.astype(np.float32).view(np.uint32)
    return (bits & 0xFFFF0000).view(np.float32)


@given(samples(max_size=40), st.integers(1, 20), st.booleans())
def test_distinct_scores_are_counted(sample: Sample, n_listed: int, as_short: bool) -> None:
    if as_short:
        sample = Sample(sample.y, short(sample.s))
    narrow = sample.s.dtype.itemsize <= 2 or as_short
    with every_path(), mock.patch.multiple(distinct, _N_SAMPLED=n_listed, _MOST_OTHERS=1):
        counted = (counts_by_patterns if narrow else counts_by_listing)(sample)
    assert counted is not None
    points = oracles.points(oracles.rows(sample.y, sample.s))
    steps = [(int(b[1] - a[1]), int(b[0] - a[0])) for a, b in pairwise(points)]
    found = list(zip(counted.n_anomalies.tolist(), counted.n_normals.tolist(), strict=True))
    assert found == steps


@given(samples(max_size=40, both=True))
def test_counts_are_those_of_sorted_scores(sample: Sample) -> None:
    scores, labels = of(sample)
    with every_path():
        counts = count_without_sorting(scores, labels)
    expected = count_sorted(scores, labels)
    assert counts is not None
    np.testing.assert_array_equal(counts.fps, expected.fps)
    np.testing.assert_array_equal(counts.tps, expected.tps)
    np.testing.assert_array_equal(counts.thresholds(), expected.thresholds())
    assert counts.thresholds().dtype == expected.thresholds().dtype
    assert (counts.n_tied, counts.n_points) == (expected.n_tied, expected.n_points)
    assert (counts.n_anomalies, counts.n_normals) == (expected.n_anomalies, expected.n_normals)


@pytest.mark.parametrize("dtype", FLOATS)
def test_both_zeros_are_one_score(dtype: Any) -> None:
    sample = Sample(np.array([0, 1, 1, 0]), np.array([-0.0, 0.0, -0.0, 1.0], dtype))
    with every_path():
        counts = count_without_sorting(*of(sample))
    assert counts is not None
    assert counts.fps.tolist() == [0, 1, 2]
    assert counts.tps.tolist() == [0, 0, 2]


KINDS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "Gaussian": lambda s: s,
    "float32": lambda s: s.astype(np.float32),
    "heavy-tailed": lambda s: s / RNG.random(N) ** 3,
    "300 orders of magnitude": lambda s: np.exp(100 * s) * np.sign(s),
    "tied": lambda s: np.round(s, 2),
    "few values": lambda s: np.round(s),
    "few values and others": lambda s: np.where(RNG.random(N) < 0.97, np.round(s), s),
    "few integers": lambda s: np.round(s).astype(np.int64),
    "constant": np.zeros_like,
    "float16": lambda s: s.astype(np.float16),
    "bfloat16": short,
    "int8": lambda s: np.clip(30 * s, -128, 127).astype(np.int8),
    "uint8": lambda s: np.clip(30 * s + 128, 0, 255).astype(np.uint8),
    "int16": lambda s: (1000 * s).astype(np.int16),
    "infinite": lambda s: np.where(RNG.random(N) < 0.2, np.inf * np.sign(s), s),
}
SCORES = RNG.normal(size=N) + 1.5 * FEW
CORNERS = [
    row.bind(**options_of(row))
    for row in MEASURES.values()
    if isinstance(row.extremes, Extremes) and row.extremes.corners
]


@pytest.mark.parametrize("kind", KINDS)
def test_measures_have_the_bits_of_sorted_scores(kind: str) -> None:
    scores = KINDS[kind](SCORES)
    labels = check_labels(FEW)
    expected = count_sorted(check_scores(scores, labels), labels)
    for bound in CORNERS:
        options = options_of(bound.measure)
        for n_threads in (1, 2):
            with thread_limit(n_threads):
                assert bound.measure.of(FEW, scores, **options) == bound.value(expected)


PATHS = {
    "gaps by value": ("Gaussian", "float32"),
    "gaps by rank bits": ("heavy-tailed", "300 orders of magnitude"),
    "patterns": ("int8", "uint8"),
    "list": ("few values", "few values and others", "few integers", "constant"),
    "sorted": ("tied", "float16", "bfloat16", "int16"),
}


@pytest.mark.parametrize(("path", "kind"), [(path, kind) for path in PATHS for kind in PATHS[path]])
def test_scores_take_the_path_of_their_kind(path: str, kind: str) -> None:
    """Of 200 000 samples; those of 16 bits are counted from 262 144 on."""
    labels = check_labels(FEW)
    scores = check_scores(KINDS[kind](SCORES), labels)
    assert path_of(scores, labels) == path
    many = check_labels(np.arange(N) % 2)
    assert path_of(scores, many) == ("sorted" if path.startswith("gaps") else path)
    if path == "sorted" and kind != "tied":
        repeated = check_labels(np.tile(FEW, 2))
        assert path_of(np.tile(scores, 2), repeated) == "patterns"
        first = np.concatenate(
            [np.zeros(2**10, scores.dtype), scores, scores + scores.dtype.type(1e-3)]
        )
        some = check_labels(np.resize(FEW, first.shape))
        assert path_of(first, some) == ("patterns" if scores.itemsize == 2 else "sorted")
    assert count_without_sorting(scores[:8000], check_labels(FEW[:8000]), corners=True) is None


def path_of(scores: Any, labels: Labels) -> str:
    """Which path counts scores of which corners are enough."""
    names = {"count_narrow": "patterns", "count_listed": "list", "count_corners": "gaps"}
    taken = ["sorted"]

    def noting(name: str) -> Callable[..., Any]:
        function = getattr(ordered_counts, name)

        def call(*args: Any) -> Any:
            result = function(*args)
            if result is not None:
                taken.append(names[name])
            return result

        return call

    noted: dict[str, Any] = {name: noting(name) for name in names}
    with mock.patch.multiple(ordered_counts, **noted):
        count_without_sorting(scores, labels, corners=True)
    if taken[-1] != "gaps":
        return taken[-1]
    raw = view_raw(scores)
    table = gaps._choose_table(raw.take(np.flatnonzero(labels.values)), raw.sample(2**10))
    assert table is not None
    return "gaps by value" if table.map.by_value else "gaps by rank bits"


@pytest.mark.parametrize(
    "kind", ["Gaussian", "float32", "heavy-tailed", "few values", "float16", "bfloat16"]
)
@pytest.mark.parametrize("row", [0, 7, N - 1])
def test_nan_is_refused_by_every_path(kind: str, row: int) -> None:
    scores = KINDS[kind](SCORES).copy()
    scores[row] = np.nan
    scores, few = np.tile(scores, 2), np.tile(FEW, 2)
    with pytest.raises(InvalidInputError, match=rf"found 2, the first at index {row};"):
        fastad.roc_auc(few, scores)
