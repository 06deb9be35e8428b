"""The names that fastad offers, and what each says of itself."""

import ast
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
import itertools
import pkgutil
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fastad
from fastad.errors import InvalidTypeError
from fastad.measures.registry import MEASURES
from tests.support.loops import loop
from tests.support.method_stubs import BOUNDED_STUBS, STUBS, make_bounded_stubs, make_stubs, stub
from tests.support.processes import run

PACKAGES = {
    name: importlib.import_module(f"fastad.{name}")
    for name in fastad.__all__
    if isinstance(getattr(fastad, name), ModuleType)
}
FRONT = [name for name in fastad.__all__ if name not in PACKAGES]
# Functions that are called the same for scores that lie elsewhere: in files, on a cluster.
SAME_NAMES = {("streaming", "evaluate"), *(("dask", name) for name in fastad.dask.__all__)}
# Every public name with its object. Displays, scorers and studies have tests of their own.
HOMES = {
    name: package
    for home, package in PACKAGES.items()
    if home not in ("plot", "sklearn", "study")
    for name in package.__all__
    if (home, name) not in SAME_NAMES
}
PUBLIC = {name: getattr(package, name) for name, package in HOMES.items()}
FUNCTIONS = sorted(name for name, value in PUBLIC.items() if inspect.isfunction(value))
METHODS = sorted(
    name
    for name, _ in inspect.getmembers(fastad.evaluation.RankedScores, inspect.isfunction)
    if name[0] != "_"
)
DATA = (
    *("y_true", "y_score", "contamination", "clusters", "blocks"),
    *("sample_weight", "pos_label"),
)
# Parameters that are data, and so positional; and some that are options of other functions.
ALWAYS_DATA = {
    *("X", "a", "b", "curve", "design", "detector", "detectors", "folds", "function", "model"),
    *("n_events", "n_samples", "name", "new", "old", "policy", "results", "sample_a", "sample_b"),
    *("scores", "scores_a", "scores_b", "sql", "uniform_score", "volume", "volume_fraction"),
    *("y_score", "y_true"),
}
FROM_LEVEL_SETS = ("emmv", "excess_mass_curve", "mass_volume_curve")
DATA_OR_OPTION = {"box", "criterion", "labeled", "path", "references", "threshold"}
SECTIONS = ("Parameters", "Returns", "Raises", "Examples")


def submodules() -> list[str]:
    result = pkgutil.walk_packages(fastad.__path__, "fastad.")
    return [module.name for module in result if module.name != "fastad.__main__"]


def sections(docstring: str) -> list[str]:
    """Return the headings that are underlined as numpydoc has it."""
    lines = inspect.cleandoc(docstring).splitlines()
    return [head for head, line in itertools.pairwise(lines) if head and line == "-" * len(head)]


# Names.


@loop("package", [fastad, *PACKAGES.values()])
def test_all_names_are_public_sorted_and_what_dir_shows(package: ModuleType) -> None:
    assert list(package.__all__) == sorted(set(package.__all__))
    assert not [name for name in package.__all__ if name.startswith("_")]
    assert set(package.__all__) <= set(dir(package))
    assert [name for name in dir(package) if not hasattr(package, name)] == []


def test_the_top_package_has_the_names_that_most_users_need() -> None:
    assert 30 <= len(FRONT) <= 40
    assert set(FRONT) <= set(HOMES)
    assert all(getattr(fastad, name) is PUBLIC[name] for name in FRONT)


def test_every_public_name_has_one_home() -> None:
    names = [
        name
        for home, package in PACKAGES.items()
        for name in package.__all__
        if (home, name) not in SAME_NAMES
    ]
    assert sorted(names) == sorted(set(names))


@pytest.mark.system
def test_every_name_is_the_same_object_before_and_after_all_submodules_are_loaded() -> None:
    """With lazy loading, a module of the name of a function would replace it."""
    code = f"""
import importlib, sys, types, fastad
packages = [fastad] + [importlib.import_module("fastad." + name) for name in {[*PACKAGES]!r}]
first = {{(package.__name__, name): getattr(package, name)
          for package in packages for name in package.__all__}}
for module in {submodules()!r}:
    importlib.import_module(module)
for package in packages:
    for name in package.__all__:
        assert getattr(package, name) is first[package.__name__, name], name
        assert package is fastad or not isinstance(getattr(package, name), types.ModuleType), name
# Once more, with names first asked for when all submodules are there.
for module in [name for name in sys.modules if name.partition(".")[0] == "fastad"]:
    del sys.modules[module]
import fastad
for module in {submodules()!r}:
    importlib.import_module(module)
for home in {[*PACKAGES]!r}:
    package = getattr(fastad, home)
    for name in package.__all__:
        assert not isinstance(getattr(package, name), types.ModuleType), name
"""
    run(code)


