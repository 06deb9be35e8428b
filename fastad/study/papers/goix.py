"""``goix_benchmark``: whether EM and MV order detectors as labels do."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fastad._core.extras import import_extra
from fastad._core.parameters import check_choice, check_generator, check_mapping, refused
from fastad._core.random import random_seed, string_seed
from fastad._core.suggestions import suggests_arguments
from fastad._core.types import ArrayLike, LabelVector, ScoreVector
from fastad.errors import UndefinedMeasureError
from fastad.measures.precision import pr_auc
from fastad.measures.roc import roc_auc
from fastad.regions.box import Box
from fastad.regions.scores import block_score
from fastad.study.papers.goix_data import SETTINGS, GoixProtocol, Setting, split_goix
from fastad.study.papers.goix_results import SEPARATOR, GoixBenchmark, GoixRow
from fastad.unsupervised.criteria import Criteria, Criterion, CriterionName
from fastad.unsupervised.many_detectors import evaluate_unsupervised
from fastad.unsupervised.ranking import UnsupervisedEvaluation
from fastad.unsupervised.subspaces import Factory, check_factory, train

_DEFAULT = GoixProtocol()


@suggests_arguments
def goix_benchmark(
    datasets: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    settings: Sequence[Setting] = SETTINGS,
    detectors: Mapping[str, Factory] | None = None,
    protocol: GoixProtocol = _DEFAULT,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> GoixBenchmark:
    """Measure detectors with labels and without, by goix's protocol.

    Parameters
    ----------
    datasets : mapping of str to (X, y)
        Samples and their labels, 1 for an anomaly; `load_goix` reads the paper's.
    settings : sequence of {"novelty", "unsupervised"}
        Settings to run; by default both.
    detectors : mapping of str to estimator or callable, optional
        Training methods, as for `evaluate_unsupervised` with ``X_train``; by default the paper's,
        with the defaults of scikit-learn: ``iForest``, ``OCSVM`` and ``LOF``.
    protocol : GoixProtocol
        The numbers: rows, subspaces, uniform points.
    rng : int or numpy.random.Generator, optional
        Seed or generator. With a seed, the rows of a data set do not depend on the others.
    n_jobs : int, optional
        Processes of joblib over subspaces.
    progress : callable, optional
        Called with the numbers of pairs of data set and setting done and to be done.

    Returns
    -------
    GoixBenchmark
        Rows, and the `GoixBenchmark.agreement` of EM and MV with ROC and PR.

    Raises
    ------
    InvalidInputError
        If data, detectors or settings are invalid; the message says which.
    MissingExtraError
        If the paper's detectors are used and scikit-learn is not installed.

    See Also
    --------
    goix_cell : One data set in one setting.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section "Benchmarks".

    Examples
    --------
    >>> import numpy as np
    >>> from fastad.study.papers import goix_benchmark
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(540, 2)), rng.uniform(-5, 5, size=(60, 2))])
    >>> y = np.repeat([0, 1], [540, 60])
    >>> benchmark = goix_benchmark({"bell": (X, y)}, settings=["novelty"], rng=0)
    >>> benchmark.agreement("em").roc.n_pairs
    3
    """
    datasets = check_mapping(datasets, "datasets", "data set")
    for setting in settings:
        check_choice(setting, SETTINGS, "settings")
    seed = _seed(rng)
    cells = [(name, setting) for name in datasets for setting in settings]
    rows: list[GoixRow] = []
    for done, (name, setting) in enumerate(cells, 1):
        rows += goix_cell(
            *datasets[name],
            dataset=name,
            setting=setting,
            detectors=detectors,
            protocol=protocol,
            rng=seed,
            n_jobs=n_jobs,
        )
        if progress is not None:
            progress(done, len(cells))
    return GoixBenchmark(rows)


@suggests_arguments
def goix_cell(
    X: ArrayLike,
    y: ArrayLike,
    *,
    dataset: str,
    setting: Setting,
    detectors: Mapping[str, Factory] | None = None,
    protocol: GoixProtocol = _DEFAULT,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> tuple[GoixRow, ...]:
    """Measure detectors on one data set in one setting, by goix's protocol.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples; finite numbers.
    y : array-like of shape (n_samples,)
        1 for anomalies, 0 for normal samples.
    dataset : str
        Name of the data set.
    setting : {"novelty", "unsupervised"}
        Trained on normal samples only, EM and MV measured on normal test rows; or on whatever
        there is, with few anomalies, EM and MV measured on the rows that ROC and PR are.
    detectors, protocol, n_jobs
        As for `goix_benchmark`.
    rng : int or numpy.random.Generator, optional
        Seed or generator. A seed gives the rows that `goix_benchmark` finds with it.
    progress : callable, optional
        Called with the numbers of subspaces done and to be done.

    Returns
    -------
    tuple of GoixRow
        One for each detector. Undefined values are NaN and have a reason.

    Raises
    ------
    InvalidInputError
        If data, detectors or the setting are invalid; the message says which.
    MissingExtraError
        If the paper's detectors are used and scikit-learn is not installed.

    Notes
    -----
    ROC and PR are for detectors that are trained on all features. PR is `pr_auc`: the paper
    asks for the area under the whole curve, which `average_precision`, a sum of steps, is not.

    All detectors have the same uniform points, also where splitting would find volumes more
    precisely: then a difference between two of them is no difference of points or of methods.

    Examples
    --------
    >>> import numpy as np
    >>> from fastad.study.papers import goix_cell
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(540, 2)), rng.uniform(-5, 5, size=(60, 2))])
    >>> y = np.repeat([0, 1], [540, 60])
    >>> forest, svm, lof = goix_cell(X, y, dataset="bell", setting="unsupervised", rng=0)
    >>> forest.detector, forest.n_train, forest.n_evaluated
    ('iForest', 300, 300)
    """
    check_choice(setting, SETTINGS, "setting")
    makers = _default_detectors() if detectors is None else _check_detectors(detectors)
    key = [_seed(rng), string_seed(dataset), SETTINGS.index(setting)]
    of_rows, of_detectors, of_criteria = map(
        np.random.default_rng, np.random.SeedSequence(key).spawn(3)
    )
    split = split_goix(X, y, setting, protocol=protocol, rng=of_rows)
    seed = random_seed(of_detectors)
    scores = {
        name: train(factory, split.X_train, np.random.default_rng(seed))
        for name, factory in makers.items()
    }
    n_features = split.evaluated.shape[1]
    is_direct = n_features <= protocol.max_direct
    n_varying = int(np.count_nonzero(np.ptp(split.evaluated, axis=0)))
    needed = n_features if is_direct else protocol.n_features
    evaluation: UnsupervisedEvaluation | None = None
    no_volume = f"the box of the rows has no volume: {n_varying} features vary, {needed} must"
    undefined = _undefined(no_volume, split.evaluated.shape[0], protocol)
    if n_varying >= needed:
        how: dict[str, Any] = {
            "X_train": split.X_train,
            "n_subspaces": protocol.n_subspaces,
            "n_features": protocol.n_features,
            "n_jobs": n_jobs,
            "progress": progress,
        }
        if is_direct:
            # Unlike the default, no feature is discrete: the paper has none.
            box = Box.from_data(split.evaluated, discrete_threshold=None)
            how = {"box": box, "method": "uniform"}
        evaluation = evaluate_unsupervised(
            scores if is_direct else makers,
            split.evaluated,
            n_draws=protocol.n_uniform,
            n_resamples=protocol.n_resamples,
            confidence_level=protocol.confidence_level,
            rng=of_criteria,
            **how,
        )
    rows = []
    for name, score in scores.items():
        y_score = block_score(score, n_features).of_rows(split.X_test)
        roc, pr, reason = _areas(split.y_test, y_score)
        criteria = undefined if evaluation is None else evaluation[name]
        rows.append(
            GoixRow(
                dataset=dataset,
                setting=setting,
                detector=name,
                roc=roc,
                pr=pr,
                em=criteria.em,
                mv=criteria.mv,
                em_better_than=_better_than(evaluation, name, "em"),
                mv_better_than=_better_than(evaluation, name, "mv"),
                n_train=split.X_train.shape[0],
                n_test=split.X_test.shape[0],
                n_anomalies=int(np.count_nonzero(split.y_test)),
                n_evaluated=split.evaluated.shape[0],
                n_features=n_features,
                n_subspaces=0 if is_direct else protocol.n_subspaces,
                reason=reason,
            )
        )
    return tuple(rows)


def undefined_rows(
    dataset: str, setting: Setting, protocol: GoixProtocol, reason: str
) -> tuple[GoixRow, ...]:
    """Return the rows of the paper's detectors on data that do not allow the protocol."""
    em, mv = _undefined(reason, 0, protocol)
    return tuple(
        GoixRow(
            *(dataset, setting, name, math.nan, math.nan, em, mv, (), ()), *(0,) * 6, reason=reason
        )
        for name in _default_detectors()
    )


