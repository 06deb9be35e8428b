"""Scorers by themselves: what there is, orientation, options, weights."""

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import fastad
import fastad.sklearn as scorers
from fastad.measures.registry import MEASURES
from tests.support import custom
from tests.support.cells import FOLDS, NORMAL, WEIGHTS, X, Y
from tests.support.loops import loop
from tests.support.operating import options_of

VALUES = [row for row in MEASURES.values() if row.kind == "value"]
DETECTORS = [
    IsolationForest(n_estimators=20, random_state=0),
    LocalOutlierFactor(novelty=True),
    OneClassSVM(),
    EllipticEnvelope(support_fraction=0.9, random_state=0),
]
OPTIONS = {row.name: options_of(row) for row in VALUES}
# Elsewhere the detector below is perfect, and all that could go wrong would be 1 too.
OPTIONS["recall_at_precision"] = {"precision": 0.95}
OPTIONS["lf_auc"] = {"alpha": 0.5}


def _scorer(measure: str, **more: Any) -> Any:
    return getattr(scorers, f"{measure}_scorer")(**{**OPTIONS[measure], **more})


@pytest.fixture(scope="module")
def forest() -> IsolationForest:
    return IsolationForest(n_estimators=20, random_state=0).fit(NORMAL)


# What there is


def test_every_value_has_a_scorer_and_nothing_else_has() -> None:
    made = {name.removesuffix("_scorer") for name in scorers.__all__ if name.endswith("_scorer")}
    assert made == {row.name for row in VALUES} | {"evaluation", "measure"}
    assert dir(scorers) == scorers.__all__
    with pytest.raises(AttributeError, match="roc_curve_scorer"):
        _ = scorers.roc_curve_scorer


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
def test_scorer_is_the_function_on_negated_scores(row: Any, forest: IsolationForest) -> None:
    function, options = getattr(fastad.measures, row.name), OPTIONS[row.name]
    value = float(function(Y, -forest.score_samples(X), **options))
    assert isinstance(row.higher_is_better, bool)
    score = _scorer(row.name)(forest, X, Y)
    assert type(score) is float
    assert score == (value if row.higher_is_better else -value)


@loop("row", VALUES)
def test_factory_shows_the_parameters_of_the_measure(row: Any) -> None:
    factory = getattr(scorers, f"{row.name}_scorer")
    own = inspect.signature(getattr(fastad.measures, row.name)).parameters
    shown = inspect.signature(factory).parameters
    data = {"y_true", "y_score", "sample_weight", "pos_label"}
    assert set(shown) == (set(own) - data) | {"pos_label", "response_method"}
    for name in set(own) - data:
        assert shown[name].default == own[name].default
        assert name in factory.__doc__
    assert row.title in factory.__doc__
    assert ("times -1" in factory.__doc__) is (row.higher_is_better is False)


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
def test_scorers_and_factories_survive_pickle(row: Any, forest: IsolationForest) -> None:
    factory = getattr(scorers, f"{row.name}_scorer")
    assert pickle.loads(pickle.dumps(factory)) is factory
    scorer = _scorer(row.name)
    again = pickle.loads(pickle.dumps(scorer))
    assert repr(again) == repr(scorer)
    assert again(forest, X, Y) == scorer(forest, X, Y)


def test_repr_is_the_call() -> None:
    scorer = scorers.tpr_at_fpr_scorer(fpr=0.05, pos_label=-1, response_method="decision_function")
    assert repr(scorer) == (
        "tpr_at_fpr_scorer(fpr=0.05, pos_label=-1, response_method='decision_function')"
    )
    assert repr(scorers.roc_auc_scorer()) == "roc_auc_scorer()"
    assert repr(scorers.measure_scorer("auc")) == "roc_auc_scorer()"
    rate = scorers.measure_scorer("tpr@threshold0.5")
    assert repr(rate) == "measure_scorer('tpr', threshold=0.5)"
    f2 = fastad.measures.from_counts("f2", custom.f2, at="threshold")
    assert repr(scorers.measure_scorer(f2, threshold=0.5)) == "measure_scorer(f2, threshold=0.5)"


