"""Packages lie in layers: nothing imports upwards, and no modules import each other in circles."""

import ast
import re

import pytest

from tests.support.imports import (
    HEIGHT,
    LAZY,
    MODULES,
    PICTURE,
    REGISTERED,
    arrows,
    draw,
    package_of,
    strings,
)

# All sources are read.
pytestmark = pytest.mark.slow

HEAD_OF_MODULE = re.compile(r"^# .*\bimport", re.MULTILINE)
INNER_IMPORT = re.compile(r"^ +(from|import) .*\bfastad\b", re.MULTILINE)
SOME_WORDS = re.compile(r"# *(?!noqa|type:)\w+(\W+\w+){2}")


def test_every_package_has_its_layer() -> None:
    assert {package_of(module) for module in MODULES} - set(HEIGHT) == {"fastad", "__main__"}


def upwards(result: dict[str, set[str]]) -> set[tuple[str, str]]:
    return {
        (module, imported)
        for module in set(MODULES) - {"fastad", "fastad.__main__"}
        for imported in result[module] - {"fastad"}
        if package_of(module) != package_of(imported)
        and HEIGHT[package_of(imported)] >= HEIGHT[package_of(module)]
    }


def test_nothing_imports_upwards() -> None:
    assert upwards(arrows()) == set()


def test_only_what_is_registered_names_a_module_above() -> None:
    """A string that is loaded later is an import, too."""
    assert upwards(strings()) == REGISTERED


def test_only_the_command_line_imports_fastad_itself() -> None:
    users = {package_of(module) for module, imported in arrows().items() if "fastad" in imported}
    assert users <= {"cli"}


def test_no_modules_import_in_circles() -> None:
    left = {module: below - LAZY for module, below in arrows().items() if module not in LAZY}
    while free := {module for module, imported in left.items() if not imported & set(left)}:
        left = {module: imported for module, imported in left.items() if module not in free}
    assert sorted(left) == []


def silent_imports(source: str) -> list[int]:
    """Return the lines of imports of fastad in functions without a comment that says why.

    It stands on the import or above the imports that it is among, and has three words at least.
    Where all functions of a module import for one reason, its head may say so.
    """
    lines = source.splitlines()
    # Most modules need not be parsed.
    if HEAD_OF_MODULE.search(source) or not INNER_IMPORT.search(source):
        return []
    silent = set()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            if not any(name.partition(".")[0] == "fastad" for name in names):
                continue
            first = node.lineno - 1
            while re.match(r" *(from|import) ", lines[first - 1]):
                first -= 1
            above = lines[first - 1] if lines[first - 1].lstrip().startswith("#") else ""
            if not SOME_WORDS.search("\n".join([above, *lines[first : node.end_lineno]])):
                silent.add(node.lineno)
    return sorted(silent)


def test_imports_inside_functions_say_why() -> None:
    silent = {
        module: silent_imports(path.read_text(encoding="utf-8")) for module, path in MODULES.items()
    }
    assert {module: lines for module, lines in silent.items() if lines} == {}


def test_a_comment_elsewhere_does_not_say_why() -> None:
    silent = "def f():\n    x = 1  # some other comment here\n    import fastad.plot  # noqa: X\n"
    assert silent_imports(silent) == [3]
    assert silent_imports(silent.replace("noqa: X", "only a report needs it")) == []
    assert (
        silent_imports(silent.replace("    import", "    # Only reports need it.\n    import"))
        == []
    )


def test_the_picture_of_the_packages_is_true() -> None:
    """`python -m tests.support.imports` draws it after an import has changed."""
    assert PICTURE.read_text(encoding="utf-8") == draw()
