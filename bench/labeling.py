"""Labels that measures need: rows drawn by ``fastad.labeling`` beside rows drawn uniformly.

``python -m bench.labeling`` writes docs/evidence/labeling.csv and the tables of its page, in about
two hours of one core; ``python -m bench.labeling PART …`` measures parts again: cells, harder,
uniform, separations, sequences, missed, collections, means or speed.
"""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad._core.types import FloatVector
from fastad.labeling import DrawnRows, LabelingDesign, design, draw, estimate
from fastad.labeling.plans import FLOOR
from fastad.labeling.score_orders import ScoreOrder
from fastad.labeling.targets import BoundTarget, check_targets

TABLE, PAGE = EVIDENCE / "labeling.csv", EVIDENCE / "labeling.md"
DATA = Path(__file__).parents[2] / "shared" / "data" / "adbench"
N_CELL, N_DRAWS, N_UNIFORM, N_BOUNDS = 100, 200, 60, 1000
N_POPULATIONS, CORRELATION = 5, 0.8
AT_1_PERCENT, ONE, AREAS = "tpr@0.01 a vs b", "tpr@0.01 a", "auc a vs b"
OF_ALARMS, PRECISION = "precision@fpr0.01 a vs b", "precision@threshold2.33 a"
DIFFERENCES, N_EACH, BEST_STEPS = (OF_ALARMS, AT_1_PERCENT), 6, 50
# Kinds of anomalies, each beside the guess of prevalence (times the true one) and area.
WRONG: Mapping[str, tuple[str, float, float]] = {
    "as the model": ("shifted", 1, 0.95),
    "a tenth of the prevalence": ("shifted", 0.1, 0.95),
    "area 0.7": ("shifted", 1, 0.7),
    "20 % like normals": ("hidden", 1, 0.9),
    "exponential shifts": ("exponential", 1, 0.9),
    "scores rounded to 0.25": ("rounded", 1, 0.95),
    "anomalies at one score": ("clustered", 1, 0.9),
    "a tenth of 30 %": ("common", 0.1, 0.9),
}
# Targets with the labels of each round.
BUDGETS: Mapping[str, int] = {
    **{AT_1_PERCENT: 600, ONE: 3000, AREAS: 3000, "ap a": 1000, PRECISION: 200}
}
# Targets that anomalies among low scores change.
HIDDEN = (
    ("f1@threshold2", 250),
    ("f1@threshold2", 400),
    ("recall@threshold2", 250),
    ("tpr@0.02", 600),
)
# Targets of two detectors of which each misses other anomalies.
EACH_MISSES = (
    *(AREAS, "ap a vs b", "tpr@0.05 a vs b"),
    *("auc a", "ap a", "tpr@0.05 a", "precision@threshold2 a"),
)
Labels = npt.NDArray[np.bool_]
Scores = dict[str, npt.NDArray[np.float64]]


class Population(NamedTuple):
    """Scores of all rows with their labels."""

    y_true: Labels
    scores: Scores

    def of(self, target: BoundTarget) -> "Population":
        """Return the scores of the detectors of a target."""
        return Population(self.y_true, {name: self.scores[name] for name in target.detectors})

    def truth(self, target: BoundTarget) -> float:
        """Return the target by all labels."""
        counts = {
            name: ScoreOrder.of(values).counts(self.y_true.astype(np.float64))
            for name, values in self.scores.items()
        }
        return target.value(counts)


def population(
    kind: str,
    n: int,
    prevalence: float,
    *,
    heights: tuple[float, float] = (2.4, 2.3),
    seed: int = 0,
) -> Population:
    """Draw normal scores of two detectors, and anomalies with higher ones."""
    rng = np.random.default_rng(seed)
    y_true = rng.random(n) < prevalence
    common, noise = rng.normal(size=n), rng.normal(size=(2, n))
    shift = y_true.astype(np.float64)
    if kind == "hidden":
        shift *= rng.random(n) >= 0.2
    elif kind == "exponential":
        shift *= rng.exponential(size=n)
    scores = {}
    for name, each, height in zip("ab", noise, heights, strict=True):
        values = math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * each
        values = values + height * shift
        if kind == "clustered":
            values = np.where(y_true, height - 0.5 + 0.02 * each, values)
        scores[name] = np.round(values * 4) / 4 if kind == "rounded" else values
    return Population(y_true, scores)