def _default_detectors() -> dict[str, Factory]:
    """Return the paper's three detectors, with the defaults of scikit-learn."""
    ensemble, neighbors, svm = (
        import_extra(f"sklearn.{module}", "the paper's protocol", extra="sklearn")
        for module in ("ensemble", "neighbors", "svm")
    )
    return {
        "iForest": ensemble.IsolationForest(),
        "OCSVM": svm.OneClassSVM(),
        "LOF": neighbors.LocalOutlierFactor(novelty=True),
    }


def _check_detectors(detectors: Mapping[str, Factory]) -> dict[str, Factory]:
    """Check makers of detectors, and their names."""
    makers = check_mapping(detectors, "detectors", "detector")
    for name, factory in makers.items():
        check_factory(factory, f"detectors[{name!r}]")
        if SEPARATOR in name:
            raise refused("detectors", f"have names without {SEPARATOR!r}", repr(name))
    return makers


def _seed(rng: int | np.random.Generator | None) -> int:
    """Return the given seed, or draw one."""
    generator = check_generator(rng)
    if rng is None or isinstance(rng, np.random.Generator):
        return random_seed(generator)
    return int(rng)


def _areas(y_test: LabelVector, y_score: ScoreVector) -> tuple[float, float, str]:
    """Return ROC and PR, or why they are undefined."""
    try:
        return roc_auc(y_test, y_score), pr_auc(y_test, y_score), ""
    except UndefinedMeasureError as error:
        return math.nan, math.nan, str(error)


def _better_than(
    evaluation: UnsupervisedEvaluation | None, detector: str, criterion: CriterionName
) -> tuple[str, ...]:
    pairs = [] if evaluation is None else evaluation.significant_pairs(criterion)
    return tuple(worse for better, worse in pairs if better == detector)


def _undefined(reason: str, n_evaluated: int, protocol: GoixProtocol) -> Criteria:
    undefined = Criterion(
        *(math.nan,) * 8,
        confidence_level=float(protocol.confidence_level),
        n_test=n_evaluated,
        n_uniform=None,
        n_resamples=0,
        n_undefined=0,
        reason=reason,
    )
    return Criteria(undefined, undefined)
