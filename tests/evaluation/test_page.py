"""Pages of results: whole, escaped, small, and with the exact counts of some points."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import fastad
from tests.support.pages import Page

ODD = "<b>x</b> & \"y'$title"
OTHER = "</td></script><script>alert(1)</script>"
LABELS = np.arange(300) % 5 == 0


def scores_of(labels: Any, n_detectors: int = 2, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    names = [ODD, OTHER, *map(str, range(n_detectors - 2))]
    return {name: rng.normal(size=len(labels)) + 2 * labels for name in names}


def points_of(detector: dict[str, Any]) -> list[list[float]]:
    return [[float(x) for x in point.split(",")] for point in detector["points"].split(";")]


def test_a_page_has_all_that_is_printed_and_needs_nothing_else() -> None:
    result = fastad.evaluate(LABELS, scores_of(LABELS), confidence_level=0.9, rng=0, curves=True)
    text = result.to_html()
    page = Page(text)
    for word in str(result).replace(OTHER, "").split():
        assert word.strip("-") in page.words + OTHER + ODD, word
    assert page.heads == ["Evaluation", "ROC curves", "Keys and marks"]
    attributes = {name for _, of_tag in page.tags for name in of_tag}
    assert not {"src", "href", "srcset", "action"} & attributes
    # The namespace of drawings is a name; nothing is loaded from there.
    assert re.findall(r"https?:", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert "url(" not in text
    assert "@import" not in text
    assert len(page.of("script")) == 2
    assert [each["name"] for each in page.data[0]] == [ODD, OTHER]
    assert "area under the ROC curve up to a false positive rate" in page.words
    assert "its 90 % interval" in page.words
    assert "† before a value" in page.words


def test_points_have_exact_counts_and_exact_intervals() -> None:
    scores = np.round(scores_of(LABELS)[ODD], 1)
    detector = Page(fastad.evaluate(LABELS, scores, curves=True).to_html()).data[0][0]
    points = points_of(detector)
    p, n = int(LABELS.sum()), int((~LABELS).sum())
    assert (detector["anomalies"], detector["normals"]) == (str(p), str(n))
    assert [point[0] for point in points] == [np.inf, *np.unique(scores)[::-1]]
    for threshold, fp, tp, *ends in points:
        flagged = scores >= threshold
        assert (fp, tp) == ((flagged & ~LABELS).sum(), (flagged & LABELS).sum())
        expected = [
            end
            for k, total in ((fp, n), (tp, p))
            for end in (
                beta.ppf(0.025, k, total - k + 1) if k else 0.0,
                beta.ppf(0.975, k + 1, total - k) if k < total else 1.0,
            )
        ]
        assert ends == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n_detectors", [5, 100])
def test_many_scores_take_little_place_within_the_stated_bound(n_detectors: int) -> None:
    labels = np.random.default_rng(0).random(1_000_000 if n_detectors < 9 else 10_000) < 0.05
    scores = scores_of(labels, n_detectors)
    text = fastad.evaluate(labels, scores, measures=["auc"], curves=True).to_html()
    assert len(text.encode()) < 200_000
    page = Page(text)
    stated = re.search(r"more than (\S+) above or below", page.words)
    assert stated is not None
    for detector in page.data[0][:3]:
        points = np.array(points_of(detector))
        assert len(points) <= 1000
        curve = fastad.roc_curve(labels, scores[detector["name"]])
        fpr, tpr = points[:, 1] / (~labels).sum(), points[:, 2] / labels.sum()
        # At the last point of each upright piece, where the curve goes on from.
        last = np.append(np.diff(curve.fpr) > 0, True)
        drawn = np.interp(curve.fpr, fpr, tpr)
        distance = np.abs(drawn - curve.tpr)[last].max()
        assert 0 < distance <= float(stated[1])


def test_points_on_straight_lines_are_left_out_of_an_exact_curve() -> None:
    labels = np.arange(5000) % 100 == 0
    page = Page(fastad.evaluate(labels, np.arange(5000), curves=True).to_html())
    points = np.array(points_of(page.data[0][0]))
    assert "Curves are of all scores" in page.words
    assert len(points) < 1000
    auc = np.trapezoid(points[:, 2], points[:, 1]) / (50 * 4950)
    assert auc == pytest.approx(fastad.roc_auc(labels, np.arange(5000)), rel=1e-12)


def test_what_has_no_curve_has_a_table() -> None:
    scores = scores_of(LABELS)
    groups = fastad.evaluate(LABELS, scores, groups={"fold": np.arange(300) % 2})
    one_class = fastad.evaluate(np.zeros(300), scores, curves=True)
    without = fastad.evaluate(LABELS, scores)
    for result in (groups, groups.summary(), one_class, without):
        page = Page(result.to_html())
        assert page.data == []
        assert "ROC curves" not in page.heads
    assert Page(groups.to_html()).heads == ["Grouped evaluation"]
    assert "nan: undefined" in Page(one_class.to_html()).words
    bad = {"good": scores[ODD], "bad": np.full(300, np.nan)}
    some = fastad.evaluate(LABELS, bad, on_error="record", curves=True)
    assert [each["name"] for each in Page(some.to_html()).data[0]] == ["good"]


@pytest.mark.parametrize(
    ("options", "has_intervals"),
    [
        ({"sample_weight": np.full(300, 2)}, True),
        ({"sample_weight": np.linspace(0.1, 2, 300)}, False),
        ({"blocks": 5, "confidence_level": 0.9, "n_resamples": 20, "rng": 0}, False),
        ({"contamination": 0.01}, True),
    ],
)
def test_rates_have_intervals_where_they_are_binomial(
    options: dict[str, Any], has_intervals: bool
) -> None:
    page = Page(fastad.evaluate(LABELS, scores_of(LABELS)[ODD], **options, curves=True).to_html())
    assert {len(point) for point in points_of(page.data[0][0])} == {7 if has_intervals else 3}
    assert ("have no interval" in page.words) == (not has_intervals)
    assert ("without the correction" in page.words) == ("contamination" in options)


def test_integers_beyond_floats_and_few_bits_keep_their_digits() -> None:
    large = np.where(LABELS, 2**60 + 1, 2**60 - np.arange(300))
    detector = Page(fastad.evaluate(LABELS, large, curves=True).to_html()).data[0][0]
    assert f";{2**60 + 1}," in detector["points"]
    small = np.where(LABELS, 0.1, 0).astype(np.float32)
    assert (
        ";0.1," in Page(fastad.evaluate(LABELS, small, curves=True).to_html()).data[0][0]["points"]
    )


def test_a_page_is_saved(tmp_path: Path) -> None:
    result = fastad.evaluate(LABELS, {"a\udc80": scores_of(LABELS)[ODD]}, curves=True)
    path = tmp_path / "page.html"
    assert result.to_html(path) == result.to_html()
    assert "a\\udc80" in path.read_text(encoding="utf-8")
    comparisons = fastad.compare_all(LABELS, scores_of(LABELS), measure="auc")
    assert comparisons.to_html(str(path)) == path.read_text(encoding="utf-8")
    assert Page(comparisons.to_html()).heads == ["Comparisons"]


def test_thresholds_fall_and_counts_rise() -> None:
    points = points_of(
        Page(fastad.evaluate(LABELS, scores_of(LABELS)[ODD], curves=True).to_html()).data[0][0]
    )
    for before, after in pairwise(points):
        assert before[0] > after[0]
        assert before[1] + before[2] < after[1] + after[2]


def test_the_threshold_of_a_rate_keeps_all_its_false_positives_on_the_page() -> None:
    """The condition of the script, whose numbers are floats as here: 15 / 22 * 22 is below 15."""
    text = fastad.evaluate(LABELS, scores_of(LABELS), curves=True).to_html()
    (condition,) = re.findall(r"function \(point\) { return (.* <= .*?); }", text)
    holds = eval(f"lambda k, n, fpr: {condition}".replace("point[1]", "k").replace("chosen.n", "n"))
    for n in range(1, 60):
        for k in range(n + 1):
            assert holds(k, n, k / n)
            assert not holds(k + 1, n, k / n)
    assert all(holds(i, 100 * i, 0.01) for i in range(1, 200))