# Orientation


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("labels", [None, 0], ids=["fitted without y", "with y"])
def test_detectors_are_negated(detector: Any, labels: int | None) -> None:
    y = None if labels is None else np.full(NORMAL.shape[0], labels)
    fitted = sklearn.clone(detector).fit(NORMAL, y)
    score = scorers.roc_auc_scorer()(fitted, X, Y)
    assert score > 0.75
    assert score == fastad.roc_auc(Y, -fitted.score_samples(X))
    assert score == pytest.approx(1 - fastad.roc_auc(Y, fitted.score_samples(X)), abs=1e-12)
    by_decision = scorers.roc_auc_scorer(response_method="decision_function")
    assert by_decision(fitted, X, Y) == fastad.roc_auc(Y, -fitted.decision_function(X))


def test_a_bad_detector_is_not_flipped(forest: IsolationForest) -> None:
    # Fitted to malignant cells only, it scores benign ones higher.
    wrong = OneClassSVM(gamma=1.0).fit(X[Y == 1])
    assert scorers.roc_auc_scorer()(wrong, X, Y) == fastad.roc_auc(Y, -wrong.score_samples(X))
    swapped = scorers.roc_auc_scorer(pos_label=0)(forest, X, Y)
    assert swapped == pytest.approx(1 - scorers.roc_auc_scorer()(forest, X, Y), abs=1e-12)


def test_pipelines_and_searches_have_the_kind_of_what_they_hold() -> None:
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=10, random_state=0))
    grid = {"isolationforest__max_samples": [64]}
    search = GridSearchCV(pipeline, grid, scoring=scorers.roc_auc_scorer(), cv=FOLDS).fit(X, Y)
    for fitted in (pipeline.fit(X), search):
        assert scorers.roc_auc_scorer()(fitted, X, Y) == fastad.roc_auc(Y, -fitted.score_samples(X))


@pytest.mark.parametrize("anomalous", [0, 1])
def test_classifiers_are_requested_the_class_of_the_anomalies(anomalous: int) -> None:
    scorer = scorers.roc_auc_scorer(pos_label=anomalous)
    is_anomalous = np.equal(Y, anomalous)
    linear = LogisticRegression().fit(X, Y)
    sign = 1 if anomalous else -1
    expected = fastad.roc_auc(is_anomalous, sign * linear.decision_function(X))
    assert scorer(linear, X, Y) == expected > 0.9
    by_decision = scorers.roc_auc_scorer(pos_label=anomalous, response_method="predict_proba")
    probabilities = linear.predict_proba(X)[:, anomalous]
    assert by_decision(linear, X, Y) == fastad.roc_auc(is_anomalous, probabilities)
    trees = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, Y)
    probabilities = trees.predict_proba(X)[:, anomalous]
    assert scorer(trees, X, Y) == fastad.roc_auc(is_anomalous, probabilities) > 0.9


def test_labels_of_scikit_learn(forest: IsolationForest) -> None:
    signs = np.where(Y == 1, -1, 1)  # -1 for an anomaly
    expected = scorers.roc_auc_scorer()(forest, X, Y)
    assert scorers.roc_auc_scorer(pos_label=-1)(forest, X, signs) == expected
    with pytest.raises(fastad.InvalidInputError, match="pos_label"):
        scorers.roc_auc_scorer()(forest, X, signs)
    classifier = LogisticRegression().fit(X, signs)
    scores = -classifier.decision_function(X)
    scorer = scorers.roc_auc_scorer(pos_label=-1)
    assert scorer(classifier, X, signs) == fastad.roc_auc(signs, scores, pos_label=-1) > 0.9


def test_labels_that_are_strings() -> None:
    names = np.where(Y == 1, "malignant", "benign")
    classifier = LogisticRegression().fit(X, names)
    value = scorers.roc_auc_scorer(pos_label="malignant")(classifier, X, names)
    assert value == fastad.roc_auc(Y, classifier.decision_function(X))
    with pytest.raises(fastad.InvalidInputError, match=r"'benign', 'malignant'.*pos_label"):
        scorers.roc_auc_scorer()(classifier, X, names)


# What is refused


def test_orientation_that_is_not_known_is_refused() -> None:
    scorer = scorers.roc_auc_scorer()
    regression, clusters = LinearRegression().fit(X, Y), KMeans(2, n_init=1).fit(X)
    for estimator in (regression, clusters, object()):
        with pytest.raises(TypeError, match=f"found {type(estimator).__name__}"):
            scorer(estimator, X, Y)