@loop("name", HOMES)
def test_every_name_says_where_it_lives_truly(name: str) -> None:
    value = PUBLIC[name]
    if isinstance(value, type) or inspect.isfunction(value):
        assert value.__name__ == name
        assert getattr(importlib.import_module(value.__module__), name) is value
        assert value.__module__.startswith(HOMES[name].__name__)


@loop("package", [fastad, *PACKAGES.values()])
def test_type_checkers_see_the_same_names(package: ModuleType) -> None:
    """The imports under TYPE_CHECKING, which no program runs, are where names are loaded from."""
    source = Path(str(package.__file__)).read_text(encoding="utf-8")
    if package is fastad.errors:
        return
    block = source.split("if TYPE_CHECKING:\n")[1].split("\n\n")[0]
    seen: dict[str, Any] = {}
    exec(inspect.cleandoc(block), seen)
    del seen["__builtins__"]
    lazy = set(package.__all__)
    # Scorers of single measures are made, not imported.
    made = {f"{name}_scorer" for name, row in MEASURES.items() if row.kind == "value"}
    assert seen.keys() == (lazy - made if package is fastad.sklearn else lazy)
    assert all(seen[name] is getattr(package, name) for name in seen)


def test_names_are_there_without_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read from a package's code, of which a frozen program has nothing else."""
    source = Path(str(fastad.measures.__file__))
    py_compile.compile(str(source), cfile=str(tmp_path / "named.pyc"), doraise=True)
    loader = importlib.machinery.SourcelessFileLoader("named", str(tmp_path / "named.pyc"))
    spec = importlib.util.spec_from_loader("named", loader)
    assert spec is not None
    package = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "named", package)
    loader.exec_module(package)
    assert package.__all__ == fastad.measures.__all__
    assert package.roc_auc is fastad.roc_auc
    loader.exec_module(package)  # again, with a name that is there
    assert package.__all__ == fastad.measures.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    for package in (fastad, fastad.measures):
        with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute"):
            package.no_such  # noqa: B018
        assert not hasattr(package, "__wrapped__")


@pytest.mark.parametrize("name", ["roc_auc_score", "rocauc", "average_precision_score", "evalute"])
def test_an_unknown_name_suggests_what_is_meant(name: str) -> None:
    meant = {"roc_auc_score": "roc_auc", "rocauc": "roc_auc", "evalute": "evaluate"}
    suggested = meant.get(name, "average_precision")
    with pytest.raises(
        AttributeError, match=f"no attribute '{name}'; did you mean .*'{suggested}'"
    ):
        getattr(fastad, name)
    assert not hasattr(fastad, "__wrapped__")
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        _ = fastad.qqqq


def test_a_star_import_gives_all_names() -> None:
    space: dict[str, Any] = {}
    exec("from fastad import *", space)
    assert set(fastad.__all__) <= set(space)


# What an import loads.

