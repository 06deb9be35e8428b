"""What is said where a library of an extra is not installed: what can be typed, and works."""

import ast
import re
from collections.abc import Iterator
from importlib.metadata import requires

from fastad._core.extras import missing_extra
from tests.support.loops import loop
from tests.support.project import PROJECT, ROOT

SOURCES = sorted((ROOT / "fastad").rglob("*.py"))
TEXTS = [
    *SOURCES,
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
]


def calls() -> Iterator[tuple[str, list[str], str]]:
    """Yield the place, the libraries and the extra of each call in fastad."""
    for path in SOURCES:
        text = path.read_text("utf-8")
        if "_extra(" not in text or path.name == "extras.py":  # all take a second to parse
            continue
        for node in ast.walk(ast.parse(text)):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in ("missing_extra", "import_extra"):
                named = node.args[1:] if name == "missing_extra" else node.args[:1]
                libraries = [
                    str(x.value).partition(".")[0].replace("sklearn", "scikit-learn")
                    for x in named
                    if isinstance(x, ast.Constant)
                ]
                (extra,) = (x.value for x in node.keywords if x.arg == "extra")
                assert isinstance(extra, ast.Constant)
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield place, libraries, str(extra.value)


def libraries_of(extra: str) -> set[str]:
    """Return the libraries that an extra installs, and what scikit-learn brings with it."""
    libraries = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        name, *others = re.findall(r"[\w-]+", requirement.partition("]")[0])
        if name == PROJECT["name"]:
            libraries |= {library for other in others for library in libraries_of(other)}
        else:
            libraries.add(name)
    if "scikit-learn" in libraries:
        libraries |= {re.split(r"[^\w-]", x)[0] for x in requires("scikit-learn") or ()}
    return libraries


CALLS = list(calls())


def test_the_message_installs_by_names_that_exist() -> None:
    message = str(missing_extra("the demo", "scikit-learn", "matplotlib", extra="demo"))
    assert message == (
        "the demo needs scikit-learn and matplotlib: pip install scikit-learn matplotlib, "
        "or in a clone of fastad pip install '.[demo]'"
    )


@loop(("place", "libraries", "extra"), CALLS)
def test_the_extra_that_is_named_has_the_library(
    place: str, libraries: list[str], extra: str
) -> None:
    assert set(libraries) <= libraries_of(extra), place


def test_every_missing_library_is_reported_by_the_one_function() -> None:
    assert len(CALLS) > 15
    with_hint = [path for path in SOURCES if "pip install" in path.read_text("utf-8")]
    assert [path.name for path in with_hint] == ["extras.py"]


def test_nothing_is_installed_under_a_name_that_is_not_published() -> None:
    """``pip install .`` installs fastad; in an index that name is nobody's, or another's."""
    hint = re.compile(r"pip install (-\S+ )*['\"]?fastad\b")
    assert hint.search("pip install -q 'fastad[cli]'")
    assert [path for path in TEXTS if hint.search(path.read_text("utf-8"))] == []
