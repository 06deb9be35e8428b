"""Configurations of a study: what a file may hold, and what it says where it does not."""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fastad.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from fastad.study.config import StudyConfig, VolumePlan, make_config, read_config
from fastad.study.papers import GoixPlan, GoixProtocol, paper_detectors, paper_measures
from fastad.study.papers.goix_plan import GoixBatch
from fastad.study.plan import plan_batches
from fastad.study.problems import DataSelection, Problem
from fastad.study.split import Protocol
from fastad.study.tasks import TaskBatch
from tests.support.loops import loop
from tests.support.small_studies import TOML

DATA = "\n[data]\nbundled = true\n"


def read(folder: Path, text: str) -> StudyConfig:
    path = folder / "ä b.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


# What is read.


def test_all_that_a_file_says_is_read(tmp_path: Path) -> None:
    config = read(tmp_path, TOML)
    assert (config.title, config.seed, config.folder) == ("Täglich", 7, tmp_path)
    assert config.measures == ("auc", "ap", "tpr@0.1", "precision@p0.05")
    assert config.data == DataSelection(paths=("toy",))
    assert config.protocol == Protocol(repeats=2, contaminations=(0.0, 0.05))
    assert config.volumes == VolumePlan(300, (0.05, 0.2))
    protocol = GoixProtocol(
        n_subspaces=1, n_features=2, max_direct=2, n_uniform=300, n_resamples=20
    )
    assert config.extra == {"goix": GoixPlan(("novelty", "unsupervised"), protocol)}
    assert [one.key for one in config.detectors] == [
        *("kNN k=1, score=kappa", "kNN k=1, score=delta"),
        *("kNN k=5, score=kappa", "kNN k=5, score=delta", "LOF n_neighbors=5"),
        *("IForest n_estimators=10", "OCSVM gamma=0.1, nu=0.5", "OCSVM gamma=1.0, nu=0.5"),
    ]


def test_by_default_a_study_is_that_of_the_papers(tmp_path: Path) -> None:
    config = read(tmp_path, DATA)
    assert config.protocol == Protocol(repeats=10, contaminations=(0.0, 0.01, 0.05))
    assert config.volumes == VolumePlan(n_draws=100_000, fpr=(0.01, 0.05))
    assert config.measures == paper_measures()
    assert config.detectors == paper_detectors()
    assert len(config.detectors) == 42
    assert "goix" not in config.extra
    assert config.seed == 0
    full = read(tmp_path, 'profile = "full"' + DATA)
    assert full.extra == {"goix": GoixPlan(protocol=GoixProtocol())}
    assert (full.protocol, full.volumes) == (config.protocol, config.volumes)


