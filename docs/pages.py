"""The pages of the measures: what the registry says of each row, and the prose written for it.

`write_pages` makes ``measures/<name>.md`` for every row of the registry, and ``measures/index.md``.
Sphinx is not needed here; ``conf.py`` calls this before it reads the sources.
"""

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path

import fastad
from fastad._core.parameters import Integer
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES

HERE = Path(__file__).parent
PROSE = HERE / "prose"
PAGES = HERE / "measures"

_KINDS = {
    "value": "a value",
    "threshold": "a threshold, in the units of the scores",
    "curve": "a curve",
    "counts": "counts and rates",
}
_CLASSES = {
    "both": "anomalies, normal points",
    "anomalies": "anomalies",
    "normals": "normal points",
    "any": "none",
}
_WEIGHTS = {"real": "any that are not negative", "whole": "whole numbers only"}
_READS = {
    "all": "the whole order of the scores",
    "prefix": "the part of the order above the operating point",
    "values": "the values of the scores, which must be finite",
}
_BETTER = {True: "higher", False: "lower", None: "neither"}


def check_prose(names: Iterable[str] = MEASURES, prose: Path = PROSE) -> None:
    """Raise unless each row of the registry has its prose, and each prose its row.

    Raises
    ------
    ValueError
        Names every row without prose, and every prose without a row.
    """
    wanted = set(names)
    written = {path.stem for path in prose.glob("*.md") if path.read_text("utf-8").strip()}
    complaints = [f"{name} has no prose in {prose.name}/{name}.md" for name in wanted - written]
    complaints += [f"{prose.name}/{name}.md has no row" for name in written - wanted]
    if complaints:
        raise ValueError("the registry and the prose differ: " + "; ".join(sorted(complaints)))


def facts(row: Measure) -> dict[str, str]:
    """Return what the registry says of a measure, in words."""
    return {
        "Function": f"{{py:func}}`fastad.measures.{row.name}`",
        "Label": _label(row),
        "Returns": _KINDS[row.kind],
        "Operating point": _operating(row),
        "Range": row.shown_range,
        "Undefined without": _CLASSES[row.classes],
        "Sample weights": _weights(row),
        "Reads": _READS[row.reads] + (" and lie in `score_range`" if row.takes_score_range else ""),
        "Better is": _BETTER[row.higher_is_better],
        "Cost after ordering": f"{row.cost}, g the number of distinct scores",
        "Source": row.source,
    }


def render_page(row: Measure, prose: str) -> str:
    """Return the page of one measure."""
    head, *lines = [[f"**{key}**", value] for key, value in facts(row).items()]
    table = _table(head, lines)
    return "\n\n".join(
        [
            f"# `{row.name}`",
            f"{_sentence(row.title)}.",
            table,
            prose.strip(),
            "## Reference",
            f"```{{eval-rst}}\n.. autofunction:: fastad.measures.{row.name}\n```\n",
        ]
    )


def render_index(rows: Iterable[Measure]) -> str:
    """Return the table of all measures, and their order in the contents."""
    rows = list(rows)
    head = ["Function", "Label", "What it is", "Range", "Better is"]
    lines = [
        [
            f"[`{row.name}`]({row.name}.md)",
            _label(row),
            row.title,
            row.shown_range,
            _BETTER[row.higher_is_better],
        ]
        for row in rows
    ]
    contents = "\n".join(["```{toctree}", ":hidden:", "", *(row.name for row in rows), "```"])
    return "\n\n".join(
        [
            "# Measures",
            "Every measure is a function of labels and scores and a method of "
            "{py:class}`fastad.evaluation.RankedScores`. Values also stand in the tables of "
            "{py:func}`fastad.evaluate`, under their label. The symbols of the pages are "
            "explained in [Conventions](../conventions.md).",
            _table(head, lines),
            contents + "\n",
        ]
    )


def write_pages(
    target: Path = PAGES, prose: Path = PROSE, rows: Mapping[str, Measure] = MEASURES
) -> list[Path]:
    """Write the page of each row and the index; remove pages that have no row.

    Files whose text would not change are left alone, so that Sphinx reads only what is new.
    """
    check_prose(rows, prose)
    texts = {
        name: render_page(row, (prose / f"{name}.md").read_text("utf-8"))
        for name, row in rows.items()
    }
    texts["index"] = render_index(rows.values())
    target.mkdir(parents=True, exist_ok=True)
    for path in target.glob("*.md"):
        if path.stem not in texts:
            path.unlink()
    paths = []
    for name, text in texts.items():
        path = target / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
        paths.append(path)
    return paths


def _label(row: Measure) -> str:
    if row.kind != "value":
        return "does not stand in tables"
    if row.operating_point is None:
        return f"`{row.key}`"
    example = f"`{row.key_at(row.point_parameter.example)}`"
    if not row.default_points:
        return example
    label = f"`{row.key_at(row.default_points[0])}`"
    return f"{label}, {example}" if isinstance(row.point_parameter, Integer) else label


def _operating(row: Measure) -> str:
    if row.operating_point is None:
        return "none"
    if row.kind != "value":
        return f"`{row.operating_point}`"
    if row.default_points is None:
        return f"`{row.operating_point}`; in tables each value of `fpr=`"
    if not row.default_points:
        return f"`{row.operating_point}`; in tables the label must say it"
    shown = ", ".join("its default" if x is None else f"{float(x):g}" for x in row.default_points)
    return f"`{row.operating_point}`; in tables {shown} unless the label says another"


def _weights(row: Measure) -> str:
    if "sample_weight" in inspect.signature(getattr(fastad.measures, row.name)).parameters:
        return _WEIGHTS[row.weights]
    return "not taken by the function; the method counts those of `rank_scores`"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
