"""Misspelt keys of measures, and names of other libraries, wherever a key is read."""

from collections.abc import Callable
from typing import Any

import pytest
import sklearn.metrics

import fastad
from fastad.errors import InvalidInputError
from fastad.measures.registry import MEASURES
from fastad.measures.requests import function_of
from fastad.measures.suggestions import OTHER_NAMES
from fastad.study.config import check_measures

LABELS, SCORES = [0, 1, 0, 1, 1], [0.1, 0.5, 0.4, 0.3, 0.9]
# Whatever reads the key of a measure.
READERS: dict[str, Callable[[str], Any]] = {
    "evaluate": lambda key: fastad.evaluate(LABELS, SCORES, measures=[key]),
    "interval": lambda key: fastad.interval(LABELS, SCORES, measure=key),
    "compare": lambda key: fastad.compare(LABELS, SCORES, SCORES, measure=key),
    "compare_all": lambda key: fastad.compare_all(LABELS, {"a": SCORES, "b": SCORES}, measure=key),
    "chance_level": lambda key: fastad.chance_level(LABELS, SCORES, measure=key),
    "study": lambda key: check_measures([key], "measures"),
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


@pytest.mark.parametrize(("key", "meant"), MISSPELT.items())
def test_what_is_meant_is_among_the_suggestions(key: str, meant: str) -> None:
    assert meant in message(READERS["evaluate"], key).partition("; did you mean ")[2]


@pytest.mark.parametrize(("name", "keys"), OTHER_NAMES.items())
def test_names_of_other_libraries(name: str, keys: tuple[str, ...]) -> None:
    assert name not in MEASURES
    if name.endswith("_score"):
        assert hasattr(sklearn.metrics, name)
    for key in keys:
        assert function_of(key) is not None
        fastad.evaluate(LABELS * 20, SCORES * 20, measures=[key])