def test_a_mark_at_the_beginning_of_a_file_is_no_key(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffseed = 3" + DATA).seed == 3


@pytest.mark.parametrize(
    ("name", "title", "max_train", "max_subproblems", "goix_max_train"),
    [
        ("quick", "Quick study", None, 2, 1000),
        ("medium", "Medium study", 2000, 3, 2000),
        ("full", "Full study", None, None, 10_000),
    ],
)
def test_a_file_goes_before_its_profile(
    tmp_path: Path,
    name: str,
    title: str,
    max_train: int | None,
    max_subproblems: int | None,
    goix_max_train: int,
) -> None:
    config = read(tmp_path, f'profile = "{name}"\n{DATA}[protocol]\nrepeats = 4\n')
    assert config.protocol.repeats == 4
    assert config.protocol.max_train == max_train
    assert config.title == title
    assert config.data.max_subproblems == max_subproblems
    assert read(tmp_path, f'goix = false\nprofile = "{name}"\n{DATA}').extra == {}
    goix = read(tmp_path, f'profile = "{name}"\n{DATA}[goix]\nn_subspaces = 7\n').extra["goix"]
    assert isinstance(goix, GoixPlan)
    assert goix.protocol.n_subspaces == 7
    assert goix.protocol.max_train == goix_max_train


def test_what_the_results_depend_on_is_plain() -> None:
    values: dict[str, Any] = {
        "data": {"paths": ["a"], "bundled": True},
        "protocol": {"repeats": 2},
        "detectors": [{"kind": "knn", "k": 1}],
    }
    plain = make_config(values).to_dict()
    # Where data lie does not matter, what they are does.
    assert make_config({**values, "data": {"paths": ["b"], "bundled": True}}).to_dict() == plain
    assert json.loads(json.dumps(plain))["protocol"]["contaminations"] == [0.0, 0.01, 0.05]
    assert plain["detectors"] == ["<Configuration kNN k=1, score=kappa>"]
    for key, value in [
        ("seed", 1),
        ("measures", ["auc"]),
        ("protocol", {"repeats": 3}),
        ("volumes", {"fpr": [0.05]}),
        ("detectors", [{"kind": "lof", "n_neighbors": 1}]),
        ("goix", {"n_subspaces": 3}),
        ("data", {"paths": ["a"], "min_anomalies": 3}),
    ]:
        assert make_config({**values, key: value}).to_dict() != plain


def test_rates_may_be_any_sequence() -> None:
    assert VolumePlan(fpr=np.array([0.05, 0.5])).fpr == (0.05, 0.5)  # type: ignore[arg-type]
    assert VolumePlan(fpr=[1]).fpr == (1.0,)
    assert VolumePlan(fpr=[0.5, 0.05, 0.5]).fpr == (0.5, 0.05)


def test_flags_and_rates_of_numpy_and_fractions_are_those_of_python() -> None:
    def settings(flag: Any, number: Any) -> str:
        goix = GoixProtocol(standardize=flag, max_anomaly_fraction=number, confidence_level=number)
        assert type(goix.max_anomaly_fraction) is type(goix.confidence_level) is float
        config = StudyConfig(
            DataSelection(bundled=flag),
            protocol=Protocol(train_fraction=number, standardize=flag),
            extra={"goix": GoixPlan(protocol=goix)},
        )
        return json.dumps(config.to_dict())

    expected = settings(True, 0.8)
    for number in (np.float32(0.8), np.float64(0.8), Fraction(4, 5)):
        assert settings(np.True_, number) == expected


def test_a_seed_may_be_an_integer_of_numpy() -> None:
    seed = make_config({"data": {"bundled": True}, "seed": np.uint8(7)}).seed
    assert (seed, type(seed)) == (7, int)


# What is refused, with file and key.


@loop(
    ("text", "says"),
    [
        ("title = 3", "title must be a string; found 3"),
        ("seed = 1.5", "seed must be an integer; found 1.5"),
        ("sed = 3", r"sed is no key of a study; did you mean seed\? Known are title, seed"),
        ('profile = "fast"', "profile must be one of quick, medium, full; found 'fast'"),
        ('measures = "auc"', "measures must be a sequence of keys; found 'auc' alone"),
        ("measures = []", "measures must name at least one measure"),
        ('measures = ["auk"]', "measures must contain keys of measures .* found 'auk'"),
        ('detectors = "paper"', "detectors must be an array of tables; found 'paper'"),
        ('detectors = ["paper"]', r"detectors\[0\] must be a table; found 'paper'"),
        ("detectors = []", "detectors must contain at least one table"),
        (
            '[[detectors]]\nkind = "iforest"\nn_tree = 5',
            r"detectors\[0\]\.n_tree is no parameter of ",
        ),
        ("goix = true", "goix must be a table; found True"),
        ('[goix]\nsettings = "novelty"', "goix.settings must be an array; found 'novelty'"),
        ('[goix]\nsettings = ["novel"]', "goix.settings must be one of 'novelty'"),
        ("[goix]\nsettings = []", "goix.settings must contain at least one setting"),
        ("[goix]\nn_subspaces = 0", "goix.n_subspaces must be at least 1; found 0"),
        (
            "[goix]\nsubspaces = 3",
            r"goix.subspaces is no key of a study; did you mean goix.n_subspaces\?",
        ),
        ("protocol = 3", "protocol must be a table; found 3"),
        ("[protocol]\nrepeat = 3", r"protocol.repeat is no key .* did you mean protocol.repeats\?"),
        ("[protocol]\ncontaminations = 0.05", "protocol.contaminations must be a list of numbers"),
        ("[volumes]\nfpr = 0.05", "volumes.fpr must be a list of numbers; found 0.05"),
        ('[volumes]\nfpr = "0.05"', "volumes.fpr must be a number"),
        ('[volumes]\nfpr = [0.1, "a"]', r"volumes.fpr\[1\] must be a number; found str"),
        ("[volumes]\nfpr = [0.1, 0.1000000001]", "volumes.fpr must differ in six digits; found"),
        ("[volumes]\nfpr = [2]", r"volumes.fpr\[0\] must lie in \[0, 1\]; found 2"),
        ("[volumes]\nn_draws = 100000.5", "volumes.n_draws must be an integer; found 100000.5"),
        ("[volumes]\nn_draws = 99", "volumes.n_draws must be at least 100; found 99"),
        ('title = "a', "the file is not TOML: "),
    ],
)
def test_errors_name_the_file_and_the_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(
        (InvalidInputError, InvalidTypeError), match=rf"ä b\.toml: {says}"
    ) as caught:
        read(tmp_path, text + DATA)
    key = str(caught.value).partition(": ")[2].split()[0]
    assert caught.value.item == (None if key == "the" else key)


@loop(
    ("text", "says"),
    [
        ("", "data must name the data sets to run; found no such table"),
        ("data = 3", "data must be a table; found 3"),
        ("[data]\npaths = [3]", r"data.paths\[0\] must be a string; found int"),
        ("[data]\nbundle = true", r"data.bundle is no key .* did you mean data.bundled\?"),
    ],
)
def test_errors_in_the_data_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError), match=says) as caught:
        read(tmp_path, text)
    assert str(caught.value.argument).startswith("data")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for name in ("bytes.toml", "none.toml", "."):
        with pytest.raises(InvalidInputError, match=f"{name}.*: the file cannot be read"):
            read_config(tmp_path / name)