class Found(NamedTuple):
    """Estimates of many draws, an entry for each."""

    value: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    has_note: npt.NDArray[np.float64]

    def row(self, truth: float) -> dict[str, str]:
        """Return what is written of them."""
        # Without any anomaly among the labels there is no value.
        known, squares = ~np.isnan(self.value), (self.value - truth) ** 2
        is_covered, no_note = (self.low <= truth) & (truth <= self.high), self.has_note == 0
        sd = math.sqrt(float(np.nanmean(squares)))
        return {
            "truth": f"{truth:.4f}",
            "bias": f"{np.nanmean(self.value) - truth:+.4f}",
            "rms_error": f"{sd:.4f}",
            "relative": f"{np.nanstd(squares) / sd**2 / math.sqrt(squares.shape[0]):.3f}",
            "half_width": f"{np.nanmedian(self.high - self.low) / 2:.4f}",
            "coverage": f"{np.mean(is_covered, where=known):.3f}",
            "with_note": f"{np.mean(self.has_note):.3f}",
            "no_note": f"{np.mean(is_covered, where=no_note):.3f}" if no_note.any() else "",
        }


def labeled(plan: LabelingDesign, y_true: Labels, seed: int) -> DrawnRows:
    """Return rows with their labels."""
    drawn = draw(plan, rng=seed)
    return drawn.with_labels(y_true[drawn.row])


def repeat(
    plan: LabelingDesign,
    of: Population,
    target: str,
    n_draws: int,
    *,
    again: Callable[[Sequence[DrawnRows]], LabelingDesign] | None = None,
    rounds: int = 1,
) -> Found:
    """Return the estimates of many draws, of several rounds whose designs know earlier labels."""
    rows = []
    for seed in range(n_draws):
        drawn = [labeled(plan, of.y_true, seed)]
        while again is not None and len(drawn) < rounds:
            drawn.append(labeled(again(drawn), of.y_true, seed))
        (each,) = estimate(of.scores, drawn, target=target).estimates
        rows.append((each.value, each.low, each.high, each.reliability_note is not None))
    return Found(*np.array(rows).T)


def design_round(
    scores: Scores, budget: int, options: Mapping[str, Any], drawn: Sequence[DrawnRows]
) -> LabelingDesign:
    """Design the round that follows others."""
    return design(scores, budget=budget, labeled=drawn, **options)


def cells() -> Iterator[dict[str, Any]]:
    """Coverage with right and with wrong working models; two rounds of half the labels, too."""
    n = 50_000
    for name, (kind, factor, auc) in WRONG.items():
        prevalence = 0.3 if kind == "common" else 0.02
        everything = population(kind, n, prevalence)
        for text, budget in BUDGETS.items():
            (target,) = check_targets(text, ["a", "b"])
            of = everything.of(target)
            options: dict[str, Any] = {
                "target": text,
                "prevalence": factor * prevalence,
                "auc": auc,
            }
            plan = design(of.scores, budget=budget, **options)
            row = {"part": "cells", "model": name, "target": text, "n_rows": n, "labels": budget}
            found = repeat(plan, of, text, N_CELL)
            yield {**row, "n_draws": N_CELL, **found.row(of.truth(target))}
        (target,) = check_targets(AT_1_PERCENT, ["a", "b"])
        options = {"target": AT_1_PERCENT, "prevalence": factor * prevalence, "auc": auc}
        again = partial(design_round, everything.scores, 300, options)
        found = repeat(again(()), everything, AT_1_PERCENT, N_CELL, again=again, rounds=2)
        row = {"part": "cells", "model": name, "target": f"{AT_1_PERCENT}, two rounds"}
        row |= {"n_rows": n, "labels": 600, "n_draws": N_CELL}
        yield {**row, **found.row(everything.truth(target))}


