"""A study that grows, shrinks and changes in its folder: results are those of a new one."""

import dataclasses
import functools
import importlib
import linecache
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
import pytest

from fastad.errors import InvalidInputError
from fastad.study import runner
from fastad.study.config import StudyConfig, read_config
from fastad.study.configurations import read_detectors
from fastad.study.digests import check_code, library_versions, own_code
from fastad.study.fitting import fit_batch, scores_of_rows
from fastad.study.papers.goix_plan import GoixBatch
from fastad.study.results import KEYS, StudyTables, read_study
from fastad.study.runner import Progress, run_study
from fastad.study.split import Protocol
from fastad.study.tasks import TaskBatch
from tests.support import small_studies, study_runs
from tests.support.small_studies import TOML, few, save_data, toy_data, write_config
from tests.support.study_runs import GOOD

Key = tuple[Any, ...]

KNN: dict[str, Any] = {"kind": "knn", "k": [1, 5]}
LOF: dict[str, Any] = {"kind": "lof", "n_neighbors": 5}
MACHINES: dict[str, Any] = {"kind": "ocsvm", "gamma": [0.1, 1.0]}
GOIX = {"settings": ["novelty"], "max_direct": 3, "n_uniform": 200, "n_resamples": 10}
# What a study is changed to, one after the other; each shares something with the one before.
BASE: dict[str, Any] = {"detectors": [KNN, MACHINES, GOOD]}
VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "title": {"title": "corrected"},
    "detector added": {"detectors": [KNN, LOF, MACHINES, GOOD]},
    "order": {"detectors": [GOOD, MACHINES, LOF, KNN]},
    "detector dropped": {"detectors": [KNN, GOOD]},
    "configuration added": {"detectors": [{"kind": "knn", "k": [5, 3, 1]}, GOOD]},
    "configuration dropped": {"detectors": [{"kind": "knn", "k": 5}, GOOD]},
    "repeats added": {"protocol": {"repeats": 3, "contaminations": [0]}},
    "repeats dropped": {"protocol": {"repeats": 2, "contaminations": [0]}},
    "contamination added": {"protocol": {"repeats": 1, "contaminations": [0, 0.05]}},
    "contamination in front": {"protocol": {"repeats": 1, "contaminations": [0.05, 0]}},
    "classes dropped": {"data": {"paths": ["toy"], "include": ["*/plain"]}},
    "fewer classes": {"data": {"paths": ["toy"], "min_anomalies": 6}},
    "table added": {"goix": GOIX},
    "table changed": {"goix": {**GOIX, "n_uniform": 201}},
    "table dropped": {},
}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were run, in their order."""
    result: list[str] = []
    for kind in (TaskBatch, GoixBatch):

        def run(self: Any, run: Callable[[Any], Any] = kind.run) -> Any:
            result.extend(self.tasks)
            return run(self)

        monkeypatch.setattr(kind, "run", run)
    monkeypatch.setattr(runner, "try_detectors", lambda *arguments: None)
    return result


def results(folder: Path) -> dict[str, bytes]:
    """The files of results; of the times, which differ, that they are there."""
    files = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    return {**files, "times.parquet": b"" if "times.parquet" in files else b"missing"}


def keys(study: StudyTables) -> list[Key]:
    """What each task is: its columns, and whether it has curves; goix's by data and setting."""
    with_curves = {tuple(row[key] for key in KEYS) for row in study.curves.to_pylist()}
    tasks = [tuple(row[key] for key in KEYS) for row in study.tasks.to_pylist()]
    extra = study.extra["goix"].to_pylist() if "goix" in study.extra else []
    points = [str(study.manifest["config"]["goix"]["protocol"])] if extra else []
    cells = dict.fromkeys((row["dataset"], row["setting"], *points) for row in extra)
    return [(*key, key in with_curves) for key in tasks] + list(cells)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Run a variant in a folder of its own."""
    folders: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("fresh")
            run_study(few(folders[name], **(BASE | VARIANTS[name])), folders[name] / "out")
        return folders[name] / "out"

    return run


@pytest.mark.evidence
@pytest.mark.parametrize("order", ["as written", "at random"])
@pytest.mark.filterwarnings("ignore:goix.protocol")
def test_what_is_common_is_kept_and_the_rest_leaves(
    tmp_path: Path, ran: list[str], fresh: Callable[[str], Path], order: str
) -> None:
    names = list(VARIANTS)
    if order != "as written":
        names = np.random.default_rng(3).permutation(names).tolist()
    known: set[Key] = set()
    for name in names:
        expected = read_study(fresh(name))
        ran.clear()
        seen: list[Progress] = []
        config = few(tmp_path, **(BASE | VARIANTS[name]))
        study = run_study(config, tmp_path / "out", progress=seen.append)
        assert results(tmp_path / "out") == results(fresh(name)), name
        assert study.manifest["config"] == expected.manifest["config"]
        assert study.manifest["batches"] == expected.manifest["batches"]
        wanted = keys(study)
        assert len(ran) == len(set(ran)) == len(set(wanted) - known), name
        assert seen[0].total == seen[-1].done == study.n_done == study.n_batches
        assert (seen[0].done == seen[0].total) == (not ran)
        known.update(wanted)
        # Also where nothing but the log is there to read.
        (tmp_path / "out" / "results.parquet").unlink()
        again = read_study(tmp_path / "out")
        assert again.tasks.equals(expected.tasks)
        assert again.n_done == again.n_batches


@pytest.mark.slow
def test_a_change_that_is_stopped_mixes_nothing(tmp_path: Path) -> None:
    run_study(few(tmp_path, [GOOD, KNN]), tmp_path / "out")
    changed = few(tmp_path, [KNN, LOF])
    expected = run_study(changed, tmp_path / "expected")

    def stop(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(changed, tmp_path / "out", progress=stop)
    partial = read_study(tmp_path / "out")
    assert (partial.n_done, partial.n_batches) == (1, 3)
    # All of the first, and of the others what was done before.
    rows = expected.tasks.to_pylist()
    wanted = [row for i, row in enumerate(rows) if i < 3 or row["detector"] == "kNN"]
    assert repr(partial.tasks.to_pylist()) == repr(wanted)
    run_study(changed, tmp_path / "out")
    assert results(tmp_path / "out") == results(tmp_path / "expected")


SETTINGS: dict[str, tuple[Any, Any]] = {
    "seed": (7, 8),
    "volumes.n_draws": (300, 301),
    "volumes.fpr": ([0.05, 0.2], [0.05, 0.1]),
    "measures": (["auc", "ap", "tpr@0.1", "precision@p0.05"], ["auc", "f1@0.1", "tpr@0.1"]),
    "protocol.train_fraction": (0.8, 0.7),
    "protocol.max_train": (None, 30),
    "protocol.max_test": (None, 30),
    "protocol.standardize": (True, False),
}


def test_settings_are_all_that_a_protocol_has() -> None:
    fields = {f"protocol.{one.name}" for one in dataclasses.fields(Protocol)}
    assert {name for name in SETTINGS if name.startswith("protocol.")} == fields - {
        "protocol.repeats",
        "protocol.contaminations",
    }


def test_another_study_is_refused_with_what_differs_alone(tmp_path: Path) -> None:
    config = read_config(write_config(tmp_path, TOML.split("[goix]")[0] + KNN_TOML))
    run_study(config, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    for name, (old, new) in SETTINGS.items():
        part, _, key = name.partition(".")
        plain = tuple(new) if isinstance(new, list) else new
        value = replace(getattr(config, part), **{key: plain}) if key else plain
        with pytest.raises(InvalidInputError, match="contains another: ") as caught:
            run_study(replace(config, **cast(Any, {part: value})), tmp_path / "out")
        said = str(caught.value).split("contains another: ")[1]
        if isinstance(old, list):
            own, others = ([x for x in a if x not in b] for a, b in ((new, old), (old, new)))
            shown = [", ".join(map(repr, values)) for values in (own, others)]
            assert said == f"{name} has {shown[0]} here only and {shown[1]} in the folder only"
        else:
            assert said == f"{name} is {new!r} here and {old!r} in the folder"
    for changed, what in (
        (replace(config, detectors=read_detectors([GOOD])), "no detector is in both"),
        (replace(config, data=replace(config.data, paths=("one",))), "no data set is in both"),
    ):
        small_studies.save_data(tmp_path / "elsewhere")
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "elsewhere" / "toy" / "plain.csv").replace(tmp_path / "one" / "other.csv")
        with pytest.raises(InvalidInputError, match=f"contains another: {what}"):
            run_study(changed, tmp_path / "out")
    lasting = {path: content for path, content in before.items() if path.name != "study.lock"}
    assert {path: path.read_bytes() for path in lasting} == lasting


KNN_TOML = '[[detectors]]\nkind = "knn"\nk = 1\n'


@pytest.mark.slow
def test_data_that_changed_are_run_anew(tmp_path: Path, ran: list[str]) -> None:
    config = few(tmp_path, [KNN, GOOD])
    run_study(config, tmp_path / "out")
    ran.clear()
    X, y = toy_data(2)
    rows = "\n".join(f"{a},{b},{c}" for (a, b), c in zip(X.round(1), y, strict=True))
    (tmp_path / "toy" / "plain.csv").write_text(f"f0,f1,y\n{rows}\n", encoding="utf-8")
    with pytest.warns(
        UserWarning, match=r'the data of "toy/plain" changed: earlier results that depend on it do'
    ) as caught:
        run_study(config, tmp_path / "out")
    assert [warning.filename for warning in caught] == [__file__]
    assert len(ran) == 3
    ran.clear()
    run_study(config, tmp_path / "out")
    assert not ran
    run_study(config, tmp_path / "fresh")
    assert results(tmp_path / "out") == results(tmp_path / "fresh")
    save_data(tmp_path)
    ran.clear()
    with pytest.warns(UserWarning, match="do not count"):
        run_study(config, tmp_path / "out")
    assert not ran


# Code.

OWN = """
from tests.support.study_runs import Centre

