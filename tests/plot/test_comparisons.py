"""Heat maps of measures and discriminability by rate, compared with what they show."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import fastad
from fastad import ResultTable
from fastad.plot import DiscriminabilityDisplay, MatrixDisplay
from tests.support.drawn import draw, legend_of, new_axes

nan = math.nan
CRITERIA: list[Any] = ["tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"]


@pytest.fixture(autouse=True)
def _figures_stay_as_many() -> Iterator[None]:
    before = pyplot.get_fignums()
    yield
    assert pyplot.get_fignums() == before


def results(n: int, *, seed: int = 0, names: list[str] | None = None) -> ResultTable:
    labels = names or ["auc", *(f"tpr@{i / 100:g}" for i in range(1, n))]
    values = np.random.default_rng(seed).uniform(0.2, 1, (4, 6, n))
    return ResultTable.from_arrays(
        {name: values[..., i] for i, name in enumerate(labels)},
        higher_is_better=dict.fromkeys(labels, True),
    )


def cells(display: MatrixDisplay) -> list[list[str]]:
    width = display.matrix.value.shape[1]
    texts = [text.get_text() for text in display.texts_]
    return [texts[i : i + width] for i in range(0, len(texts), width)]


def brightness(colour: Any) -> float:
    """Relative luminance, from 0 to 1."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrasts(display: MatrixDisplay) -> list[float]:
    """Contrast of each text with its cell, from 1 to 21; the paper is white."""
    result = []
    for text, value in zip(display.texts_, display.matrix.value.ravel(), strict=True):
        cell = display.image_.to_rgba(np.array([value]))[0] if value == value else (1, 1, 1, 1)
        low, high = sorted([brightness(cell[:3]), brightness(text.get_color())])
        result.append((high + 0.05) / (low + 0.05))
    return result


# Heat maps.


@pytest.mark.parametrize(
    "make", [fastad.benchmarking.kendall_matrix, fastad.benchmarking.selection_loss]
)
@pytest.mark.parametrize("n", [1, 2, 7, pytest.param(30, marks=pytest.mark.evidence)])
def test_cells_are_the_matrix(make: Any, n: int) -> None:
    result = make(results(n), rng=0, n_resamples=3)
    display = MatrixDisplay(result).plot(new_axes())
    assert display.matrix is result
    assert np.array_equal(np.asarray(display.image_.get_array()), result.value)
    form = ".2f" if make is fastad.benchmarking.kendall_matrix else ".1%"
    for i, j in itertools.product(range(n), repeat=2):
        text = display.texts_[i * n + j]
        assert text.get_position() == (j, i)
        value = float(format(result.value[i, j], form).rstrip("%"))
        assert float(text.get_text().rstrip("%")) == value
        assert ("%" in text.get_text()) == (form == ".1%")
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == result.columns
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == result.rows
    draw(display)
    low, high = display.ax_.get_ylim()
    assert low > high  # the first row is on top
    assert min(contrasts(display)) > 2.5


def test_rows_and_columns_are_their_own() -> None:
    result = fastad.benchmarking.selection_loss(
        results(5),
        measures=["auc", "tpr@0.01"],
        evaluated_by=["tpr@0.02", "auc", "tpr@0.03"],
        rng=0,
    )
    display = MatrixDisplay(result).plot(new_axes())
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["tpr@0.02", "auc", "tpr@0.03"]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["auc", "tpr@0.01"]
    assert cells(display) == [[f"{x:.1%}" for x in row] for row in result.value]
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("selected by", "evaluated by")
    tau = MatrixDisplay(fastad.benchmarking.kendall_matrix(results(2), rng=0)).plot(new_axes())
    assert (tau.ax_.get_ylabel(), tau.ax_.get_xlabel()) == ("measure", "other")


def test_dark_is_good() -> None:
    loss = MatrixDisplay(fastad.benchmarking.selection_loss(results(4), rng=0)).plot(new_axes())
    tau = MatrixDisplay(fastad.benchmarking.kendall_matrix(results(4), rng=0)).plot(new_axes())
    for display, good in ((loss, loss.matrix.value.min()), (tau, 1.0)):
        shades = [brightness(c[:3]) for c in display.image_.to_rgba(display.matrix.value.ravel())]
        values = display.matrix.value.ravel()
        best = max(b for b, value in zip(shades, values, strict=True) if value == good)
        assert best < min(b for b, value in zip(shades, values, strict=True) if value != good)


def test_sensitivity_has_a_diagonal() -> None:
    values = np.random.default_rng(0).uniform(0.2, 1, 12)
    table = {
        "dataset": ["a"] * 6,
        "anomaly_class": [1, 1, 1, 2, 2, 2],
        "detector": ["k", "l", "m"] * 2,
        "auc": values[:6],
        "ap": values[6:],
    }
    result = fastad.benchmarking.class_sensitivity(table, rng=0)
    display = MatrixDisplay(result).plot(new_axes())
    assert cells(display) == [[f"{x:.1%}" for x in row] for row in result.value]


