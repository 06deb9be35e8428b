"""The release gate: whether a new detector may replace the old one, by a policy."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.release.decision import gate as gate
    from fastad.release.decision import power_of_policy as power_of_policy
    from fastad.release.policy import Policy as Policy
    from fastad.release.policy import Requirement as Requirement
    from fastad.release.policy import read_policy as read_policy
    from fastad.release.results import GateResult as GateResult
    from fastad.release.results import GateRow as GateRow
    from fastad.release.results import PolicyPower as PolicyPower

__getattr__, __dir__, __all__ = lazy_names()