class Case(NamedTuple):
    """A population, a target of it, labels, and the prevalence that is guessed."""

    model: str
    of: Population
    target: str
    budget: int
    guess: float
    rounds: int = 1


def harder_cases() -> Iterator[Case]:
    """Yield guesses a hundred times too low, chance, hidden anomalies, and large ties.

    And two detectors of which each scores another fifth of the anomalies like normals.
    """
    for name, heights, text, budget in (
        ("a hundredth of the prevalence", (2.4, 2.3), OF_ALARMS, 200),
        ("as good as chance", (0.0, 0.0), AT_1_PERCENT, 600),
    ):
        for prevalence in (0.02, 0.05):
            for seed in (0, 1):
                of = population("shifted", 20_000, prevalence, heights=heights, seed=seed)
                yield Case(f"{name}, {prevalence:g}", of, text, budget, prevalence / 100)
    n, prevalence = 5000, 0.03
    for name, hidden in (("half like normals", 0.0), ("half below all", -4.0)):
        rng = np.random.default_rng(3)
        y_true = rng.random(n) < prevalence
        shift = np.where(rng.random(n) < 0.5, 4.0, hidden) * y_true
        of = Population(y_true, {"a": rng.normal(size=n) + shift})
        for text, budget in HIDDEN:
            yield Case(f"{name}, {prevalence:g}", of, text, budget, prevalence / 3)
    for step, seed in ((0.5, 0), (0.25, 46), (0.25, 18), (1.0, 3)):
        rng = np.random.default_rng(seed)
        y_true = rng.random(4000) < 0.05
        scores = np.round((rng.normal(size=4000) + 2.2 * y_true) / step) * step
        of = Population(y_true, {"a": scores})
        for text in ("precision@fpr0.05", "precision@fpr0.081", "f1@0.05", "tpr@0.05"):
            yield Case(f"rounded to {step:g}, seed {seed}", of, text, 300, 0.05)
    rng = np.random.default_rng(3)
    y_true, noise, kind = rng.random(20_000) < 0.04, rng.normal(size=20_000), rng.random(20_000)
    other = 0.5 * noise + 0.87 * rng.normal(size=20_000)
    shifted = {"a": noise + 3 * y_true * (kind > 0.2), "b": other + 3 * y_true * (kind < 0.8)}
    of = Population(y_true, shifted)
    for text in EACH_MISSES:
        for budget, rounds in ((600, 1), (1500, 1), (300, 2), (150, 4)):
            if rounds == 1 or "vs" in text:
                yield Case("each misses another fifth", of, text, budget, 0.02, rounds)


def harder() -> Iterator[dict[str, Any]]:
    """Coverage of those."""
    for case in harder_cases():
        of = case.of
        (target,) = check_targets(case.target, list(of.scores))
        options = {"target": case.target, "prevalence": case.guess}
        again = partial(design_round, of.scores, case.budget, options)
        n_draws = N_DRAWS if case.rounds == 1 else N_CELL
        found = repeat(again(()), of, case.target, n_draws, again=again, rounds=case.rounds)
        row: dict[str, Any] = {"part": "harder", "model": case.model, "target": case.target}
        row |= {"n_rows": of.y_true.shape[0], "n_draws": n_draws}
        row["labels"] = " + ".join([str(case.budget)] * case.rounds)
        yield {**row, **found.row(of.truth(target))}


def plain(of: Population, target: BoundTarget, n_labels: int, n_draws: int) -> float:
    """Return the root mean square error of the measure on rows that are drawn uniformly."""
    rng, truth, errors = np.random.default_rng(1), of.truth(target), []
    for _ in range(n_draws):
        rows = rng.choice(of.y_true.shape[0], n_labels, replace=False)
        sample = Population(of.y_true[rows], {x: s[rows] for x, s in of.scores.items()})
        errors.append(sample.truth(target) - truth)
    return float(np.sqrt(np.mean(np.square(errors))))


