"""Profiles: what a study runs where its configuration does not say."""

from collections.abc import Mapping
from typing import Any

# Minutes, an hour, and as the papers did.
PROFILES: Mapping[str, Mapping[str, Any]] = {
    "quick": {
        "title": "Quick study",
        "data": {"bundled": True, "max_subproblems": 2},
        "protocol": {"repeats": 3},
        "volumes": {"n_draws": 20_000},
        "goix": {"n_draws": 5, "n_uniform": 20_000, "max_train": 1000},
    },
    "medium": {
        "title": "Medium study",
        "data": {"max_subproblems": 3},
        "protocol": {"repeats": 3, "max_train": 2000},
        "goix": {"n_draws": 10, "max_train": 2000, "max_test": 5000},
    },
    "full": {"title": "Full study", "goix": {}},
}
