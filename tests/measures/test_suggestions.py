"""Misspelt keys of measures, and names of other libraries, wherever a key is read."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import sklearn.metrics

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.registry import MEASURES
from fastad.measures.requests import OTHER_NAMES, function_of
from fastad.study.config import check_measures
from tests.support.loops import loop

LABELS, SCORES = [0, 1, 0, 1, 1], [0.1, 0.5, 0.4, 0.3, 0.9]
# Whatever reads the key of a measure.
READERS: dict[str, Callable[[str], Any]] = {
    "evaluate": lambda key: fastad.evaluate(LABELS, SCORES, measures=[key]),
    "interval": lambda key: fastad.interval(LABELS, SCORES, measure=key),
    "compare": lambda key: fastad.compare(LABELS, SCORES, SCORES, measure=key),
    "compare_all": lambda key: fastad.compare_all(LABELS, {"a": SCORES, "b": SCORES}, measure=key),
    "chance_level": lambda key: fastad.chance_level(LABELS, SCORES, measure=key),
    "study": lambda key: check_measures([key], []),
}
MISSPELT = {
    "acu": "'auc'",
    "AUC": "'auc'",
    "acu@0.05": "'auc@0.05'",
    "tpr@frp0.1": "'tpr@0.1'",
    "roc-auc": "'roc_auc'",
    "average_precison": "'average_precision'",
    "precision_at_fr": "'precision_at_fpr'",
    "rank power": "'rank_power'",
    "precision@0.05": "'precision@p0.05' or 'precision@fpr0.05'?",
    "precision@5": "'precision@k5'",
}


def message(read: Callable[[str], Any], key: str) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(key)
    return str(caught.value)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_every_reader_of_keys_suggests_what_is_meant(read: Callable[[str], Any]) -> None:
    assert message(read, "acu").endswith("found 'acu'; did you mean 'auc'?")
    assert "did you mean 'auc' or 'roc_auc'?" in message(read, "roc_auc_score")
    assert "did you mean" not in message(read, "qqqq")


@loop("key", ["acu", "tpr@", "tpr@2", "tpr@nan", "recall@k1.5", "auc@tpr", "precision@0.05", "%"])
@loop("name", READERS)
def test_errors_name_the_argument_that_the_function_has(name: str, key: str) -> None:
    argument = "measures" if name in ("evaluate", "study") else "measure"
    with pytest.raises(InvalidInputError) as caught:
        READERS[name](key)
    assert caught.value.argument == argument
    assert argument == "measures" or "measures" not in str(caught.value)


Y, S = LABELS, SCORES
RANKED = fastad.rank_scores(Y, S)
INTERVAL = partial(fastad.interval, Y, S, measure="auc")
COMPARE = partial(fastad.compare, Y, S, S, measure="auc")
COMPARE_ALL = partial(fastad.compare_all, Y, {"a": S}, measure="ap")
CHANCE = partial(fastad.chance_level, Y, S, measure="auc")
COVARIANCE = partial(fastad.uncertainty.delong_covariance, Y, [S])


@loop(
    ("call", "function", "option", "suggested"),
    [
        (INTERVAL, "interval", "confidence", "confidence_level"),
        (INTERVAL, "interval", "random_state", "rng"),
        (INTERVAL, "interval", "seed", "rng"),
        (INTERVAL, "interval", "n_jobs", "n_threads"),
        (COMPARE, "compare", "smallest_difference", "min_difference"),
        (COMPARE, "compare", "n_iter", "n_resamples"),
        (COMPARE_ALL, "compare_all", "corection", "correction"),
        (CHANCE, "chance_level", "n_resample", "n_resamples"),
        (COVARIANCE, "delong_covariance", "pos_labels", "pos_label"),
        (partial(RANKED.interval, measure="tpr_at_fpr"), "interval", "frp", "fpr"),
        (RANKED.tpr_at_fpr, "tpr_at_fpr", "frp", "fpr"),
        (RANKED.precision_at_p, "precision_at_p", "random_state", "rng"),
    ],
)
def test_unknown_options_are_named_with_the_function_that_was_called(
    call: Callable[..., Any], function: str, option: str, suggested: str
) -> None:
    with pytest.raises(InvalidTypeError) as caught:
        call(**{option: 0.1})
    assert caught.value.argument == option
    assert str(caught.value).startswith(f"{option} must be an option of {function}")
    assert f"; did you mean {suggested!r}" in str(caught.value)


@loop(("key", "meant"), MISSPELT.items())
def test_what_is_meant_is_among_the_suggestions(key: str, meant: str) -> None:
    assert meant in message(READERS["evaluate"], key).partition("; did you mean ")[2]


@loop(("name", "keys"), OTHER_NAMES.items())
def test_names_of_other_libraries(name: str, keys: tuple[str, ...]) -> None:
    assert name not in MEASURES
    if name.endswith("_score"):
        assert hasattr(sklearn.metrics, name)
    for key in keys:
        assert function_of(key) is not None
        fastad.evaluate(LABELS * 20, SCORES * 20, measures=[key])