def helper(x):
    return {factor} * x

class {name}(Centre):
    def score_samples(self, X):
        return helper(super().score_samples(X))
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Callable[[str, str], None]]:
    """Write modules beside the study, which are then imported as by a new process."""
    names = set()

    def write(name: str, text: str) -> None:
        names.add(name)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        sys.modules.pop(name, None)

    yield write
    for name in names:
        sys.modules.pop(name, None)
    sys.path[:] = [one for one in sys.path if one != str(tmp_path)]


@pytest.mark.slow
def test_own_code_that_changed_is_run_anew(
    tmp_path: Path, ran: list[str], module: Callable[[str, str], None]
) -> None:
    module("own_a_of_study", OWN.format(name="A", factor=1))
    module("own_b_of_study", OWN.format(name="B", factor=1))
    detectors: list[dict[str, Any]] = [
        KNN,
        {"name": "A", "estimator": "own_a_of_study.A", "power": [1, 2]},
        {"name": "B", "estimator": "own_b_of_study.B"},
    ]
    before = run_study(few(tmp_path, detectors), tmp_path / "out")
    assert {*before.manifest["code"]} == {
        *("own_a_of_study", "own_b_of_study", "tests.support.study_runs")
    }
    # Not in the lines of the class itself.
    module("own_a_of_study", OWN.format(name="A", factor=-1).replace("-1 * x", "-1 / x"))
    ran.clear()
    with pytest.warns(
        UserWarning,
        match="the code of own_a_of_study changed: earlier results that depend on it do",
    ):
        study = run_study(few(tmp_path, detectors), tmp_path / "out")
    assert len(ran) == 3 * 2
    run_study(few(tmp_path, detectors), tmp_path / "fresh")
    assert results(tmp_path / "out") == results(tmp_path / "fresh")
    changed = {
        module
        for module, old in before.manifest["code"].items()
        if study.manifest["code"][module] != old
    }
    assert changed == {"own_a_of_study"}


