"""Packages lie in layers: nothing imports upwards, and no modules import each other in circles."""

import ast

from tests.support.imports import ARROWS, HEIGHT, LAZY, MODULES, PICTURE, draw, package_of


def test_every_package_has_its_layer() -> None:
    assert {package_of(module) for module in MODULES} - set(HEIGHT) == {"fastad", "__main__"}


def test_nothing_imports_upwards() -> None:
    upwards = [
        f"{module} -> {imported}"
        for module in sorted(set(MODULES) - {"fastad", "fastad.__main__"})
        for imported in sorted(ARROWS[module] - {"fastad"})
        if package_of(module) != package_of(imported)
        and HEIGHT[package_of(imported)] >= HEIGHT[package_of(module)]
    ]
    assert upwards == []


def test_only_the_command_line_imports_fastad_itself() -> None:
    users = {package_of(module) for module, imported in ARROWS.items() if "fastad" in imported}
    assert users <= {"cli"}


def test_no_modules_import_in_circles() -> None:
    left = {module: ARROWS[module] - LAZY for module in MODULES if module not in LAZY}
    while free := {module for module, imported in left.items() if not imported & set(left)}:
        left = {module: imported for module, imported in left.items() if module not in free}
    assert sorted(left) == []


def test_imports_inside_functions_say_why() -> None:
    """They keep start-up short; the function says so, or the head of its module."""
    silent = []
    for module, path in MODULES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        head = "\n".join(lines).partition("import ")[0]
        for node in ast.walk(ast.parse("\n".join(lines))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            inner = [
                child
                for child in ast.walk(node)
                if isinstance(child, ast.ImportFrom) and (child.module or "").startswith("fastad")
            ]
            if inner and "#" not in body + head and package_of(module) != "cli":
                silent.append(f"{module}.{node.name}")
    assert silent == []


def test_the_picture_of_the_packages_is_true() -> None:
    """`python -m tests.support.imports` draws it after an import has changed."""
    assert PICTURE.read_text(encoding="utf-8") == draw()