def same_estimator(of: Population, target: BoundTarget, found: Mapping[str, str]) -> float:
    """Return the uniform labels with such an error by the same estimator, from all labels."""
    total = float(np.sum(gradient_of(of, target, of.y_true)[of.y_true] ** 2))
    return float(of.y_true.shape[0] / (1 + float(found["rms_error"]) ** 2 / total))


def uniform() -> Iterator[dict[str, Any]]:
    """Labels that uniform sampling needs for the same error, at a prevalence of 0.001."""
    n, prevalence = 1_000_000, 0.001
    everything = population("shifted", n, prevalence)
    budgets = [(OF_ALARMS, 2000), (AT_1_PERCENT, 2000), (AT_1_PERCENT, 10_000), (ONE, 10_000)]
    for text, budget in budgets:
        (target,) = check_targets(text, ["a", "b"])
        of = everything.of(target)
        plan = design(of.scores, budget=budget, target=text, prevalence=prevalence, auc=0.9)
        n_draws = N_UNIFORM * (3 if (text, budget) == (AT_1_PERCENT, 10_000) else 1)
        row = repeat(plan, of, text, n_draws).row(of.truth(target))
        rms, same = float(row["rms_error"]), float(same_estimator(of, target, row) / budget)
        n_plain = 100_000
        total = plain(of, target, n_plain, N_DRAWS) ** 2 / (n / n_plain - 1)
        needed = n / (1 + rms**2 / total)
        yield {
            **{"part": "uniform", "model": "as the model", "target": text, "n_rows": n},
            **{"labels": budget, "n_draws": n_draws, **row},
            "expected_gain": f"{plan.gain[0]:.1f}",
            "uniform_same": f"{same:.1f}",
            "standard_error": f"{same * float(row['relative']):.1f}",
            "uniform_plain": f"{needed / budget:.1f}",
        }


def gradient_of(of: Population, target: BoundTarget, labels: npt.NDArray[Any]) -> FloatVector:
    """Return the gradient of each row, where labels may be probabilities."""
    orders = {name: ScoreOrder.of(values) for name, values in of.scores.items()}
    counts = {name: x.counts(labels.astype(np.float64)) for name, x in orders.items()}
    return target.gradient(counts, {name: x.point for name, x in orders.items()})


def true_probability(
    of: Population, prevalence: float, heights: tuple[float, float]
) -> FloatVector:
    """Return the probability of each row of shifted anomalies, from both scores."""
    slopes = np.linalg.solve(np.array([[1, CORRELATION], [CORRELATION, 1]]), heights)
    log_odds = (
        slopes[0] * of.scores["a"] + slopes[1] * of.scores["b"] - slopes @ np.array(heights) / 2
    )
    p: FloatVector = expit(log_odds + math.log(prevalence / (1 - prevalence)))
    return p


class Drawn(NamedTuple):
    """One draw: its error, the error to first order, and the variance that the latter has."""

    error: float
    first: float
    variance: float
    is_covered: bool


def draw_rounds(
    of: Population,
    target: BoundTarget,
    budgets: Sequence[int],
    deviation: FloatVector,
    n_draws: int,
) -> Iterator[Drawn]:
    """Draw rounds that follow each other, with guesses that are right, and estimate."""
    truth = of.truth(target)

    def make_plan(budget: int, rounds: Sequence[DrawnRows]) -> LabelingDesign:
        options: dict[str, Any] = {"target": target.name, "prevalence": 0.001, "labeled": rounds}
        return design(of.scores, budget=budget, **options)

    first = make_plan(budgets[0], [])
    for seed in range(n_draws):
        rounds: list[DrawnRows] = []
        errors, variances, known = [], [], np.zeros(0, np.int64)
        for budget in budgets:
            plan = make_plan(budget, rounds) if rounds else first
            rounds.append(labeled(plan, of.y_true, seed))
            row, p = rounds[-1].row, np.where(plan.probability > 0, plan.probability, 1)
            errors.append(
                float(np.sum(deviation[row] / rounds[-1].probability))
                + float(deviation[known].sum() - deviation.sum())
            )
            variances.append(float(np.sum((1 - p) / p * deviation**2)))
            known = np.append(known, row)
        weights = 1 / np.array(variances) / np.sum(1 / np.array(variances))
        (each,) = estimate(of.scores, rounds, target=target.name).estimates
        yield Drawn(
            each.value - truth,
            float(weights @ errors),
            float(weights**2 @ variances),
            each.low <= truth <= each.high,
        )


