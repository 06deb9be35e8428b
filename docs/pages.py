"""What the pages say that follows from declarations: facts about measures, lists of public names.

A page is the text in its file; `complete` adds the rest when Sphinx reads it.
"""

import importlib
import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastad
from fastad._core.declared import Integer
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES

HERE = Path(__file__).parent
# Where generated text goes, and the pictures of `pictures`.
MARK = "<!-- generated -->"
PICTURE = re.compile(r"<!-- picture: (\w+), (.+) -->")
PACKAGES = [name for name in fastad.__all__ if inspect.ismodule(getattr(fastad, name))]
PACKAGES += ["study.papers", "compat.sklearn"]
# Of the functions that are called the same for scores elsewhere, such as in files, the first; all
# functions of `dask` are, and those of `compat` are called as in other libraries.
SAME_NAMES = {("streaming", "evaluate")}
# The package of each public name.
HOMES = {
    name: f"fastad.{package}"
    for package in PACKAGES
    for name in importlib.import_module(f"fastad.{package}").__all__
    if package not in ("dask", "compat.sklearn") and (package, name) not in SAME_NAMES
}

_ABOUT_PICTURES = """Scores of both classes are normally distributed: of a weak, a fair and a good
detector those of anomalies are 0.8, 1.6 and 2.6 standard deviations higher. There are ten
normal samples for an anomaly, unless the legend names another fraction of anomalies. A measure
with an operating point is shown over that point, others over the distance of the classes."""

# Titles within the gallery, by the first measure below each.
_GROUPS = {
    "roc_curve": "The ROC curve and its area",
    "auc_at_fpr": "At low false positive rates and high true positive rates",
    "enrichment_factor": "Early recognition",
    "precision_recall_curve": "Precision and recall",
    "precision_at_k": "Among the highest scores",
    "threshold_at_fpr": "Thresholds, and what they flag",
    "detection_cost": "Costs and tolerated errors",
    "localized_auc": "Around one false positive rate",
    "class_percentiles": "Percentiles and scaled scores",
}

_KINDS = {
    "value": "a value",
    "threshold": "a threshold, in the units of the scores",
    "curve": "a curve",
    "counts": "counts and rates",
}
_CLASSES = {
    "both": "anomalies, normal samples",
    "anomalies": "anomalies",
    "normals": "normal samples",
    "any": "none",
}
_WEIGHTS = {"real": "any that are not negative", "integer": "integers only"}
_BETTER = {True: "higher", False: "lower", None: "neither"}


def check_pages(names: Iterable[str] = MEASURES, folder: Path = HERE / "measures") -> None:
    """Raise unless each measure has its page, and each page its measure.

    Raises
    ------
    ValueError
        Names every measure without a page, and every page without a measure.
    """
    names = list(names)
    expected = {*names, "index"}
    written = {path.stem for path in folder.glob("*.md") if path.read_text("utf-8").strip()}
    problems = [f"{name} has no page" for name in expected - written]
    problems += [f"{name}.md has no measure" for name in written - expected]
    problems += [f"{name} begins a group and is no measure" for name in _GROUPS.keys() - names]
    if problems:
        raise ValueError("measures and their pages differ: " + "; ".join(sorted(problems)))


def complete(docname: str, text: str) -> str:
    """Return the text of a page with what is generated for it."""
    folder, _, name = docname.rpartition("/")
    up = "../" if folder else ""
    text = PICTURE.sub(lambda result: picture(result[1], result[2], up), text)
    if folder == "measures" and name in MEASURES:
        return complete_measure(MEASURES[name], text)
    if docname in GENERATED:
        text = text.replace(MARK, GENERATED[docname]())
    elif folder == "reference" and name in PACKAGES:
        text += "\n" + package_reference(name)
    return text


def complete_measure(row: Measure[Any], text: str) -> str:
    """Return the page of a measure: facts below its title, its docstring at the end."""
    title, rest = text.split("\n", 1)
    head, *lines = [[f"**{key}**", value] for key, value in facts(row).items()]
    reference = f"```{{eval-rst}}\n.. autofunction:: fastad.measures.{row.name}\n```\n"
    summary = f"{row.title[:1].upper()}{row.title[1:]}."
    return "\n\n".join(
        [
            title,
            summary,
            picture(row.name, f"{row.name}: {row.title}"),
            _table(head, lines),
            rest.strip(),
            "## Reference",
            reference,
        ]
    )


def picture(name: str, alt: str, up: str = "../") -> str:
    """Return the directive that shows a picture, by default on a page of a folder."""
    lines = [
        f"```{{image}} {up}_build/pictures/{name}.svg",
        ":class: picture",
        f":alt: {alt}",
        "```",
    ]
    return "\n".join(lines)


def facts(row: Measure[Any]) -> dict[str, str]:
    """Return what the registry says of a measure, in words."""
    return {
        "Function": f"{{py:func}}`fastad.measures.{row.name}`",
        "Key": _label(row),
        "Returns": _KINDS[row.kind],
        "Operating point": _operating(row),
        "Range": _range(row),
        "Undefined without": _CLASSES[row.classes],
        "Sample weights": _weights(row),
        "Reads": _reads(row),
        "Better is": _BETTER[row.higher_is_better],
    }