def test_a_library_that_reads_toml_is_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"needs {library}: pip .*'\.\[study\]'"):
        read(tmp_path, DATA)


# Batches.


def problem(name: str, anomaly_class: str | None, n_anomalies: int = 5) -> Problem:
    return Problem("a b", name, anomaly_class, 50, n_anomalies, 2, "/x", "1f")


def test_batches_have_different_tasks_and_the_order_of_the_results() -> None:
    config = make_config(
        {
            "data": {"bundled": True},
            "protocol": {"repeats": 2, "contaminations": [0, 0.01]},
            "goix": {},
            "detectors": [
                {"kind": "iforest", "n_estimators": [5, 6]},
                {"kind": "knn", "k": [1, 2]},
                {"name": "ä/ö" * 40, "estimator": "sklearn.svm.OneClassSVM", "kernel": "linear"},
                {"kind": "lof", "n_neighbors": 3},
            ],
        }
    )
    problems = [problem("ü", "x/y"), problem("ü", "z", 6), problem("w", None)]
    batches = plan_batches(config, problems)
    digests = [task for batch in batches for task in batch.tasks]
    assert len(set(digests)) == len(digests)
    tasks = [batch for batch in batches if isinstance(batch, TaskBatch)]
    # Two forests, all neighbours, a machine.
    assert len(tasks) == 3 * 2 * 2 * 4
    assert [len(batch.configurations) for batch in tasks[:4]] == [1, 1, 3, 1]
    assert [batch.problem for batch in tasks] == [one for one in problems for _ in range(16)]
    kept = [batch for batch in tasks if batch.with_curves]
    assert {(one.problem, one.contamination, one.repeat) for one in kept} == {
        (problems[0], 0.0, 1),
        (problems[2], 0.0, 1),
    }
    # Each data set once, whatever its classes hold.
    goix = [(one.problem.dataset, one.setting) for one in batches if isinstance(one, GoixBatch)]
    assert goix == [(name, one) for name in ("ü", "w") for one in ("novelty", "unsupervised")]
    assert {one.problem.anomaly_class for one in batches if isinstance(one, GoixBatch)} == {None}


@loop("values", [{"seed": 1.0}, {"title": None}, {"measures": "auc"}])
def test_studies_of_python_are_checked_too(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{min(values)} must be a"):
        StudyConfig(DataSelection(bundled=True), **values)


def test_a_profile_on_data_of_ones_own_leaves_the_bundled_sets_out() -> None:
    own = make_config({"profile": "quick", "data": {"paths": ["data"]}})
    assert not own.data.bundled
    assert own.data.max_subproblems == 2
    assert make_config({"profile": "quick"}).data.bundled
    both = make_config({"profile": "quick", "data": {"paths": ["data"], "bundled": True}})
    assert both.data.bundled


def test_a_detector_that_scores_batches_is_refused() -> None:
    entry = {"name": "ECOD", "estimator": "pyod.models.ecod.ECOD"}
    with pytest.raises(InvalidInputError, match=r"detectors\[0\].estimator must score single"):
        make_config({"data": {"bundled": True}, "detectors": [entry]})


@loop(
    ("detectors", "error", "says"),
    [
        ((), InvalidInputError, "detectors must contain at least one Configuration; found none"),
        ("kNN", TypeError, "detectors must be a sequence of Configuration; found 'kNN'"),
        ([{"kind": "lof"}], TypeError, r"detectors\[0\] must be a Configuration; found"),
        (
            paper_detectors()[:2] * 2,
            InvalidInputError,
            r"detectors\[2\] must differ .* found kNN k=1, score=kappa a second time",
        ),
    ],
)
def test_detectors_of_python_are_checked(detectors: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        StudyConfig(DataSelection(bundled=True), detectors=detectors)


def test_measures_may_be_names_of_functions() -> None:
    values = {"data": {"bundled": True}, "volumes": {"fpr": [0.05, 0.2]}}
    config = make_config({**values, "measures": ["roc_auc", "auc", "tpr_at_fpr", "tpr@0.05"]})
    assert config.measures == ("auc", "tpr@0.05", "tpr@0.2")
    for name in ("roc_curve", "no_such", "cvol@0.05", "threshold@0.05"):
        with pytest.raises(InvalidInputError, match=f"measures must .*{name}"):
            make_config({**values, "measures": [name]})