@pytest.mark.parametrize(
    "make", [fastad.benchmarking.kendall_matrix, fastad.benchmarking.selection_loss]
)
def test_cells_without_a_number(make: Any) -> None:
    values = np.random.default_rng(0).uniform(0.2, 1, (3, 4))
    none = np.full((3, 4), nan)
    result = make(
        ResultTable.from_arrays({"auc": values, "ap": none, "auc_w": values[::-1]}), rng=0
    )
    display = MatrixDisplay(result).plot(new_axes())
    draw(display)
    assert [row[1] for row in cells(display)] == ["-"] * 3 == cells(display)[1]
    assert display.texts_[4].get_color() == "black"
    assert min(contrasts(display)) > 3
    nothing = make(ResultTable.from_arrays({"auc": none, "ap": none}), rng=0)
    display = MatrixDisplay(nothing).plot(new_axes())
    draw(display)
    assert cells(display) == [["-"] * 2] * 2


def test_names_are_shown_as_they_are() -> None:
    names = ["$a$_b", "_private", "x^2", "a\\b", "100%"]
    result = fastad.benchmarking.selection_loss(results(5, names=names), rng=0)
    display = MatrixDisplay(result).plot(new_axes())
    draw(display)
    shown = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert shown == [r"\$a\$_b", " _private", "x^2", "a\\b", "100%"]
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == shown


def test_axes_are_those_of_the_user() -> None:
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    matrix = fastad.benchmarking.kendall_matrix(results(3), rng=0)
    MatrixDisplay(matrix).plot(left)
    display = MatrixDisplay(matrix).plot(right)
    assert (display.ax_, display.figure_) == (right, figure)
    assert len(left.images) == len(right.images) == 1


@pytest.mark.parametrize("n", [2, 12, pytest.param(30, marks=pytest.mark.evidence)])
def test_a_new_figure_has_room_for_all_cells_and_names(n: int) -> None:
    matrix = fastad.benchmarking.selection_loss(results(n), rng=0, n_resamples=1)
    display = MatrixDisplay(matrix).plot()
    draw(display)
    whole = display.figure_.bbox
    extents = [text.get_window_extent() for text in display.texts_]
    for left, right in itertools.pairwise(extents):
        assert not left.overlaps(right)
    for label in [*display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()]:
        box = label.get_window_extent()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    pyplot.close(display.figure_)  # type: ignore[arg-type]


def test_texts_can_be_read_on_their_colours() -> None:
    # Of white and black one has a contrast of 4.58 or more, on any colour.
    for make in (fastad.benchmarking.selection_loss, fastad.benchmarking.kendall_matrix):
        display = MatrixDisplay(make(results(8), rng=0)).plot(new_axes())
        assert min(contrasts(display)) > 4.5