def test_methods_that_an_estimator_lacks(forest: IsolationForest) -> None:
    with pytest.raises(TypeError, match="novelty=True"):
        scorers.roc_auc_scorer()(LocalOutlierFactor().fit(X), X, Y)
    by_probability = scorers.roc_auc_scorer(response_method="predict_proba")
    with pytest.raises(fastad.InvalidInputError, match="outlier detector IsolationForest"):
        by_probability(forest, X, Y)
    with pytest.raises(TypeError, match="SVC must have the method predict_proba"):
        by_probability(SVC().fit(X, Y), X, Y)


def test_more_than_two_classes() -> None:
    classifier = LogisticRegression().fit(X, np.arange(X.shape[0]) % 3)
    with pytest.raises(fastad.InvalidInputError, match="two classes"):
        scorers.roc_auc_scorer()(classifier, X, Y)


def test_labels_are_needed(forest: IsolationForest) -> None:
    with pytest.raises(fastad.InvalidInputError, match="y_true must be given"):
        scorers.roc_auc_scorer()(forest, X)


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("tpr_at_fpr", {"fpr": 2}, fastad.InvalidInputError, "fpr"),
        ("tpr_at_fpr", {"fpr": [0.1, 0.2]}, TypeError, "one operating point"),
        ("tpr_at_fpr", {}, TypeError, "fpr must be given for tpr_at_fpr"),
        ("tpr_at_fpr", {"fpr": 0.1, "far": 1}, TypeError, "found far=1"),
        ("roc_auc", {"response_method": "guess"}, fastad.InvalidInputError, "response_method"),
        ("rp_auc", {"score_range": (1, 0)}, fastad.InvalidInputError, "score_range"),
        ("rank_power", {"k": 1.5}, TypeError, "k must be an integer"),
        ("evaluation", {"measures": ["none such"]}, fastad.InvalidInputError, "none such"),
        ("evaluation", {"measures": ["auc_rp"]}, fastad.InvalidInputError, "score_range"),
    ],
)
def test_bad_options_are_refused_before_any_fit(
    name: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(scorers, f"{name}_scorer")(**options)


def test_a_measure_without_better_values_has_no_scorer() -> None:
    """Of numbers of flagged samples a search would take the largest."""
    share = fastad.measures.from_counts(
        "share", lambda tp, fp, n, m: fp / m, at="k", higher_is_better=None
    )
    for measure, name in (("flagged@threshold0.5", "n_flagged"), (share, "share")):
        message = f"must be ones? of which more, or less, is better; found {name}$"
        with pytest.raises(fastad.InvalidInputError, match=f"measure {message}"):
            scorers.measure_scorer(measure)
        with pytest.raises(fastad.InvalidInputError, match=f"measures {message}"):
            scorers.evaluation_scorer(measures=["auc", measure])


def test_checking_options_does_not_advance_a_generator() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    scorers.precision_at_p_scorer(p=0.5, n_repeats=3, rng=rng)
    assert rng.bit_generator.state == before


# Weights


def test_weights_reach_the_measure(forest: IsolationForest) -> None:
    expected = fastad.roc_auc(Y, -forest.score_samples(X), sample_weight=WEIGHTS)
    assert scorers.roc_auc_scorer()(forest, X, Y, sample_weight=WEIGHTS) == expected
    assert expected != fastad.roc_auc(Y, -forest.score_samples(X))
    many = scorers.evaluation_scorer(measures=["auc"])
    assert many(forest, X, Y, sample_weight=WEIGHTS) == {"auc": expected}


# Without scikit-learn


def _run(script: str) -> None:
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.system
def test_scikit_learn_is_imported_only_when_used_and_the_error_names_the_extra() -> None:
    _run(
        "import sys, fastad, fastad.sklearn\n"
        "fastad.sklearn.roc_auc_scorer\n"
        "assert 'sklearn' not in sys.modules\n"
        "sys.modules['sklearn'] = None\n"
        "import fastad.sklearn as scorers\n"
        "from fastad.errors import MissingExtraError\n"
        "makers = (scorers.roc_auc_scorer, scorers.evaluation_scorer,\n"
        "          lambda: scorers.ThresholdedDetector)\n"
        "for maker in makers:\n"
        "    try:\n"
        "        maker()\n"
        "    except MissingExtraError as error:\n"
        "        assert \"pip install '.[sklearn]'\" in str(error)\n"
        "    else:\n"
        "        raise AssertionError(maker)\n"
    )