HEAVY = ("numba", "numpy", "scipy", "sklearn", "matplotlib", "pandas", "polars", "pyarrow")


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run("import sys, fastad; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)
    inner = {name for name in loaded if name.startswith("fastad.")}
    assert inner == {"fastad._core", "fastad._core.lazy", "fastad._core.version"}


@pytest.mark.slow
def test_measuring_loads_no_learning_plotting_or_frame_library() -> None:
    code = "import sys, fastad; fastad.evaluate([0, 1], [1, 2]).to_json(); print(*sys.modules)"
    loaded = run(code).split()
    assert "numba" in loaded
    assert not {"sklearn", "matplotlib", "pandas", "polars", "pyarrow", "typer", "rich"} & set(
        loaded
    )


@pytest.mark.slow
def test_kernels_that_were_compiled_before_need_no_compiler() -> None:
    """Numba's implementations of functions take half of the time of a first call."""
    code = "import sys, fastad; fastad.roc_auc([0, 1], [1.0, 2.0]); print(*sys.modules)"
    run(code)
    assert not {"numba.np.arraymath", "scipy.linalg"} & set(run(code).split())


@pytest.mark.slow
def test_dask_is_reachable_and_its_functions_name_the_extra_that_is_missing() -> None:
    code = """
import sys, fastad
assert "fastad.dask" not in sys.modules and "fastad.explain" not in sys.modules
sys.modules["dask"] = None
assert fastad.explain.explain and fastad.dask.__all__
try:
    fastad.dask.evaluate({})
except fastad.errors.MissingExtraError as error:
    print(error)
"""
    assert "fastad.dask needs dask: pip install dask, or in a clone" in run(code)


def test_errors_load_neither_numpy_nor_numba() -> None:
    code = "import sys, fastad; fastad.InvalidInputError; print(*sys.modules)"
    assert not set(HEAVY) & set(run(code).split())


# Docstrings.


@loop("name", FUNCTIONS)
def test_every_function_has_the_sections_of_numpydoc_and_an_example(name: str) -> None:
    function = PUBLIC[name]
    result = sections(str(function.__doc__))
    found = [x for x in result if x in SECTIONS]
    # What only refuses wrong arguments, as all do, has no errors to describe.
    assert found == [x for x in SECTIONS if x != "Raises" or x in found], (
        f"the docstring of {name} must have the sections {', '.join(SECTIONS)}; found {result}"
    )
    example = str(function.__doc__).split("Examples")[1]
    assert f"{name}(" in example, f"the example of {name} must call it"
    assert f"fastad.{name}(" in example if name in FRONT else "fastad." in example


@loop("name", FUNCTIONS)
def test_every_parameter_is_documented_in_its_order(name: str) -> None:
    function: Callable[..., Any] = PUBLIC[name]
    _, heading, text = inspect.cleandoc(str(function.__doc__)).partition("Parameters\n----------\n")
    assert heading, f"the docstring of {name} must have a section Parameters"
    lines = text.split("\n\n")[0].splitlines()
    heads = [line.split(" : ")[0] for line in lines if line[:1].strip()]
    documented = [name.lstrip("*") for head in heads for name in head.split(", ")]
    assert documented == list(inspect.signature(function).parameters)


@loop("name", FUNCTIONS)
def test_data_are_positional_and_options_keyword_only(name: str) -> None:
    for parameter in inspect.signature(PUBLIC[name]).parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert parameter.name in ALWAYS_DATA | DATA_OR_OPTION
            # A volume may be given as its logarithm; level sets are all that a curve needs.
            # A reference takes the place of a box.
            is_optional = parameter.name == "volume" or (name, parameter.name) in {
                ("volume", "box"),
                *((curve, "uniform_score") for curve in FROM_LEVEL_SETS),
            }
            assert parameter.default is (None if is_optional else parameter.empty)
        else:
            assert parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
            assert parameter.name not in ALWAYS_DATA


def test_help_names_what_becomes_an_array() -> None:
    # Not NumPy's union, which takes ten lines.
    for package in PACKAGES.values():
        for name in package.__all__:
            value = getattr(package, name)
            members = (
                inspect.getmembers(value, inspect.isfunction) if inspect.isclass(value) else []
            )
            for member, function in [("", value), *members] if callable(value) else members:
                if (
                    getattr(function, "__module__", "").startswith("fastad")
                    and member != "__init__"
                ):
                    try:
                        shown = str(inspect.signature(function))
                    except ValueError:  # an exception of C
                        continue
                    assert "_SupportsArray" not in shown, f"{name}.{member}{shown}"
    assert "y_true: numpy.typing.ArrayLike," in str(inspect.signature(fastad.roc_auc))


@loop("name", [x for x in HOMES if x not in FUNCTIONS])
def test_every_class_says_what_it_is(name: str) -> None:
    assert str(PUBLIC[name].__doc__).strip()


# Registry and methods.


def test_the_registry_holds_every_measure_under_its_own_name() -> None:
    assert all(row.name == name for name, row in MEASURES.items())
    assert set(MEASURES) <= set(FUNCTIONS)
    assert set(MEASURES) <= set(METHODS)


def test_every_function_of_labels_and_scores_is_in_the_registry() -> None:
    """Beside those about any measure, bands, and one whose scores are all of one class."""
    single = {name for name in FUNCTIONS if "y_score" in inspect.signature(PUBLIC[name]).parameters}
    others = {
        *("evaluate", "explain", "rank_scores", "interval", "chance_level", "best_f1_optimism"),
        *("compare_all", "delong_covariance", "contamination_sensitivity", "score_rank_intervals"),
        *("cross_validated_interval", "tail_model", "best_threshold", "at_least"),
        *("roc_band", "precision_recall_band", "threshold_with_guarantee", "volume_at_fpr"),
        *("mass_volume_curve", "excess_mass_curve", "mass_volume_from_roc", "emmv"),
    }
    assert single - others == set(MEASURES)


def test_keys_of_the_registry_differ() -> None:
    keys = [row.key for row in MEASURES.values()]
    assert len(set(keys)) == len(keys)


def test_the_method_of_intervals_is_its_function_without_the_data() -> None:
    function = inspect.signature(fastad.interval)
    method = inspect.signature(fastad.evaluation.RankedScores.interval)
    options = [(x.name, x.default) for x in function.parameters.values() if x.name not in DATA]
    taken = [(x.name, x.default) for x in method.parameters.values()]
    assert taken[1:] == options


def test_type_checkers_see_the_signatures_of_the_methods() -> None:
    """`python -m tests.support.method_stubs` writes the file after a measure has changed."""
    assert STUBS.read_text(encoding="utf-8") == make_stubs()
    assert BOUNDED_STUBS.read_text(encoding="utf-8") == make_bounded_stubs()


def test_stubs_say_which_types_are_missing() -> None:
    (function,) = ast.parse("def rate(y_true, y_score: ArrayLike, *, fpr): ...").body
    assert isinstance(function, ast.FunctionDef)
    with pytest.raises(
        TypeError, match=r"rate must annotate .* no type of y_true, fpr, the result"
    ):
        stub(function)


# Package.


def test_the_type_marker_is_there() -> None:
    assert (Path(str(fastad.__file__)).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_package() -> None:
    assert fastad.__version__ == importlib.metadata.version("fastad")


def test_errors_are_those_of_python_too() -> None:
    assert issubclass(fastad.InvalidInputError, ValueError)
    assert issubclass(fastad.UndefinedMeasureError, ValueError)
    assert not issubclass(fastad.UndefinedMeasureError, fastad.InvalidInputError)
    assert issubclass(fastad.errors.MissingExtraError, ImportError)
    assert issubclass(fastad.errors.ForkedStateError, RuntimeError)
    assert issubclass(fastad.errors.CompilationCacheWarning, UserWarning)


def test_the_command_is_installed_and_runs_as_a_module() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="fastad")
    module: ModuleType = importlib.import_module(script.module)
    assert getattr(module, script.attr) is importlib.import_module("fastad.cli").main
    code = "import runpy, sys; sys.argv = ['fastad', '--version']; runpy.run_module('fastad')"
    run(code)


# Arguments of other libraries, by their names here.
MEANT = {"random_state": "rng", "n_jobs": "n_threads", "n_bootstraps": "n_resamples"}
HINTED = [
    (function, other, argument)
    for function in FUNCTIONS
    for other, argument in MEANT.items()
    if argument in (of := inspect.signature(PUBLIC[function]).parameters)
    and other not in of
    and all(parameter.kind is not parameter.VAR_KEYWORD for parameter in of.values())
]


@pytest.mark.parametrize(("function", "other", "argument"), HINTED)
def test_arguments_of_other_libraries_get_a_hint(function: str, other: str, argument: str) -> None:
    message = f"^{other} must be an argument of {function}; did you mean '{argument}'"
    with pytest.raises(InvalidTypeError, match=message) as refused:
        PUBLIC[function](**{other: 0})
    assert refused.value.argument == other


def test_unknown_argument_like_none_lists_all() -> None:
    with pytest.raises(InvalidTypeError, match=r"of evaluate, which has y_true, y_score, groups"):
        fastad.evaluate([0, 1], [0.0, 1.0], unknown_option=1)  # type: ignore[call-overload]
