"""What notebooks show: tables in HTML with everything escaped, and reprs that stay short."""

from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np

import fastad
import fastad.benchmarking as benchmarking
from fastad._core.results import TableResult
from fastad._core.text_tables import TextTable, html_text

# Names as no name should be.
ODD = "<b>x</b> & \"y\" 'z'"
OTHER = "</td><script>1</script>"
NAMES = [ODD, OTHER]


@cache
def made(n: int) -> dict[str, Any]:
    """A result of each kind, of n samples."""
    rng = np.random.default_rng(0)
    labels = rng.random(n) < 0.3
    scores = {name: rng.normal(size=n) + labels for name in NAMES}
    first, second = scores.values()
    # Few replicates: numbers are of no interest here.
    options: dict[str, Any] = {"n_resamples": 20, "rng": 0}
    evaluation = fastad.evaluate(labels, scores, confidence_level=0.9, chance=True, **options)
    groups = fastad.evaluate(labels, scores, groups={"dataset": [ODD] * (n - 90) + [OTHER] * 90})
    table = fastad.ResultTable.from_arrays(
        {name: rng.random((max(n // 100, 5), 2, 3)) for name in ("auc", "tpr@0.05")},
        detectors=NAMES,
    )
    points = rng.normal(size=(n, 2))
    unsupervised = fastad.evaluate_unsupervised(
        {name: lambda x: -np.abs(x).sum(axis=1) for name in NAMES}, points, **options
    )
    return {
        "evaluation": evaluation,
        "detector": evaluation[ODD],
        "groups": groups,
        "summary": groups.summary(),
        "interval": fastad.interval(labels, first, measure="auc", **options),
        "comparison": fastad.compare(labels, first, second, measure="auc", **options),
        "comparisons": fastad.compare_all(labels, scores, measure="auc", **options),
        "chance": fastad.chance_level(labels, first, measure="auc", **options),
        "volume": fastad.volume(
            lambda x: (x**2).sum(axis=1), 2.0, fastad.Box([-3, -3], [3, 3]), n_draws=1000, rng=0
        ),
        "roc": fastad.roc_curve(labels, first),
        "precision": fastad.precision_recall_curve(labels, first),
        "det": fastad.measures.det_curve(labels, first),
        "np": fastad.measures.np_curve(labels, first, alpha=0.1),
        "rp": fastad.measures.rp_curve(labels, first),
        "percentiles": fastad.measures.class_percentiles(labels, first),
        "roc band": fastad.uncertainty.roc_band(labels, first),
        "precision band": fastad.uncertainty.precision_recall_band(labels, first),
        "covariance": fastad.uncertainty.delong_covariance(labels, scores),
        "table": table,
        "ranks": benchmarking.average_ranks(table, **options),
        "friedman": benchmarking.friedman(table),
        "nemenyi": benchmarking.nemenyi(table, measure="auc", **options),
        "wilcoxon": benchmarking.wilcoxon_holm(table, measure="auc", **options),
        "rank intervals": benchmarking.rank_intervals(table, measure="auc", **options),
        "pairs": benchmarking.multi_comparison_matrix(table, measure="auc"),
        "variances": benchmarking.variance_components(table, measure="auc"),
        "kendall": benchmarking.kendall_matrix(table, **options),
        "loss": benchmarking.selection_loss(table, **options),
        "distance": benchmarking.rank_distance(table, reference="auc", **options),
        "means": benchmarking.rank_distance(table, reference="auc", **options).means,
        "row means": benchmarking.kendall_matrix(table, **options).means["mean"],
        "recommendation": benchmarking.recommend(table, target_measure="auc", **options),
        "overview": fastad.compare_runs(table, **options),
        "unsupervised": unsupervised,
        "criteria": unsupervised[ODD],
    }


class Parsed(HTMLParser):
    """The cells and lines of a page; its tags must be balanced, and be those of tables."""

    TAGS = ("table", "thead", "tbody", "tr", "th", "td", "b", "p", "h4")

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS, tag
        self.open.append(tag)
        if tag in ("th", "td", "p", "h4"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.cells[-1] += data


def test_results_with_tables_have_html() -> None:
    for name, result in made(400).items():
        assert hasattr(result, "_repr_html_") >= isinstance(result, TableResult), name
    records = {"interval", "comparison", "chance", "volume", "recommendation"}
    assert {"detector", "overview", "unsupervised"} | records <= set(in_html())


def in_html() -> dict[str, Any]:
    return {name: one for name, one in made(400).items() if hasattr(one, "_repr_html_")}


def test_html_has_what_is_printed() -> None:
    for name, result in in_html().items():
        check_html(name, result)


def check_html(name: str, result: Any) -> None:
    cells = Parsed(result._repr_html_()).cells
    shown = " ".join(" ".join(cells).split())
    printed = fastad.evaluation.Evaluation([result]) if name == "detector" else result
    # Records without a text of their own have a repr.
    lines = [] if str(printed) == repr(printed) else str(printed).splitlines()
    for line in lines:
        for word in line.split():
            # What is the best is bold instead.
            assert word.strip("-").rstrip("¹") in shown, (name, word)
    if isinstance(result, TableResult):
        table = result.text_table()
        assert cells.count(table.header[1]) >= 1, name
        for note in result.notes:
            assert note in cells, name


def test_reprs_are_short_however_many_samples_there_are() -> None:
    for name, result in made(400).items():
        few, many = repr(result), repr(made(2000)[name])
        assert "\n" not in many, name
        assert len(many) < 800, name
        assert len(many) <= len(few) + 60, name


def test_cells_are_marked_and_escaped() -> None:
    table = TextTable(["a<", "b"], [["r&d", "1\n2"], ["s", "3"]], [[2], [1]])
    assert table.html() == (
        "<table><thead><tr><th>a&lt;</th><th>b</th></tr></thead><tbody>\n"
        "<tr><td>r&amp;d</td><td>1 2²</td></tr>\n"
        "<tr><td>s</td><td><b>3</b></td></tr>\n"
        "</tbody></table>"
    )
    assert html_text(["", "a < b", table]).startswith("<p>a &lt; b</p>\n<table>")


def test_a_repr_has_short_arrays_and_the_sizes_of_long_ones() -> None:
    curve: Callable[..., Any] = fastad.measures.RocCurve.of
    of_two = curve(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([np.inf, 0.5]))
    assert repr(of_two) == "RocCurve(fpr=[0, 1], tpr=[0, 1], thresholds=[inf, 0.5])"
    arrays = [np.linspace(0, 1, 7)] * 3
    shape = "<float64 of shape (7,)>"
    assert repr(curve(*arrays)) == f"RocCurve(fpr={shape}, tpr={shape}, thresholds={shape})"