def test_what_is_no_matrix_is_refused() -> None:
    with pytest.raises(TypeError, match=r"matrix must be a KendallMatrix, .*; found list"):
        MatrixDisplay([[1]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ax must be matplotlib axes; found str"):
        MatrixDisplay(fastad.benchmarking.kendall_matrix(results(2), rng=0)).plot("a")  # type: ignore[arg-type]


# Discriminability.

LEVELS = (0.1, 0.2, 0.3, 0.4)


def separated(n: int = 3, *, seed: int = 0, gains: Any = None, **options: Any) -> Any:
    """Two models; the second is better by the gain of each data set and rate."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0, 1, (n, 4)) if gains is None else np.broadcast_to(gains, (n, 4))
    folds = rng.normal(0.5, 0.05, (n, 2, 5))
    folds[:, 1] = folds[:, 0]
    gain = size[:, None, :] * np.array([[0], [1]])
    values = {f"tpr@{rate}": folds + gain[:, :, i, None] for i, rate in enumerate(LEVELS)}
    return fastad.benchmarking.discriminability(ResultTable.from_arrays(values, **options), rng=0)


def marks(display: DiscriminabilityDisplay) -> dict[str, tuple[float, float]]:
    """Position of each mark, by what the legend says of it."""
    points = [line for line in display.ax_.lines if line.get_linestyle() == "None"]
    assert len({line.get_marker() for line in points}) == len(points)
    return {str(one.get_label()): tuple(np.asarray(one.get_xydata())[0]) for one in points}


def marks_of(chosen: Any, curve: Any) -> dict[str, tuple[float, float]]:
    both = {"highest": chosen.optimal, "first above the critical value": chosen.lowest}
    return {
        what: (rate, curve[LEVELS.index(rate)])
        for what, rate in both.items()
        if not math.isnan(rate)
    }


def reference(display: DiscriminabilityDisplay) -> list[Any]:
    return [one for one in display.ax_.lines if str(one.get_label()).startswith("critical")]


@pytest.mark.parametrize(
    ("criterion", "n"), [*((one, 3) for one in CRITERIA), ("tukey-q", 1), ("welch-mean", 30)]
)
def test_the_mean_curve_with_each_data_set_behind(criterion: Any, n: int) -> None:
    result = separated(n)
    display = DiscriminabilityDisplay(result).plot(new_axes(), criterion=criterion)
    draw(display)
    curve, critical = result.curve(criterion)
    assert display.line_.get_xdata() == pytest.approx(LEVELS)
    assert np.array_equal(display.line_.get_ydata(), curve)
    (bound,) = reference(display)
    assert np.array_equal(bound.get_ydata(), critical)
    behind = [line.get_ydata() for line in display.ax_.lines if line.get_color() == "0.8"]
    assert len(behind) == (n if n > 1 else 0)
    for line, one in zip(behind, result.pairwise_tests.values(), strict=n > 1):
        assert np.array_equal(line, one.criteria[criterion])
    drawn = marks(display)
    assert drawn == marks_of(result.averaged[criterion], curve)
    assert next(iter(drawn.values()))[1] == max(curve)
    assert display.ax_.get_ylabel() == f"{criterion} of tpr"
    assert display.ax_.get_xlabel() == "False positive rate"
    labels = legend_of(display.ax_)
    mean = f"mean of {n} data set{'s' * (n > 1)}"
    others = ["each data set"] * (n > 1)
    assert labels == [mean, "critical value (confidence level 0.95)", *others, *drawn]


def test_one_data_set() -> None:
    result = separated(3, seed=1, datasets=["$a$", "_b", "c"])
    for name, shown in (("$a$", r"\$a\$"), ("_b", " _b"), ("c", "c")):
        display = DiscriminabilityDisplay(result).plot(
            new_axes(), dataset=name, criterion="welch-median", line_kw={"color": "red", "lw": 4}
        )
        draw(display)
        one = result.pairwise_tests[name]
        assert np.array_equal(display.line_.get_ydata(), one.criteria["welch-median"])
        assert np.array_equal(reference(display)[0].get_ydata(), one.critical_values["welch"])
        chosen = result.selected[name]["welch-median"]
        assert marks(display) == marks_of(chosen, one.criteria["welch-median"])
        assert not [line for line in display.ax_.lines if line.get_color() == "0.8"]
        assert display.line_.get_color() == "red"
        assert display.line_.get_linewidth() == 4
        assert legend_of(display.ax_)[:2] == [
            shown,
            f"critical value of {shown.strip()} (confidence level 0.95)",
        ]
        assert list(display.lines_) == [name]


def test_where_nothing_is_chosen() -> None:
    low = DiscriminabilityDisplay(separated(gains=[0.01, 0.02, 0.005, 0.0])).plot(new_axes())
    assert list(marks(low)) == ["highest"]
    values = np.full((1, 2, 3), 0.5) + np.array([[0], [1]])
    result = fastad.benchmarking.discriminability(
        ResultTable.from_arrays({"tpr@0.1": values}), rng=0
    )
    none = DiscriminabilityDisplay(result).plot(new_axes(), legend=False)
    draw(none)
    assert marks(none) == {}
    assert none.ax_.get_legend() is None


def test_a_new_figure_is_of_pyplot() -> None:
    display = DiscriminabilityDisplay(separated()).plot()
    assert pyplot.gcf() is display.figure_
    draw(display)
    pyplot.close()


def test_two_data_sets_on_the_same_axes_have_their_critical_values() -> None:
    axes, rng = new_axes(), np.random.default_rng(0)
    values = rng.normal(size=(2, 3, 4))
    values[0, 0] = nan  # two models on the one data set, three on the other
    result = fastad.benchmarking.discriminability(
        ResultTable.from_arrays({"tpr@0.1": values}), rng=0
    )
    for name in ("0", "1"):
        display = DiscriminabilityDisplay(result).plot(axes, dataset=name)
    heights = {float(line.get_ydata()[0]) for line in reference(display)}
    assert heights == {float(result.pairwise_tests[n].critical_values["tukey"][0]) for n in "01"}


def test_a_second_data_set_does_not_cut_the_first() -> None:
    axes, result = new_axes(), separated(2, gains=[[0.5], [0.01]])
    for name in ("0", "1"):
        display = DiscriminabilityDisplay(result).plot(axes, dataset=name)
    highest = max(result.pairwise_tests["0"].criteria["tukey-mean"])
    assert axes.get_ylim()[1] > highest > 2 * np.max(display.line_.get_ydata())


def test_a_rate_that_is_chosen_twice_has_both_marks() -> None:
    display = DiscriminabilityDisplay(separated(gains=[0.5, 0.4, 0.3, 0.2])).plot(new_axes())
    draw(display)
    assert list(marks(display)) == ["highest", "first above the critical value"]
    assert len(set(marks(display).values())) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"criterion": "tukey"}, "criterion must be one of"),
        ({"dataset": "7"}, "dataset must be one of 0, 1, 2; found '7'"),
        ({"dataset": 0}, "dataset must be one of 0, 1, 2; found 0"),
    ],
)
def test_bad_arguments(options: Any, words: str) -> None:
    axes = new_axes()
    with pytest.raises(fastad.InvalidInputError, match=words):
        DiscriminabilityDisplay(separated()).plot(axes, **options)
    assert len(axes.lines) == 0


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(
        TypeError,
        match=r"discriminability must be a fastad\.benchmarking\.Discriminability; found dict",
    ):
        DiscriminabilityDisplay({})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ax must be matplotlib axes; found int"):
        DiscriminabilityDisplay(separated()).plot(3)  # type: ignore[arg-type]