def separations() -> Iterator[dict[str, Any]]:
    """Gains by how much higher anomalies score, with the error to first order as a control."""
    n, prevalence = 1_000_000, 0.001
    cells = [(x, text, (10_000,)) for x in (1.5, 2.0, 2.4, 3.0, 3.5) for text in DIFFERENCES]
    for distance, text, budgets in [*cells, (2.4, AT_1_PERCENT, (2000, 8000))]:
        (target,) = check_targets(text, ["a", "b"])
        draws: list[Drawn] = []
        totals, best = [], []
        for number in range(N_POPULATIONS):
            heights = distance, distance - 0.1
            of = population("shifted", n, prevalence, heights=heights, seed=number)
            p = true_probability(of, prevalence, heights)
            slope = gradient_of(of, target, of.y_true)
            totals.append(float(np.sum(slope[of.y_true] ** 2)))
            deviation = (of.y_true - p) * slope
            # Of a design that knows the probabilities, with the same floor.
            expected = p * (1 - p) * gradient_of(of, target, p) ** 2
            sizes = (1 - FLOOR) * np.sqrt(expected) / np.sqrt(expected).sum() + FLOOR / n
            for _ in range(BEST_STEPS):
                sizes *= sum(budgets) / np.minimum(sizes, 1).sum()
            others = 1 / np.minimum(sizes, 1) - 1
            best.append(float(others @ expected / expected.sum()))
            draws += draw_rounds(of, target, budgets, deviation, N_EACH)
        error, first, variance, is_covered = (
            np.array(x, np.float64) for x in zip(*draws, strict=True)
        )
        control = first**2 - variance
        by_control = np.polyfit(control, error**2, 1)
        square = float(by_control[1])
        rest = error**2 - np.polyval(by_control, control)
        relative = float(rest.std() / math.sqrt(rest.shape[0])) / square

        def gain(odds: float, n_labels: int = sum(budgets)) -> float:
            return n / (1 + odds) / n_labels

        yield {
            **{"part": "separations", "model": f"{distance:g}", "target": text, "n_rows": n},
            **{"labels": " + ".join(map(str, budgets)), "n_draws": len(draws)},
            "coverage": f"{is_covered.mean():.3f}",
            "first_order": f"{gain(float(variance.mean() / np.mean(totals))):.1f}",
            "best": f"{gain(float(np.mean(best))):.1f}",
            "uniform_same": f"{gain(square / float(np.mean(totals))):.1f}",
            "standard_error": f"{gain(square / float(np.mean(totals))) * relative:.1f}",
        }


def sequences() -> Iterator[dict[str, Any]]:
    """How often sequences miss the true value at any of five looks."""
    n, prevalence, budget = 20_000, 0.05, 500
    of = population("shifted", n, prevalence)
    (target,) = check_targets(AT_1_PERCENT, ["a", "b"])
    truth, misses = of.truth(target), np.zeros(2)
    plan = design(of.scores, budget=budget, target=AT_1_PERCENT, prevalence=prevalence)
    for seed in range(N_DRAWS):
        drawn, excludes = draw(plan, rng=seed), np.zeros(2)
        for k in range(100, budget + 1, 100):
            part = drawn.with_labels(of.y_true[drawn.row[:k]])
            (each,) = estimate(of.scores, part, target=AT_1_PERCENT).estimates
            for i, ends in enumerate(
                [(each.sequence_low, each.sequence_high), (each.low, each.high)]
            ):
                excludes[i] += not ends[0] <= truth <= ends[1]
        misses += excludes > 0
    for name, count in zip(("sequence", "intervals"), misses, strict=True):
        yield {
            **{"part": "sequences", "model": name, "target": AT_1_PERCENT, "n_rows": n},
            **{"labels": budget, "n_draws": N_DRAWS, "truth": f"{truth:.4f}"},
            "coverage": f"{1 - count / N_DRAWS:.3f}",
        }