def test_code_that_is_tried_again_when_it_changed(
    tmp_path: Path, module: Callable[[str, str], None]
) -> None:
    detectors: list[dict[str, Any]] = [GOOD, {"name": "A", "estimator": "own_c_of_study.A"}]
    module("own_c_of_study", OWN.format(name="A", factor=1))
    run_study(few(tmp_path, detectors), tmp_path / "out")
    module("own_c_of_study", OWN.format(name="A", factor="unknown"))
    with pytest.raises(InvalidInputError, match=r"A .*name 'unknown' is not defined"):
        run_study(few(tmp_path, detectors), tmp_path / "out")


def test_a_file_that_changed_after_it_was_imported_is_refused(
    tmp_path: Path, module: Callable[[str, str], None]
) -> None:
    module("own_d_of_study", OWN.format(name="A", factor=1))
    config = few(tmp_path, [GOOD, {"name": "A", "estimator": "own_d_of_study.A"}])
    code = [one.code() for one in config.detectors]
    planned = own_code(code)
    check_code(code, planned)
    with pytest.raises(InvalidInputError, match="own_d_of_study changed"):
        check_code(code, {**planned, "own_d_of_study": "another"})
    (tmp_path / "own_d_of_study.py").write_text(OWN.format(name="A", factor=2), encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"own_d_of_study.py changed since A was imported"):
        run_study(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("how", ["reloaded", "in place", "old class", "not"])
def test_modules_that_are_reloaded_run_what_their_file_says(
    tmp_path: Path, module: Callable[[str, str], None], how: str
) -> None:
    name = f"own_e_{how.replace(' ', '_')}_of_study"
    module(name, OWN.format(name="A", factor=1))
    few(tmp_path, [{"name": "A", "estimator": f"{name}.A"}])
    imported = sys.modules[name]
    old = imported.A
    before = own_code([old])
    (tmp_path / f"{name}.py").write_text(
        OWN.format(name="A", factor=2) + "        # longer\n", encoding="utf-8"
    )
    if how != "not":
        importlib.reload(imported)
    if how == "in place":  # as notebooks do, which reload automatically
        old.score_samples = imported.A.score_samples
    if how == "old class":
        old.score_samples = lambda self, X: X
    if how in ("not", "old class"):
        with pytest.raises(InvalidInputError, match="changed since A was imported"):
            own_code([old])
        return
    after = own_code([imported.A if how == "reloaded" else old])
    assert after.keys() == before.keys()
    assert after[name] != before[name]


OF_PROGRAM = """
from dataclasses import dataclass

@dataclass
class A:
    power: int = {}

    def fit(self, X, weight={}):
        self.a = {}

    @property
    def b(self):
        return {}
"""


def defined_in(file: str, lines: str) -> Any:
    """A class of the program that runs: of a script, a cell of a notebook, or typed at a prompt."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(lines, file, "exec"), names)
    return names["A"]


def test_code_of_the_program_counts_by_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    same = (1, 2, 3, 4)
    values: list[str] = []
    for parts in (
        same,
        same,
        *(tuple(9 if i == j else x for j, x in enumerate(same)) for i in range(4)),
    ):
        lines, cell = OF_PROGRAM.format(*parts), f"<cell {len(values)}>"
        monkeypatch.setitem(linecache.cache, cell, (len(lines), None, lines.splitlines(True), cell))
        (digest,) = own_code([defined_in(cell, lines)]).items()
        assert digest[0] == "__main__.A"
        values.append(digest[1])
    assert values[0] == values[1]
    assert len(set(values)) == 5


def test_values_of_classes_of_the_program_count_in_full() -> None:
    arrays = (np.arange(3000), np.where(np.arange(3000) == 1500, 0, np.arange(3000)))
    values: list[Any] = [*arrays, [1], [1.0], {"a": 1}, {"a": 2}]
    assert (
        len({str(own_code([type("A", (), {"__module__": "__main__", "x": x})])) for x in values})
        == 6
    )


def wrapped(f: Any) -> Any:
    return lambda self, X: f(self, X)


class Wrapped(study_runs.Centre):
    score_samples = wrapped(study_runs.Centre.score_samples)


def test_classes_within_functions_are_refused_as_their_variables_have_no_digest() -> None:
    def made(value: float) -> list[Any]:
        class InMethod(study_runs.Centre):
            def score_samples(self, X: Any) -> Any:
                return value * super().score_samples(X)

        class InAttribute(study_runs.Centre):
            factor = value

        class InDefault(study_runs.Centre):
            def __init__(self, factor: float = value) -> None:
                self.factor = factor

        return [InMethod, InAttribute(), InDefault]

    for each in made(2.0):
        with pytest.raises(InvalidInputError, match=r"not be defined within a fun.* found .*\.In"):
            own_code([each])
    assert __name__ in own_code([Wrapped])


def test_code_without_a_file_is_refused(module: Callable[[str, str], None], tmp_path: Path) -> None:
    typed = defined_in("<stdin>", OF_PROGRAM.format(1, 2, 3, 4))
    module("own_f_of_study", OWN.format(name="A", factor=1))
    few(tmp_path, [{"name": "A", "estimator": "own_f_of_study.A"}])
    (tmp_path / "own_f_of_study.py").unlink()
    for code in (typed, sys.modules["own_f_of_study"].A):
        with pytest.raises(InvalidInputError, match=r"must be defined in a file.* found A without"):
            own_code([code])


def _distance(a: Any, b: Any = None, key: Any = None) -> float:
    return 0.0


def test_code_of_functions_objects_and_steps_counts() -> None:
    from sklearn.ensemble import IsolationForest
    from sklearn.pipeline import make_pipeline

    here, runs, small = __name__, "tests.support.study_runs", "tests.support.small_studies"
    for value, modules in (
        (IsolationForest, set()),
        (np.hypot, set()),
        ([1, "a", None, np.zeros(2)], set()),
        (small_studies.Plain, {small}),
        (_distance, {here}),
        (functools.partial(_distance, key=small_studies.toy_data), {here, small}),
        (make_pipeline(IsolationForest(), study_runs.Centre()), {runs}),
        ({"metric": [_distance]}, {here}),
        (numba.njit(_distance), {here}),
        (functools.lru_cache(_distance), {here}),
        (small_studies.Plain(sign=_distance).fit, {here, small}),  # type: ignore[arg-type]
    ):
        assert {*own_code([value])} == modules
    assert {*library_versions([IsolationForest])} == {"scikit-learn"}


# Rows do not depend on what they are computed with.


@pytest.mark.parametrize("n_features", [1, 2, 30])
def test_scores_do_not_depend_on_the_other_members_of_a_batch(n_features: int) -> None:
    """On a coarse grid, where most distances are tied, and in the tree and without."""
    rng = np.random.default_rng(n_features)
    n = 3000 if n_features < 3 else 300
    X = rng.integers(0, 4, (n, n_features)) / 4
    points = np.concatenate([X[:50], rng.integers(0, 8, (50, n_features)) / 8])
    neighbours = read_detectors(
        [
            {"kind": "knn", "k": [1, 2, 7, 50], "score": ["kappa", "gamma", "delta"]},
            {"kind": "lof", "n_neighbors": [2, 10, 60]},
        ]
    )
    machines = read_detectors([{"kind": "ocsvm", "gamma": [0.1, 1.0, "scale"], "nu": [0.1, 0.5]}])
    for group in (neighbours, machines):
        training = X if group is neighbours else X[:300]

        def scores(members: Any, training: Any = training) -> dict[str, Any]:
            fitted = fit_batch(members, training, [0] * len(members))
            assert not fitted.reasons
            ((scorer, ordered),) = fitted.scorers
            values = scores_of_rows(scorer, len(ordered), points)
            return {one.key: row for one, row in zip(ordered, values, strict=True)}

        together = scores(group)
        for members in (*([one] for one in group), group[::2], group[::-1][:4]):
            for key, values in scores(members).items():
                np.testing.assert_array_equal(values, together[key])
        # Nor on where a point stands: its duplicates have the same.
        _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
        for values in together.values():
            np.testing.assert_array_equal(values, values[first][inverse.ravel()])


# Files that are missing.


@pytest.fixture(scope="module")
def two_studies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[Path, Path]]:
    """Run a study and another with part of its tasks, once, within the first test."""

    @functools.cache
    def run() -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp("two")
        run_study(few(folder, [KNN, GOOD], goix=GOIX), folder / "one")
        part = few(folder, [GOOD], data={"paths": ["toy/plain.csv"]}, goix=GOIX)
        run_study(part, folder / "other")
        return folder / "one", folder / "other"

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["curves", "times", "results", "goix"])
@pytest.mark.parametrize("how", ["removed", "cut", "of another study"])
def test_files_that_are_missing_or_damaged_are_noticed_and_written_again(
    tmp_path: Path,
    ran: list[str],
    two_studies: Callable[[], tuple[Path, Path]],
    name: str,
    how: str,
) -> None:
    config = few(tmp_path, [KNN, GOOD], goix=GOIX)
    expected, other = two_studies()
    shutil.copytree(expected, tmp_path / "out")
    file = tmp_path / "out" / f"{name}.parquet"
    if how == "removed":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:-10])
    else:
        file.write_bytes((other / file.name).read_bytes())
    if name in ("results", "goix") and how == "removed":
        # Then the log is read.
        study = read_study(tmp_path / "out")
        assert (study.tasks.num_rows, study.curves.num_rows) == (9, 6)
    elif name != "goix" or how == "cut":
        says = {"removed": "is missing", "cut": "is damaged"}.get(how, "rows and not")
        with pytest.raises(InvalidInputError, match=rf"parquet .*{says}.*run the study again"):
            read_study(tmp_path / "out")
    ran.clear()
    run_study(config, tmp_path / "out")
    assert not ran
    assert results(tmp_path / "out") == results(expected)


def test_names_of_configurations_and_functions_are_the_same_in_every_process(
    tmp_path: Path,
) -> None:
    plain = {"name": "F", "estimator": small_studies.Plain, "higher_is": "normal"}
    config: StudyConfig = few(tmp_path, [{**plain, "sign": [_distance]}])
    assert not re.search("0x[0-9a-f]", repr(config.to_dict()))
