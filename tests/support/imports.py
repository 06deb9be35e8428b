"""The layers of the package, what its modules import, and a picture of both.

``python -m tests.support.imports`` writes the picture after an import between packages has changed.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

import fastad

ROOT = Path(str(fastad.__file__)).parent
# From the ground; packages of one layer do not import each other.
LAYERS = (
    ("errors",),
    ("_core",),
    ("_kernels", "_tables"),
    ("ordering", "detectors"),
    ("measures",),
    ("uncertainty", "compat"),
    ("evaluation", "explain", "regions", "benchmarking", "labeling", "release"),
    ("unsupervised", "sklearn", "streaming"),
    ("plot", "dask"),
    ("study",),
    ("study.papers",),
    ("cli",),
)
HEIGHT = {package: i for i, layer in enumerate(LAYERS) for package in layer}
# What names a module of a layer above in a string and loads it when it is needed: the list of
# extensions of a study, by which it knows of the papers' package.
REGISTERED = {("fastad.study.extensions", "fastad.study.papers.extension")}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


def package_of(module: str) -> str:
    inner = module.removeprefix("fastad.")
    return "study.papers" if inner.startswith("study.papers") else inner.partition(".")[0]


def imports(tree: ast.AST) -> Iterator[str]:
    """All modules of fastad that a module imports, inside its functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastad"):
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield full if full in MODULES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("fastad"))


def named(tree: ast.AST) -> Iterator[str]:
    """All modules of fastad that a module names in strings, by themselves or before a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.replace(":", ".")
            while re.fullmatch(r"fastad(\.\w+)+", name):
                if name in MODULES:
                    yield name
                    break
                name = name.rpartition(".")[0]


@cache
def trees() -> dict[str, ast.AST]:
    """Parse all modules; not on import, which every process of a test run does."""
    return {module: ast.parse(path.read_text("utf-8")) for module, path in MODULES.items()}


@cache
def arrows() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {module: set(imports(tree)) - {module} for module, tree in trees().items()}


def strings() -> dict[str, set[str]]:
    """Return what each module names in strings."""
    return {module: set(named(tree)) - {module} for module, tree in trees().items()}


# What the lists of public names load lazily is no import of the package itself.
LAZY = {module for module, path in MODULES.items() if path.name == "__init__.py"}

PICTURE = ROOT.parent / "docs" / "contributing" / "packages.svg"
WIDTH, ROW, BOX = 760, 70, (180, 36)
# What a package is for, in a few words.
PURPOSE = {
    "errors": "exceptions, warnings",
    "_core": "threads, cache, checks, tables",
    "_kernels": "compiled code",
    "_tables": "tables in files",
    "ordering": "scores to ordered counts",
    "detectors": "compiled scorers",
    "measures": "measures with labels",
    "uncertainty": "intervals, comparisons",
    "compat": "functions of other libraries",
    "evaluation": "tables of measures",
    "explain": "numbers of other libraries",
    "regions": "volumes",
    "release": "the release gate",
    "benchmarking": "many detectors, many data",
    "labeling": "which rows to label",
    "unsupervised": "measures without labels",
    "streaming": "sketches with certain bounds",
    "dask": "the same on a cluster",
    "sklearn": "scorers, adapters",
    "plot": "displays",
    "study": "studies",
    "study.papers": "the papers' protocols",
    "cli": "the command line",
}


def package_arrows() -> dict[str, set[str]]:
    """Return the packages that each package imports, without those reached through others."""
    direct: dict[str, set[str]] = {package: set() for package in HEIGHT}
    for module, imported in arrows().items():
        package = package_of(module)
        if package in direct:
            packages = {package_of(x) for x in imported if x != "fastad"}
            direct[package] |= {x for x in packages if HEIGHT[x] < HEIGHT[package]}
    reached: dict[str, set[str]] = {}
    for package in HEIGHT:  # from the ground
        reached[package] = direct[package].union(*(reached[x] for x in direct[package]))
    return {
        package: {x for x in below if not any(x in reached[y] for y in below)}
        for package, below in direct.items()
    }


def draw() -> str:
    """Return the picture: a row for each layer, an arrow for each import between packages."""
    centre = {
        package: (WIDTH * (i + 1) / (len(layer) + 1), ROW * (len(LAYERS) - row) - ROW / 2)
        for row, layer in enumerate(LAYERS)
        for i, package in enumerate(layer)
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {ROW * len(LAYERS)}" '
        'font-family="sans-serif" font-size="13" text-anchor="middle">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#778"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for package, below in package_arrows().items():
        x, y = centre[package]
        for other in sorted(below):
            u, v = centre[other]
            lines.append(
                f'<path d="M{x:g} {y + BOX[1] / 2:g} L{u:g} {v - BOX[1] / 2:g}" stroke="#778" '
                'fill="none" marker-end="url(#tip)"/>'
            )
    for package, (x, y) in centre.items():
        left, top = x - BOX[0] / 2, y - BOX[1] / 2
        lines += [
            f'<rect x="{left:g}" y="{top:g}" width="{BOX[0]}" height="{BOX[1]}" rx="5" '
            'fill="#eef3fb" stroke="#456"/>',
            f'<text x="{x:g}" y="{y - 2:g}" fill="#123">{escape(package)}</text>',
            f'<text x="{x:g}" y="{y + 12:g}" fill="#456" font-size="10">'
            f"{escape(PURPOSE[package])}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
