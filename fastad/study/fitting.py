"""Fitting the configurations of a batch, and scoring: common steps are computed once."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from fastad._core.buffers import ReusedBuffers
from fastad._core.threads import in_steps, points_at_once
from fastad._core.types import FloatMatrix
from fastad.detectors.neighbours import Neighbourhood, impossible_rules
from fastad.detectors.scorer import blocks
from fastad.detectors.support import SupportGroup, compile_one_class_svm
from fastad.detectors.together import ScorerGroup
from fastad.regions.scores import block_score
from fastad.regions.uniform import Draws
from fastad.study.configurations import Configuration
from fastad.study.results import NOT_APPLICABLE

# Groups of configurations with common neighbours, and common distances.
NEIGHBOURS, MACHINES = "neighbours", "ocsvm"
_MACHINE = "sklearn.svm.OneClassSVM"
# Errors of a detector that do not end a study.
FAILURES = (Exception, SystemExit)
# Characters of a reason that is kept in the table.
_MAX_REASON = 300


@dataclass(slots=True)
class Fitted:
    """Fitted configurations of a batch, and reasons of failures."""

    # Each writes a row for each of its configurations.
    scorers: list[tuple[ScorerGroup, list[Configuration]]] = field(default_factory=list)
    # Time to fit each; an equal part of the time for common steps.
    seconds: dict[Configuration, float] = field(default_factory=dict)
    reasons: dict[Configuration, str] = field(default_factory=dict)


def group_of(configuration: Configuration) -> str:
    """Return the group of a configuration: by common computation, or a group for it alone."""
    if configuration.rule is not None:
        return NEIGHBOURS
    if _is_machine(configuration):
        return MACHINES
    key = configuration.key
    # A detector of the caller's may be called as a group is.
    return f"{key} alone" if key in (NEIGHBOURS, MACHINES) else key


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Hide warnings, which some detectors raise on most splits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fit_batch(
    configurations: Sequence[Configuration], X_train: FloatMatrix, seeds: Sequence[int]
) -> Fitted:
    """Fit the configurations of a batch, all of one group, with a seed for each.

    Those that cannot be fitted have a reason.
    """
    fitted = Fitted()
    with ignore_warnings():
        if configurations[0].rule is not None:
            _fit_neighbours(configurations, X_train, fitted)
        elif _is_machine(configurations[0]):
            _fit_machines(configurations, X_train, seeds, fitted)
        else:
            for configuration, seed in zip(configurations, seeds, strict=True):
                _fit_single(configuration, X_train, seed, fitted)
    return fitted


def scores_of_rows(scorer: ScorerGroup, n_scores: int, X: FloatMatrix) -> FloatMatrix:
    """Return the scores of rows, of shape (n_scores, n_rows)."""
    scores = np.empty((n_scores, X.shape[0]))
    for points, part in blocks(X):
        block = np.empty((n_scores, points.shape[1]))
        scorer.write(points, block)
        scores[:, part] = block
    return scores


def scores_of_draws(scorer: ScorerGroup, n_scores: int, draws: Draws, n_draws: int) -> FloatMatrix:
    """Return the scores of points drawn in a box, of shape (n_scores, n_draws)."""
    scores = np.empty((n_scores, n_draws))
    with ReusedBuffers():
        for block in in_steps(0, n_draws, points_at_once(draws.box.n_features)):
            block_scores = np.empty((n_scores, len(block)))
            scorer.write(draws.points(block.start, len(block)), block_scores)
            scores[:, block.start : block.stop] = block_scores
    return scores


def reason_of(error: BaseException) -> str:
    """Return an error as one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _MAX_REASON else text[: _MAX_REASON - 1] + "…"


class _SingleScorer:
    """A detector without common computation."""

    def __init__(self, score: Any, n_features: int) -> None:
        self._score = block_score(score, n_features)

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        self._score.write(points, scores[0])


def _is_machine(configuration: Configuration) -> bool:
    kernel = dict(configuration.options).get("kernel", "rbf")
    # An estimator that states another orientation is refused where it is scored by itself.
    is_stated_wrongly = configuration.higher_is == "anomalous"
    return bool(configuration.factory == _MACHINE and kernel == "rbf" and not is_stated_wrongly)


def _fit_neighbours(
    configurations: Sequence[Configuration], X_train: FloatMatrix, fitted: Fitted
) -> None:
    rules = {
        configuration: configuration.rule
        for configuration in configurations
        if configuration.rule is not None
    }
    impossible = impossible_rules(X_train.shape[0], list(rules.values()))
    members = [configuration for configuration, rule in rules.items() if rule not in impossible]
    fitted.reasons |= {
        configuration: f"{NOT_APPLICABLE}{impossible[rule]}"
        for configuration, rule in rules.items()
        if rule in impossible
    }

    def fit() -> ScorerGroup:
        return Neighbourhood(X_train, [rules[configuration] for configuration in members])

    _add(fit, members, fitted)


def _fit_machines(
    configurations: Sequence[Configuration],
    X_train: FloatMatrix,
    seeds: Sequence[int],
    fitted: Fitted,
) -> None:
    machines = {}
    for configuration, seed in zip(configurations, seeds, strict=True):
        began = perf_counter()
        try:
            machines[configuration] = configuration.fit(X_train, seed)
        except FAILURES as error:  # whatever it is, the others go on
            fitted.reasons[configuration] = reason_of(error)
        fitted.seconds[configuration] = perf_counter() - began

    def compiled() -> ScorerGroup:
        return SupportGroup([compile_one_class_svm(machine) for machine in machines.values()])

    _add(compiled, list(machines), fitted)


def _fit_single(
    configuration: Configuration, X_train: FloatMatrix, seed: int, fitted: Fitted
) -> None:
    # A copy: a detector may change its training rows, on which others are fitted too.
    _add(
        lambda: _SingleScorer(configuration.compiled(X_train.copy(), seed), X_train.shape[1]),
        [configuration],
        fitted,
    )


def _add(fit: Callable[[], ScorerGroup], members: list[Configuration], fitted: Fitted) -> None:
    """Make a scorer of some configurations, or note why that fails."""
    if not members:
        return
    began = perf_counter()
    try:
        fitted.scorers.append((fit(), members))
    except FAILURES as error:  # whatever it is, the other batches go on
        fitted.reasons |= dict.fromkeys(members, reason_of(error))
    seconds_each = (perf_counter() - began) / len(members)
    for configuration in members:
        fitted.seconds[configuration] = fitted.seconds.get(configuration, 0.0) + seconds_each