def missed() -> Iterator[dict[str, Any]]:
    """Bounds on the anomalies below a threshold."""
    of = population("hidden", 100_000, 0.01).of(check_targets("auc a", ["a", "b"])[0])
    for text, budget in (("missed@threshold1 a", 3000), ("missed@threshold1 a", 10_000)):
        (target,) = check_targets(text, ["a"])
        plan = design(of.scores, budget=budget, target=text)
        row = {"part": "missed", "model": "20 % like normals", "target": text, "n_rows": 100_000}
        found = repeat(plan, of, text, N_BOUNDS)
        yield {**row, "labels": budget, "n_draws": N_BOUNDS, **found.row(of.truth(target))} | {
            "half_width": f"{np.median(found.high):.0f}"
        }


def collections() -> Iterator[dict[str, Any]]:
    """Real data with the scores of an isolation forest and of the distance to the mean."""
    from sklearn.covariance import EmpiricalCovariance
    from sklearn.ensemble import IsolationForest

    for name in ("mammography", "ALOI", "shuttle", "celeba", "cover", "http"):
        path = DATA / f"{name}.npz"
        if not path.exists():
            continue
        with np.load(path, allow_pickle=False) as file:
            X, y_true = file["X"].astype(np.float64), file["y"].astype(np.bool_)
        forest = IsolationForest(random_state=0).fit(X)
        distance = EmpiricalCovariance(assume_centered=False).fit(X).mahalanobis(X)
        of = Population(y_true, {"a": -forest.score_samples(X), "b": distance})
        for text in (AT_1_PERCENT, ONE):
            (target,) = check_targets(text, ["a", "b"])
            part = of.of(target)
            budget = max(len(X) // (100 if text == AT_1_PERCENT else 20), 300)
            plan = design(part.scores, budget=budget, target=text, prevalence=0.01)
            n_draws = N_UNIFORM * (3 if len(X) < 50_000 else 1)
            row = repeat(plan, part, text, n_draws).row(part.truth(target))
            gain = same_estimator(part, target, row) / budget
            yield {
                **{"part": "collections", "model": name, "target": text, "n_rows": len(X)},
                **{"labels": budget, "n_draws": n_draws, **row},
                "expected_gain": f"{plan.gain[0]:.1f}",
                "uniform_same": f"{gain:.1f}",
                "standard_error": f"{gain * float(row['relative']):.1f}",
            }


def means() -> Iterator[dict[str, Any]]:
    """A mean, the precision of what is flagged, beside GLIDE's active sampler and estimator."""
    from glide.estimators import ASIMeanEstimator  # type: ignore[import-not-found]
    from glide.samplers import ActiveSampler  # type: ignore[import-not-found]

    from fastad.labeling.working_model import Cells, WorkingModel

    (target,) = check_targets(PRECISION, ["a", "b"])
    of = population("shifted", 100_000, 0.01).of(target)
    truth = of.truth(target)
    plan = design(of.scores, budget=300, target=PRECISION, prevalence=0.01, auc=0.95)
    cells = Cells.of(of.scores, {"a": [2.33]})
    p = expit(WorkingModel.prior(cells, 0.01, 0.95).log_odds(cells))[cells.row_cell]
    flagged = of.scores["a"] >= 2.33
    y_true, proxy = of.y_true[flagged].astype(np.float64), p[flagged]
    rows = []
    for seed in range(N_DRAWS):
        pi, xi = ActiveSampler().sample(np.sqrt(proxy * (1 - proxy)), 300, random_seed=seed)
        result = ASIMeanEstimator().estimate(np.where(xi == 1, y_true, np.nan), proxy, pi)
        interval = result.confidence_interval
        rows.append((result.mean, interval.lower_bound, interval.upper_bound, False))
    for name, found in (
        ("fastad", repeat(plan, of, PRECISION, N_DRAWS)),
        ("GLIDE 0.11", Found(*np.array(rows).T)),
    ):
        row = {"part": "means", "model": name, "target": PRECISION, "n_rows": 100_000}
        yield {**row, "labels": 300, "n_draws": N_DRAWS, **found.row(truth)}


def speed() -> Iterator[dict[str, Any]]:
    """Time to plan ten million rows of two detectors."""
    of = population("shifted", 10_000_000, 0.001)
    for text in (AT_1_PERCENT, ONE):
        (target,) = check_targets(text, ["a", "b"])
        scores = of.of(target).scores
        times = []
        for _ in range(5):
            start, of_processor = perf_counter(), process_time()
            design(scores, budget=5000, target=text, prevalence=0.001)
            times.append((perf_counter() - start, process_time() - of_processor))
        row = {"part": "speed", "target": text, "n_rows": 10_000_000, "labels": 5000}
        seconds, of_both = min(times)
        yield {**row, "seconds": f"{seconds:.2f}", "processor_seconds": f"{of_both:.2f}"}


PARTS: Mapping[str, Callable[[], Iterator[dict[str, Any]]]] = {
    **{"cells": cells, "harder": harder, "uniform": uniform, "separations": separations},
    **{
        "sequences": sequences,
        "missed": missed,
        "collections": collections,
        "means": means,
        "speed": speed,
    },
}
COLUMNS = ["part", "model", "target", "n_rows", "labels", "n_draws", "truth", "bias", "rms_error"]
COLUMNS += [
    "half_width",
    "coverage",
    "with_note",
    "no_note",
    "expected_gain",
    "uniform_same",
    "standard_error",
]
COLUMNS += ["uniform_plain", "first_order", "best", "seconds", "processor_seconds"]
SHOWN: Mapping[str, list[str]] = {
    "cells": [
        "model",
        "target",
        "labels",
        "n_draws",
        "truth",
        "bias",
        "rms_error",
        "half_width",
        "coverage",
    ],
    "harder": ["model", "target", "labels", "n_draws", "truth", "coverage", "with_note", "no_note"],
    "uniform": ["target", "labels", "n_draws", "rms_error", "coverage", *COLUMNS[-8:-4]],
    "separations": ["model", "target", "labels", "n_draws", "coverage", "uniform_same"],
    "sequences": ["model", "target", "labels", "coverage"],
    "missed": ["target", "labels", "truth", "half_width", "coverage"],
    "collections": ["model", "n_rows", "target", "labels", "n_draws", "truth", "rms_error"],
    "means": ["model", "labels", "truth", "bias", "rms_error", "half_width", "coverage"],
    "speed": ["target", "n_rows", "seconds", "processor_seconds"],
}
SHOWN["separations"] += ["standard_error", "first_order", "best"]
SHOWN["collections"] += ["half_width", "coverage", "uniform_same", "standard_error"]


def pages() -> dict[str, str]:
    """Return the tables of the page."""
    rows = read_rows(TABLE)
    return {
        part: table(
            [name.replace("_", " ") for name in names],
            [[row[name] for name in names] for row in rows if row["part"] == part],
        )
        for part, names in SHOWN.items()
    }


def main() -> None:
    """Write the file and the page, or print parts."""
    rows = read_rows(TABLE) if TABLE.exists() else []
    for part in sys.argv[1:] or PARTS:
        rows = [row for row in rows if row["part"] != part]
        for row in PARTS[part]():
            print(row, flush=True)
            rows.append({name: row.get(name, "") for name in COLUMNS})
    order = list(PARTS)
    rows.sort(key=lambda row: order.index(row["part"]))
    write_rows(TABLE, rows, COLUMNS)
    if PAGE.exists():
        fill(PAGE, pages())


if __name__ == "__main__":
    main()
