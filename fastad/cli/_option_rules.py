"""What each option of each command needs and excludes, so that none is silently ignored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand


@dataclass(frozen=True, slots=True)
class Needs:
    """The option is of use only beside one of these."""

    options: Sequence[str]


@dataclass(frozen=True, slots=True)
class Excludes:
    """The option would be ignored beside another.

    Attributes
    ----------
    option : str
        The other.
    because : str
        What the message says.
    values : sequence of str
        Values of the other beside which it would be ignored; none for all.
    unless : str
        An option beside which it is of use all the same.
    """

    option: str
    because: str
    values: Sequence[str] = ()
    unless: str = ""


Rule: TypeAlias = Needs | Excludes

_FREE: Sequence[Rule] = ()
_TO_FIT = [Needs(["detector"])]
_UNCERTAIN = [Needs(["ci", "chance"])]
_PAIRED = [Excludes("independent", "it is for detectors on the same samples")]
_NOT_DELONG = [Excludes("method", "DeLong's variance draws nothing", ["delong", "student"])]
_IN_MEMORY = "it is for scores that are in memory"
_NOT_STREAMED = [Excludes("memory", _IN_MEMORY)]
_NO_RUNS = "mean ± std over runs has neither intervals nor chance levels"
_ONE_DESIGN = "rows come in clusters or in time"
_NO_DRAWS = "the exact method draws nothing"

# Which detectors, of which rows and columns: the parameters of `fastad.cli._detector_commands`.
_OF_DETECTORS: Mapping[str, Sequence[Rule]] = {
    "file": _FREE,
    "model": _FREE,
    "trust": [Needs(["model"])],
    "detector": _FREE,
    "train": _TO_FIT,
    "standardize": _TO_FIT,
    "feature": _FREE,
    "label": _FREE,
}

# By command, then by parameter; every parameter of every command stands here.
RULES: Mapping[str, Mapping[str, Sequence[Rule]]] = {
    "evaluate": {
        "files": _FREE,
        "label": _FREE,
        "score": _FREE,
        "pos_label": _FREE,
        "group": _FREE,
        "summary": [*_NOT_STREAMED, Needs(["group"])],
        "fpr": _FREE,
        "measure": _FREE,
        "threshold": _NOT_STREAMED,
        "score_range": [*_NOT_STREAMED, Needs(["measure"])],
        "nan_policy": _NOT_STREAMED,
        "contamination": _NOT_STREAMED,
        "ci": [Excludes("summary", _NO_RUNS), *_NOT_STREAMED],
        "confidence_level": [Needs(["ci"])],
        "chance": [
            Excludes("summary", _NO_RUNS),
            Excludes("contamination", "no chance level is derived for it"),
            *_NOT_STREAMED,
        ],
        "clusters": _UNCERTAIN,
        "blocks": [*_UNCERTAIN, Excludes("clusters", _ONE_DESIGN)],
        "n_resamples": _UNCERTAIN,
        "seed": _UNCERTAIN,
        "as_json": _FREE,
        "memory": _FREE,
        "exact": [Needs(["memory"])],
        "output": _FREE,
    },
    "compare": {
        "file": _FREE,
        "label": _FREE,
        "score": _FREE,
        "pos_label": _FREE,
        "group": _PAIRED,
        "independent": _FREE,
        "measure": _FREE,
        "method": _FREE,
        "clusters": _PAIRED,
        "blocks": [*_PAIRED, Excludes("clusters", _ONE_DESIGN)],
        "correction": _FREE,
        "confidence_level": _FREE,
        "min_difference": _PAIRED,
        "n_resamples": _NOT_DELONG,
        "seed": _NOT_DELONG,
        "as_json": _FREE,
        "output": [Excludes("independent", "a sentence for each detector is no table")],
    },
    "explain": {
        "files": _FREE,
        "value": _FREE,
        "measure": _FREE,
        "label": _FREE,
        "score": _FREE,
        "pos_label": _FREE,
        "group": _FREE,
        "as_json": _FREE,
        "output": _FREE,
    },
    "compare-runs": {
        "files": _FREE,
        "dataset": _FREE,
        "detector": _FREE,
        "params": _FREE,
        "fold": _FREE,
        "anomaly_class": _FREE,
        "measure": _FREE,
        "higher_is_better": _FREE,
        "lower_is_better": _FREE,
        "by": _FREE,
        "operating_fpr": _FREE,
        "reference": _FREE,
        "control": _FREE,
        "confidence_level": _FREE,
        "n_resamples": _FREE,
        "seed": _FREE,
        "output": _FREE,
        "as_json": _FREE,
    },
    "volume": {
        **_OF_DETECTORS,
        "pos_label": _FREE,
        "fpr": _FREE,
        "method": _FREE,
        "n_draws": [Excludes("method", _NO_DRAWS, ["exact"])],
        "rtol": _FREE,
        "margin": _FREE,
        "confidence_level": [Excludes("method", "an exact volume has no interval", ["exact"])],
        # Detectors are fitted with it too.
        "seed": [Excludes("method", _NO_DRAWS, ["exact"], unless="detector")],
        "as_json": _FREE,
        "output": _FREE,
    },
    "evaluate-unsupervised": {
        **_OF_DETECTORS,
        "method": _FREE,
        "n_draws": _FREE,
        "n_features": [
            Excludes(
                "model", "detectors are trained anew in each subspace, which a saved one cannot be"
            ),
        ],
        "n_subspaces": [Needs(["n_features"])],
        "mass": _FREE,
        "excess_mass": _FREE,
        "n_resamples": _FREE,
        "confidence_level": _FREE,
        "seed": _FREE,
        "as_json": _FREE,
        "output": _FREE,
    },
    "demo": {"output": _FREE},
    "warmup": {},
    "doctor": {},
    "study run": {
        "config": _FREE,
        "profile": [Excludes("config", "the configuration says what is run")],
        "data": _FREE,
        "output": _FREE,
        "jobs": _FREE,
        "timeout": _FREE,
        "retry_failed": _FREE,
    },
    "study status": {"folder": _FREE},
    "study report": {
        "folder": _FREE,
        "output": _FREE,
        "n_resamples": _FREE,
        "seed": _FREE,
    },
}


class CheckedCommand(TyperCommand):
    """A command that refuses options which it would ignore."""

    def invoke(self, ctx: Any) -> Any:
        """Check the options that are given, then run the command."""
        # Arguments are known by their metavar: CONFIG.toml.
        written = {
            str(row.name): row.opts[0] if row.param_type_name == "option" else str(row.metavar)
            for row in self.params
        }
        given = {name for name in written if ctx.get_parameter_source(name).name == "COMMANDLINE"}
        for name, rules in RULES[_words(ctx)].items():
            for rule in rules if name in given else ():
                message = _broken(rule, ctx.params, given, written)
                if message:
                    raise typer.BadParameter(message, param_hint=written[name])
        _check_standard_input(ctx.params)
        return super().invoke(ctx)


def _check_standard_input(values: Mapping[str, Any]) -> None:
    """Check that what can be read once is named once."""
    paths = [
        path
        for value in values.values()
        for path in (value if isinstance(value, list | tuple) else [value])
    ]
    if paths.count(Path("-")) > 1:
        raise typer.BadParameter("the standard input (-) can be read once")


def _words(ctx: Any) -> str:
    """Return the words that name a command behind ``fastad``."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(words)


def _broken(
    rule: Rule, values: Mapping[str, Any], given: set[str], written: Mapping[str, str]
) -> str | None:
    """Return how the options that are given break a rule."""
    if isinstance(rule, Needs):
        if given.isdisjoint(rule.options):
            return f"is of use only with {' or '.join(written[name] for name in rule.options)}"
        return None
    if rule.option not in given or rule.unless in given:
        return None
    if rule.values and values[rule.option] not in rule.values:
        return None
    other = " ".join([written[rule.option], *([values[rule.option]] if rule.values else [])])
    return f"would be ignored beside {other}: {rule.because}"
