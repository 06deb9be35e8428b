"""The sections of curves of a study's report: what is drawn of which configuration."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

import fastad
from fastad.study.report.curve_pictures import DetectorCurves, draw_curves, draw_scores
from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.sections import Picture, Section
from fastad.study.results import StudyTables
from tests.support import study_tables
from tests.support.study_tables import make_study

DETECTORS = ("kNN", "LOF", "IForest", "OCSVM")


@pytest.fixture
def study(small_study: StudyTables) -> StudyTables:
    return small_study


def drawn(section: Section, place: int) -> Figure:
    part = section.parts[place]
    assert isinstance(part, Picture)
    return part.draw()


SECTIONS = (curves_section, scores_section)


def values(line: Line2D, which: str = "y") -> npt.NDArray[np.float64]:
    return np.asarray(line.get_xdata() if which == "x" else line.get_ydata(), np.float64)


def with_curves(study: StudyTables, change: Callable[[dict[str, Any]], None]) -> StudyTables:
    rows = study.curves.to_pylist()
    for row in rows:
        change(row)
    return replace(study, curves=pa.Table.from_pylist(rows, study_tables.CURVE_SCHEMA))


def with_tasks(study: StudyTables, change: Callable[[dict[str, Any]], None]) -> StudyTables:
    rows = study.tasks.to_pylist()
    for row in rows:
        change(row)
    return replace(study, tasks=pa.Table.from_pylist(rows, study.tasks.schema))


def words_of(figure: Figure) -> list[str]:
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    return texts + [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("section", SECTIONS)
def test_best_configuration_of_each_detector_is_drawn(
    study: StudyTables, section: Callable[[StudyTables], Section]
) -> None:
    rows = [
        row
        for row in study.tasks.to_pylist()
        if (row["dataset"], row["anomaly_class"]) == ("cardio", "5")
        and (row["contamination"], row["repeat"]) == (0.0, 1)
        and not row["reason"]
    ]
    best = [
        max((row for row in rows if row["detector"] == name), key=lambda row: row["auc"])
        for name in ("kNN", "LOF", "IForest", "OCSVM")
    ]
    result = section(study)
    assert [part.title for part in result.parts] == [
        *("cardio (uci), anomalies of class 5", "wine (uci)", "wide (adbench)")
    ]
    texts = words_of(drawn(result, 0))
    assert [text for text in texts if "=" in text] == [
        f"{row['detector']} {row['params']}" for row in best
    ]
    if section is curves_section:
        assert f"{best[0]['auc']:.3f}" in "".join(texts)


def test_same_colours_whichever_detectors_a_data_set_has(study: StudyTables) -> None:
    curves = study.curves
    lacking = pa.array([row["detector"] != "kNN" for row in curves.to_pylist()])
    fewer = replace(study, curves=curves.filter(lacking))

    def colours(one: StudyTables) -> list[str]:
        roc = drawn(curves_section(one), 0).axes[0]
        return [to_hex(line.get_color()) for line in roc.lines[1:]]

    assert len({*colours(study)}) == 4
    assert colours(fewer) == colours(study)[1:]
    assert [part.notes for part in curves_section(fewer).parts if isinstance(part, Picture)] == [
        ["There are no curves of kNN: see the failures."]
    ] * 3


def test_names_of_files_are_plain_and_differ() -> None:
    problems = {"a/b": {"x y": (None,), "x:y": (None,), "X-Y": (None,), "ÄÖ": (None,)}}
    study = make_study(problems=problems, n_repeats=1, failures=False)
    for section in SECTIONS:
        names = [part.name for part in section(study).parts]
        assert len({name.lower() for name in names}) == 4
        assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) for name in names)


def test_undefined_curves_are_named(study: StudyTables) -> None:
    def some(row: dict[str, Any]) -> None:
        if row["detector"] == "LOF":
            row.update(em_level=[], em_mass=[])

    def everyone(row: dict[str, Any]) -> None:
        row.update(em_level=[], em_mass=[])

    def said(change: Callable[[dict[str, Any]], None], place: int) -> str:
        figure = drawn(curves_section(with_curves(study, change)), place)
        return " ".join(" ".join(words_of(figure)).split())

    assert "undefined: LOF" in said(some, 0)
    # The study knows why in many features, and has no reason in few.
    assert f"EM is undefined: {study_tables.NO_EM.removeprefix('em: ')}" in said(everyone, 2)
    assert "EM is undefined: no uniform point lies inside a level set" in said(everyone, 0)


def test_a_reason_may_contain_a_semicolon(study: StudyTables) -> None:
    def fail(row: dict[str, Any]) -> None:
        row["undefined"] = "em: must be few; found 120; mv: why: 2"

    def without_levels(row: dict[str, Any]) -> None:
        row.update(em_level=[], em_mass=[])

    failed = with_curves(with_tasks(study, fail), without_levels)
    figure = drawn(curves_section(failed), 2)
    said = " ".join(" ".join(words_of(figure)).split())
    assert "EM is undefined: must be few; found 120" in said
    assert "why" not in said


def one_detector(name: str = "kNN", style: int = 0, **curves: npt.ArrayLike) -> DetectorCurves:
    row = study_tables._curve(np.random.default_rng(style))
    known = {key: np.array(curves.get(key, values)) for key, values in row.items()}
    return DetectorCurves(name, "k=1", style, known)


def test_volumes_of_nothing_are_no_undefined_ones() -> None:
    mass = [0.9, 0.95, 0.99]
    some = one_detector("LOF", 1, mv_mass=mass, mv_volume=[0, 1e-4, 0.5])
    none = one_detector(mv_mass=mass, mv_volume=[0, 0, 0])
    figure = draw_curves([some, none], "both", 0.1)
    texts = words_of(figure)
    assert "0" in texts
    assert not [text for text in texts if "undefined" in text]
    # 0 is seen, below all that is not 0.
    axes = figure.axes[3]
    assert axes.get_yscale() == "log"
    lowest = values(axes.lines[1])
    assert np.all((axes.get_ylim()[0] < lowest) & (lowest < 1e-4))
    alone = " ".join(" ".join(words_of(draw_curves([none], "one", 0.1))).split())
    assert "All volumes are 0: no uniform point lies inside a level set" in alone


@pytest.mark.parametrize(
    ("volumes", "scale"), [([0.01, 0.1, 0.9], "linear"), ([0.001, 0.1, 0.9], "log")]
)
def test_volumes_over_decades_are_logarithmic(volumes: Sequence[float], scale: str) -> None:
    one = one_detector(mv_mass=[0.9, 0.95, 0.99], mv_volume=volumes)
    assert draw_curves([one], "one", 0.1).axes[3].get_yscale() == scale


def test_distances_are_those_of_the_library() -> None:
    rng = np.random.default_rng(3)
    y_true = np.repeat([0, 1], [4000, 1000])
    y_score = rng.normal(5 + y_true, 2)
    percentiles = fastad.measures.class_percentiles(y_true, y_score)
    one = one_detector(
        normal_percentiles=percentiles.normals, anomaly_percentiles=percentiles.anomalies
    )
    figure = draw_scores([one], "one")
    span = float(y_score.max() - y_score.min())
    curve = fastad.measures.rp_curve(y_true, y_score)
    line = figure.axes[1].lines[-2]  # the last one is the mark
    np.testing.assert_allclose(values(line), curve.distance / span, atol=1e-12)
    area, at_90, zero = words_of(figure)[2].split()
    # Straight lines between whole percentiles, in place of the exact integral.
    exact = fastad.measures.rp_auc(y_true, y_score, score_range=(y_score.min(), y_score.max()))
    assert float(area) == pytest.approx(exact, abs=0.002)
    assert float(at_90) == pytest.approx(curve.distance[90] / span, abs=0.005)
    assert int(zero) == np.ceil(curve.zero)


def test_scores_without_percentiles_or_without_range() -> None:
    lacking = one_detector("LOF", 1, normal_percentiles=[], anomaly_percentiles=[])
    assert "infinite scores: LOF" in words_of(draw_scores([lacking], "none"))
    level = one_detector(normal_percentiles=[2.0] * 101, anomaly_percentiles=[2.0] * 101)
    figure = draw_scores([level, lacking], "level")
    assert "infinite scores: LOF" in words_of(figure)
    assert words_of(figure)[2].split() == ["0.500", "0.00", "0"]


# Which configuration.


def chosen(study: StudyTables) -> list[str]:
    texts = words_of(drawn(curves_section(study), 0))
    return [text for text in texts if "=" in text]


def firsts() -> list[str]:
    """The first configuration of each detector."""
    result: dict[str, str] = {}
    for name, own in study_tables.CONFIGURATIONS:
        result.setdefault(name, f"{name} {own}")
    return list(result.values())


@pytest.mark.parametrize("auc", [0.5, math.nan])
def test_first_configuration_is_drawn_where_none_is_better(study: StudyTables, auc: float) -> None:
    def level(row: dict[str, Any]) -> None:
        row["auc"] = auc

    assert chosen(with_tasks(study, level)) == firsts()


def test_undefined_auc_is_never_the_best(study: StudyTables) -> None:
    def but_one(row: dict[str, Any]) -> None:
        row["auc"] = 0.01 if row["params"] in ("k=5, score=gamma", "n_neighbors=50") else math.nan

    assert chosen(with_tasks(study, but_one))[:2] == ["kNN k=5, score=gamma", "LOF n_neighbors=50"]


def test_auc_is_that_of_the_first_repeat_and_contamination(study: StudyTables) -> None:
    def later(row: dict[str, Any]) -> None:
        if (row["repeat"], row["contamination"]) != (1, 0.0) or row["anomaly_class"] == "8":
            row["auc"] = 1 - row["auc"]

    assert chosen(with_tasks(study, later)) == chosen(study)


def test_curves_without_tasks_are_drawn(study: StudyTables) -> None:
    # Of a study that is not finished: its rows are read after its curves.
    bare = replace(study, tasks=study.tasks.slice(0, 0))
    assert chosen(bare) == firsts()
    texts = words_of(drawn(curves_section(bare), 0))
    assert texts.count("-         -         -         -") == len(DETECTORS)


# What is drawn of it.


def best_rows(study: StudyTables, dataset: str) -> list[dict[str, Any]]:
    """Rows of the curves of the best configurations, found slowly."""
    keys = study_tables.KEYS
    auc = {tuple(row[key] for key in keys): row["auc"] for row in study.tasks.to_pylist()}
    rows = [row for row in study.curves.to_pylist() if row["dataset"] == dataset]
    merits = [
        -math.inf if math.isnan(one) else one
        for one in map(lambda row: auc[tuple(row[key] for key in keys)], rows)
    ]
    result = []
    for name in DETECTORS:
        own = [i for i, row in enumerate(rows) if row["detector"] == name]
        result.append(rows[max(own, key=lambda i: merits[i])])
    return result


def test_lines_are_those_of_the_tables(study: StudyTables) -> None:
    for place, dataset in enumerate(("cardio", "wine", "wide")):
        roc, low_rates, precision, volume, excess = drawn(curves_section(study), place).axes[:5]
        assert low_rates.get_xscale() == "log"
        rows = best_rows(study, dataset)
        (_, *of_roc), (prevalence, *of_precision) = roc.lines, precision.lines
        chance, *of_low_rates = low_rates.lines
        np.testing.assert_array_equal(values(chance, "x"), values(chance))
        np.testing.assert_allclose(values(prevalence), [12 / 60] * 2)
        drawn_lines = (of_roc, of_precision, volume.lines, excess.lines, of_low_rates)
        assert [len(lines) for lines in drawn_lines] == [len(rows)] * 5
        for row, one, two, three, four, five in zip(rows, *drawn_lines, strict=True):
            for line, x, y in (
                (one, np.arange(101) / 100, row["roc"]),
                (two, np.arange(1, 101) / 100, row["pr"]),
                (three, row["mv_mass"], row["mv_volume"]),
                (four, row["em_level"], row["em_mass"]),
                # A rate of 0 has no place on a logarithmic axis.
                (five, np.arange(1, 101) / 100, row["roc"][1:]),
            ):
                np.testing.assert_allclose(values(line, "x"), x, rtol=0, atol=1e-15)
                np.testing.assert_array_equal(values(line), y)
        # A detector looks the same in all panels.
        for lines in zip(*drawn_lines, strict=True):
            assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 1


def test_legend_has_the_values_of_the_tables(study: StudyTables) -> None:
    texts = words_of(drawn(curves_section(study), 0))
    tasks = {tuple(row[key] for key in study_tables.KEYS): row for row in study.tasks.to_pylist()}
    for row in best_rows(study, "cardio"):
        task = tasks[tuple(row[key] for key in study_tables.KEYS)]
        values = texts[texts.index(f"{row['detector']} {row['params']}") + 1].split()
        assert values == [
            *(f"{task['auc']:.3f}", f"{task['auc_pr']:.3f}"),
            *(f"{task['mv']:.3g}", f"{task['em']:.3g}"),
        ]


def scaled(row: dict[str, Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    normal, anomaly = (
        np.array(row[name]) for name in ("normal_percentiles", "anomaly_percentiles")
    )
    low, high = min(normal[0], anomaly[0]), max(normal[-1], anomaly[-1])
    return (normal - low) / (high - low), (anomaly - low) / (high - low)


def test_bars_and_distances_are_of_scaled_percentiles(study: StudyTables) -> None:
    bars, distances = drawn(scores_section(study), 1).axes[:2]
    rows = best_rows(study, "wine")
    assert [label.get_text() for label in bars.get_yticklabels()] == list(DETECTORS)
    for i, whiskers in enumerate((bars.collections[:3], bars.collections[3:])):
        for (low, high), lines in zip(((0, 100), (10, 90), (25, 75)), whiskers, strict=True):
            ends = np.array([path.vertices for path in lines.get_paths()], float)[:, :, 0]
            between = [scaled(row)[i][[low, high]] for row in rows]
            np.testing.assert_allclose(ends, between, atol=1e-12)
        medians = [scaled(row)[i][50] for row in rows]
        np.testing.assert_allclose(values(bars.lines[i], "x"), medians, atol=1e-12)
    curves = [line for line in distances.lines if values(line).size == 101]
    for row, line in zip(rows, curves, strict=True):
        normal, anomaly = scaled(row)
        wanted = [anomaly[100 - p] - normal[p] for p in range(101)]
        np.testing.assert_allclose(values(line), wanted, atol=1e-12)


def test_power_of_small_volumes_leaves_the_title_alone() -> None:
    one = one_detector(mv_mass=[0.9, 0.95, 0.99], mv_volume=[0, 1e-5, 2e-5])
    figure = draw_curves([one], "one", 0.1)
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call]
    roc, _, _, volumes = figure.axes[:4]
    power = volumes.yaxis.get_offset_text()
    assert power.get_text() == "1e\N{MINUS SIGN}5"
    # Titles stand as high as they would without it, and beside it.
    texts = [text for text in volumes.get_children() if isinstance(text, Text)]
    (title,) = (text for text in texts if text.get_text().startswith("Mass-volume"))
    (other,) = (text for text in roc.get_children() if isinstance(text, Text) and text.get_text())
    assert title.get_position() == other.get_position()
    assert not title.get_window_extent().overlaps(power.get_window_extent())