def measure_table() -> str:
    """Return the table of all measures, and their order in the contents."""
    head = ["Function", "What it is", "Key", "Range", "Better is"]
    lines = [
        [
            f"[`{row.name}`]({row.name}.md)",
            row.title,
            _label(row),
            _range(row),
            _BETTER[row.higher_is_better],
        ]
        for row in MEASURES.values()
    ]
    contents = "\n".join(["```{toctree}", ":hidden:", "", *MEASURES, "```"])
    return "\n\n".join(
        ["## Gallery", _ABOUT_PICTURES, *_gallery(), "## Table", _table(head, lines), contents]
    )


def _gallery() -> list[str]:
    """Return titles of groups, and below each the pictures of its measures."""
    groups: list[list[str]] = []
    for row in MEASURES.values():
        if row.name in _GROUPS:
            groups.append([f"### {_GROUPS[row.name]}\n", "````{container} gallery\n"])
        groups[-1].append(
            f"[![{row.name}: {row.title}](../_build/pictures/{row.name}.svg)]({row.name}.md)\n"
            f"[`{row.name}`]({row.name}.md): {row.title}\n"
        )
    return ["\n".join([*group, "````"]) for group in groups]


def short_names() -> str:
    """Return the names that `fastad` itself offers, by package."""
    names = [name for name in fastad.__all__ if name in HOMES]
    lines = [
        [
            f"[`{home}`]({home.removeprefix('fastad.')}.md)",
            ", ".join(f"{{py:obj}}`~fastad.{name}`" for name in names if HOMES[name] == home),
        ]
        for home in dict.fromkeys(HOMES[name] for name in names)
    ]
    return _table(["package", "names"], lines)


def package_reference(package: str) -> str:
    """Return the directives that describe a package: functions first, then classes."""
    module = importlib.import_module(f"fastad.{package}")
    described = MEASURES if package == "measures" else ()
    public = {name: getattr(module, name) for name in module.__all__ if name not in described}
    functions, classes = [], []
    for name, member in public.items():
        path = f"{module.__name__}.{name}"
        if not inspect.isclass(member):
            functions.append(f"autofunction:: {path}")
        elif issubclass(member, BaseException):
            classes.append(f"autoexception:: {path}")
        else:
            classes.append(f"autoclass:: {path}")
    # Of these their own documentation tells.
    others = "Mapping, BaseException, ImportError, BaseEstimator, _MetadataRequester, float, object"
    options = f":members:\n   :inherited-members: {others}"
    sections = [_directives("## Functions", functions), _directives("## Classes", classes, options)]
    head = _directives("", [f"automodule:: {module.__name__}"])
    return "\n\n".join([head, *(section for section in sections if section)])


def _directives(title: str, directives: list[str], options: str = "") -> str:
    if not directives:
        return ""
    blocks = [f".. {one}" + (f"\n   {options}" if options else "") for one in directives]
    return f"{title}\n\n```{{eval-rst}}\n" + "\n\n".join(blocks) + "\n```\n"


GENERATED = {"measures/index": measure_table, "reference/fastad": short_names}


def _label(row: Measure[Any]) -> str:
    if row.kind != "value":
        return "none"
    if row.operating_point is None:
        return f"`{row.key}`"
    example = f"`{row.key_at(row.point_parameter.example)}`"
    if not row.default_points:
        return example
    label = f"`{row.key_at(row.default_points[0])}`"
    return f"{label}, {example}" if isinstance(row.point_parameter, Integer) else label


def _operating(row: Measure[Any]) -> str:
    if row.operating_point is None:
        return "none"
    if row.kind != "value":
        return f"`{row.operating_point}`"
    if row.default_points is None:
        return f"`{row.operating_point}`; in tables each value of `fpr=`"
    if not row.default_points:
        return f"`{row.operating_point}`; in tables the key must name it"
    shown = ", ".join("its default" if x is None else f"{float(x):g}" for x in row.default_points)
    return f"`{row.operating_point}`; in tables {shown} unless the key names another"


def _range(row: Measure[Any]) -> str:
    if row.kind == "counts":
        return _KINDS[row.kind]
    low, high = (f"{end:g}".replace("inf", "∞") for end in row.value_range)
    return f"{'(' if '∞' in low else '['}{low}, {high}{')' if '∞' in high else ']'}"


def _reads(row: Measure[Any]) -> str:
    if not row.reads_values:
        return "the order of the scores"
    limits = "lie in `score_range`" if row.takes_score_range else "be finite"
    return f"the values of the scores, which must {limits}"


def _weights(row: Measure[Any]) -> str:
    if "sample_weight" in inspect.signature(getattr(fastad.measures, row.name)).parameters:
        return _WEIGHTS[row.weights]
    return "not taken by the function; the method counts those of `rank_scores`"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
