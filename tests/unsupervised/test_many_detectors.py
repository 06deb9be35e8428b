"""``evaluate_unsupervised`` and ``emmv``: several detectors on the same points."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import Box, InvalidInputError
from fastad.unsupervised import Criterion, emmv
from tests.support.criteria import Array, Scores, criteria_of, evaluate, first, points, second
from tests.support.volumes import OfBatch, norm, norm_of_point

# Many detectors.


def test_replicates_are_shared_by_the_detectors() -> None:
    """Nearly equal detectors: their difference varies much less than each of them."""
    X, U = points(0, 1000, 10_000)

    def near(rows: Array) -> Array:
        return np.sqrt(rows[:, 0] ** 2 + 1.02 * rows[:, 1] ** 2)

    result = evaluate({"a": norm, "b": near}, X, U)
    for criterion in range(2):
        a, b = (result._parts[name].replicates[:, criterion] for name in ("a", "b"))
        unpaired = math.hypot(a.std(), b.std())
        assert (a - b).std() < 0.4 * unpaired
        assert np.corrcoef(a, b)[0, 1] > 0.9


def test_detectors_that_order_identically_have_the_same_replicates() -> None:
    X, U = points(0, 300, 3000)
    result = evaluate({"a": norm, "b": lambda rows: np.exp(norm(rows))}, X, U)
    assert str(result["a"]) == str(result["b"])
    assert not result.significant_pairs("em")
    assert not result.significant_pairs("mv")
    for criterion in ("em", "mv"):
        ranking = result.ranking(criterion)
        assert [(p.rank, p.best, p.worst) for p in ranking] == [(1.5, 1, 2), (1.5, 1, 2)]
        assert "no two detectors differ significantly" in result.summary(criterion)


def test_the_order_of_the_detectors_does_not_matter() -> None:
    X, U = points(0, 300, 3000)
    one = evaluate({"a": norm, "b": first, "c": second}, X, U)
    other = evaluate({"c": second, "a": norm, "b": first}, X, U)
    assert {name: str(one[name]) for name in one} == {name: str(other[name]) for name in other}
    for criterion in ("em", "mv"):
        assert set(one.significant_pairs(criterion)) == set(other.significant_pairs(criterion))
        assert one.ranking(criterion)[0] == other.ranking(criterion)[0]


def test_clearly_better_detectors_are_significantly_different() -> None:
    for seed in range(5):
        X, U = points(seed, 1000, 10_000)
        result = evaluate({"first": first, "norm": norm}, X, U)
        for criterion in ("em", "mv"):
            assert result.significant_pairs(criterion) == [("norm", "first")]
            ranking = result.ranking(criterion)
            assert [(p.detector, p.rank, p.best, p.worst) for p in ranking] == [
                ("norm", 1.0, 1, 1),
                ("first", 2.0, 2, 2),
            ]
            assert (
                f"1 of 1 pairs differ significantly; the best by {criterion.upper()} is norm"
                in result.summary(criterion)
            )


def wavy(j: int) -> Callable[[Array], Array]:
    """The distance with a little noise along a feature."""

    def score(X: Array) -> Array:
        result: Array = norm(X) + 0.02 * np.sin(50 * X[:, j])
        return result

    return score


def coarse(shift: float) -> Callable[[Array], Array]:
    def score(X: Array) -> Array:
        result: Array = np.ceil(15 * norm(X) + shift)
        return result

    return score


EQUALS: dict[str, Scores] = {
    "features": {"first": first, "second": second},
    "noise": {"0": wavy(0), "1": wavy(1)},
    "steps": {"0": coarse(0.0), "1": coarse(0.5)},
}


@pytest.mark.evidence
@pytest.mark.parametrize("kind", EQUALS)
def test_equal_detectors_seldom_differ_significantly(kind: str) -> None:
    """Of 40 samples at 95 %: at a true 7 % more than 7 in one case of 200."""
    wrong = np.zeros(2, int)
    for seed in range(40):
        X, U = points(seed, 1000, 4000)
        result = evaluate(EQUALS[kind], X, U)
        wrong += [bool(result.significant_pairs(criterion)) for criterion in ("em", "mv")]
    assert wrong.max() <= 7


@pytest.mark.slow
def test_a_rank_lies_among_the_ranks_that_stay_open() -> None:
    scores = {"fine": norm, "coarse": lambda rows: np.ceil(20 * norm(rows))}
    for seed in range(20):
        result = evaluate(scores, *points(seed, 500, 5000), n_resamples=100)
        for criterion in ("em", "mv"):
            for place in result.ranking(criterion):
                assert place.best <= place.rank <= place.worst


def test_ranks_follow_the_values_and_pairs_the_ranks() -> None:
    X, U = points(0, 1000, 10_000)
    scores = {"norm": norm, "first": first, "bad": lambda rows: -norm(rows)}
    result = evaluate(scores, X, U)
    em, mv = result.ranking("em"), result.ranking("mv")
    assert [result[p.detector].em.value for p in em] == sorted(
        (c.em.value for c in result.values()), reverse=True
    )
    assert [result[p.detector].mv.value for p in mv] == sorted(c.mv.value for c in result.values())
    for criterion in ("em", "mv"):
        rank = {p.detector: p for p in result.ranking(criterion)}
        pairs = result.significant_pairs(criterion)
        for name, place in rank.items():
            assert place.best == 1 + sum(pair[1] == name for pair in pairs)
            assert place.worst == 3 - sum(pair[0] == name for pair in pairs)


# What it prints and turns into.


def test_it_is_a_mapping_that_prints_as_a_table() -> None:
    result = evaluate({"norm": norm, "first": first}, *points(0, 300, 3000))
    assert list(result) == ["norm", "first"]
    assert len(result) == 2
    assert isinstance(result["norm"].em, Criterion)
    assert repr(result) == "<UnsupervisedEvaluation of 2 detectors>"
    lines = str(result).splitlines()
    assert "detector" in lines[0]
    assert "EM [95 %], high is good" in lines[0]
    assert "MV [95 %], low is good" in lines[0]
    assert lines[-1] == result.summary()
    assert sum("significant" in line for line in lines) == 1
    assert str(result["norm"].em) in str(result)
    with pytest.raises(KeyError):
        result["other"]
    for ask in (result.ranking, result.significant_pairs, result.summary):
        with pytest.raises(InvalidInputError, match="criterion must be one of"):
            ask("auc")  # type: ignore[arg-type]


def test_plain_values() -> None:
    result = evaluate({"norm": norm, "first": first}, *points(0, 300, 3000))
    plain = result.to_dict()
    assert plain == json.loads(result.to_json()) == json.loads(result.to_json(indent=2))
    assert plain["confidence_level"] == 0.95
    assert plain["significant_pairs"]["em"] == [["norm", "first"]]
    assert plain["rankings"]["mv"][0]["detector"] == "norm"
    assert plain["detectors"][0]["em"]["value"] == result["norm"].em.value
    assert plain["fastad_version"] == fastad.__version__
    columns = result.to_columns()
    assert columns["detector"] == ["norm", "first"]
    assert columns["mv"] == [result[name].mv.value for name in result]
    assert {len(cells) for cells in columns.values()} == {2}
    for library in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(library)
        frame = result.to_frame(library)
        assert list(getattr(frame, "column_names", frame.columns)) == list(columns)


# Validation.


@pytest.mark.parametrize("library", ["pandas", "nullable", "polars", "pyarrow", "lists"])
def test_scores_come_in_any_table(library: str) -> None:
    X, U = points(0, 100, 500)
    test, uniform = ({"a": norm(rows), "b": first(rows)} for rows in (X, U))
    options: dict[str, Any] = {"rng": 0, "n_resamples": 20}
    expected = emmv(test, uniform, 1.0, **options).to_json()

    def table(columns: dict[str, Array]) -> Any:
        if library == "lists":
            return {name: scores.tolist() for name, scores in columns.items()}
        module = pytest.importorskip("pandas" if library == "nullable" else library)
        frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
        return frame.astype("Float64") if library == "nullable" else frame

    found = emmv(table(test), table(uniform), 1.0, **options)
    assert found.to_json() == expected


def test_names_and_numbers_of_scores_must_agree() -> None:
    with pytest.raises(InvalidInputError, match="must name the same detectors; found a and b"):
        emmv({"a": [1.0]}, {"b": [1.0]}, 1.0)
    with pytest.raises(InvalidInputError, match="must name the same detectors"):
        emmv({"a": [1.0]}, {"a": [1.0], "b": [1.0]}, 1.0)
    with pytest.raises(InvalidInputError, match=r"y_score must contain equally many.*\[1, 2\]"):
        emmv({"a": [1.0], "b": [1.0, 2.0]}, {"a": [1.0], "b": [1.0]}, 1.0)
    with pytest.raises(InvalidInputError, match=r"uniform_score must contain equally.*\[1, 2\]"):
        emmv({"a": [1.0], "b": [1.0]}, {"a": [1.0], "b": [1.0, 2.0]}, 1.0)
    with pytest.raises(TypeError, match="y_score must name scores; found list"):
        emmv([1.0], {"a": [1.0]}, 1.0)
    with pytest.raises(InvalidInputError, match="must contain at least one column"):
        emmv({}, {}, 1.0)


@pytest.mark.parametrize("argument", ["y_score", "uniform_score"])
@pytest.mark.parametrize("detector", ["b", "uniform_score"])
def test_errors_about_scores_name_the_detector(argument: str, detector: str) -> None:
    scores: dict[str, Any] = {
        name: {"a": [1.0, 2.0], detector: [1.0, 2.0]} for name in ("y_score", "uniform_score")
    }
    scores[argument][detector] = [1.0, math.nan]
    message = rf"^{argument}\['{detector}'\] must not contain NaN; found 1, the first at index 1$"
    with pytest.raises(InvalidInputError, match=message) as caught:
        emmv(**scores, volume=1.0)
    assert (caught.value.argument, caught.value.item) == (argument, f"{argument}[{detector!r}]")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mass": 0.9}, TypeError, "mass must be a pair of masses; found 0.9"),
        ({"mass": (0.9,)}, TypeError, "mass must be a pair of masses"),
        ({"mass": (0.9, 0.9)}, InvalidInputError, "mass must be a pair of rising masses"),
        ({"mass": (0.9, 1.1)}, InvalidInputError, r"mass must lie in \[0, 1\]; found 1.1"),
        ({"mass": (math.nan, 1)}, InvalidInputError, "mass must be finite"),
        ({"excess_mass": 1}, InvalidInputError, "excess_mass must lie strictly between 0 and 1"),
        ({"n_resamples": 0}, InvalidInputError, "n_resamples must be at least 1; found 0"),
        ({"n_resamples": 10.5}, TypeError, "n_resamples must be an integer"),
        ({"confidence_level": 1}, InvalidInputError, "confidence_level must lie strictly"),
        ({"rng": "x"}, TypeError, "rng"),
        ({"n_threads": 0}, InvalidInputError, "n_threads must be at least 1"),
    ],
)
def test_what_the_options_must_be(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    X, U = points(0, 20, 50)
    with pytest.raises(error, match=message):
        emmv({"a": norm(X)}, {"a": norm(U)}, 1.0, **options)
    with pytest.raises(error, match=message):
        fastad.evaluate_unsupervised({"a": norm}, X, n_draws=50, **options)
    with pytest.raises(error, match=message):
        criteria_of(fastad.mass_volume_curve(norm(X), norm(U), 1.0).levels, **options)


# Straight from detectors.


def test_detectors_are_estimates_on_the_same_draws() -> None:
    X = points(0, 400, 1)[0]
    seen: dict[str, list[Array]] = {"a": [], "b": []}

    def keeper(name: str, score: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def keep(rows: Array) -> Array:
            seen[name].append(rows.copy())
            return score(rows)

        return keep

    scores = {"a": keeper("a", norm), "b": keeper("b", first)}
    options: dict[str, Any] = {"method": "uniform", "n_draws": 5000}
    result = fastad.evaluate_unsupervised(scores, X, rng=0, n_resamples=50, **options)
    a, b = (np.concatenate(rows) for rows in seen.values())
    np.testing.assert_array_equal(a, b)
    U = a[400:]
    assert U.shape == (5000, 2)
    expected = emmv(
        {"a": norm(X), "b": first(X)},
        {"a": norm(U), "b": first(U)},
        Box.from_data(X),
        rng=1,
        n_resamples=50,
    )
    for name in "ab":
        for mine, other in zip(result[name], expected[name], strict=True):
            assert mine.value == other.value
    assert result.significant_pairs("em") == expected.significant_pairs("em") == [("a", "b")]


@pytest.mark.parametrize("method", ["uniform", "splitting", "auto"])
def test_any_number_of_threads_gives_the_same(method: Any) -> None:
    X = points(0, 200, 1, d=3)[0]
    scores: dict[str, Any] = {"a": norm, "b": OfBatch(first, 3), "c": norm_of_point}
    results = [
        fastad.evaluate_unsupervised(
            scores, X, method=method, n_draws=20_000, rng=0, n_resamples=50, n_threads=k
        ).to_json()
        for k in (1, 2)
    ]
    assert results[0] == results[1]


@pytest.mark.slow
def test_in_many_features_detectors_are_significantly_different_by_splitting() -> None:
    d = 12
    X = points(0, 1000, 1, d=d)[0]
    box = Box([-7.0] * d, [7.0] * d)

    def stretched(rows: Array) -> Array:
        return norm(rows * np.linspace(0.5, 1.5, d))

    result = fastad.evaluate_unsupervised(
        {"stretched": stretched, "norm": norm},
        X,
        box=box,
        method="splitting",
        n_draws=100_000,
        rng=0,
        n_resamples=200,
    )
    assert result["norm"].em.n_uniform is None
    assert result.significant_pairs("em") == [("norm", "stretched")]
    assert result.significant_pairs("mv") == [("norm", "stretched")]


def test_what_detectors_must_be() -> None:
    X = points(0, 20, 1)[0]
    with pytest.raises(
        TypeError, match="detectors must name at least one detector; found dict without"
    ):
        fastad.evaluate_unsupervised({}, X)
    with pytest.raises(TypeError, match="detectors must name at least one detector; found list"):
        fastad.evaluate_unsupervised([norm], X)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="method must be one of"):
        fastad.evaluate_unsupervised({"a": norm}, X, method="exact")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="box must have 2 features as X; found 1"):
        fastad.evaluate_unsupervised({"a": norm}, X, box=Box([0], [1]))
    with pytest.raises(InvalidInputError, match="NaN"):
        fastad.evaluate_unsupervised({"a": lambda rows: np.full(len(rows), np.nan)}, X)
    call: Any = fastad.evaluate_unsupervised
    for options in ({"n_features": 1}, {"n_subspaces": 3}, {"n_jobs": 1}):
        with pytest.raises(InvalidInputError, match="must not be given without X_train"):
            call({"a": norm}, X, **options)
    for other in ({"box": Box.from_data(X)}, {"method": "sobol"}):
        with pytest.raises(InvalidInputError, match="must not be given beside X_train"):
            call({"a": norm}, X, X_train=X, **other)


def test_level_sets_are_of_one_detector_and_stand_alone() -> None:
    levels = fastad.mass_volume_curve([1.0, 2.0], [1.0, 3.0], 1.0).levels
    with pytest.raises(InvalidInputError, match=r"y_score must name level sets of one .*a, b"):
        emmv({"a": levels, "b": levels})
    with pytest.raises(InvalidInputError, match="must not be given beside level sets"):
        emmv({"a": levels}, volume=1.0)
    with pytest.raises(TypeError, match="y_score must name scores; found LevelSets"):
        emmv(levels)
