"""Needs and exclusions of each option of each command, so that none is silently ignored."""

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
    """The option would be ignored beside another, for a reason that the message has."""

    option: str
    because: str
    # Values of the other beside which it would be ignored; none for all.
    values: Sequence[str] = ()
    # An option beside which it is of use all the same.
    unless: str = ""


Rule: TypeAlias = Needs | Excludes

_TO_FIT = [Needs(["detector"])]
_UNCERTAIN = [Needs(["ci", "chance"])]
_PAIRED = [Excludes("independent", "it is for detectors on the same samples")]
_NOT_DELONG = [Excludes("method", "it draws nothing", ["delong", "student", "exact"])]
_IN_MEMORY = "it is for scores that are in memory"
_NOT_STREAMED = [Excludes("memory", _IN_MEMORY)]
_NO_RUNS = "mean ± std over runs has neither intervals nor chance levels"
_OF_PARTS = [Excludes("summary", "mean ± std over runs is of the measures")]
_ONE_DESIGN = "rows come in clusters or in time"
_NO_DRAWS = "the exact method draws nothing"


def _free(parameters: str) -> dict[str, Sequence[Rule]]:
    """Return parameters, separated by spaces, that need and exclude nothing."""
    return dict.fromkeys(parameters.split(), ())


# Detectors, rows and columns: the parameters of `fastad.cli._detector_commands`.
_OF_DETECTORS: Mapping[str, Sequence[Rule]] = {
    **_free("file model detector feature label"),
    "trust": [Needs(["model"])],
    "train": _TO_FIT,
    "standardize": _TO_FIT,
}

# By command, then by parameter; every parameter of every command stands here.
RULES: Mapping[str, Mapping[str, Sequence[Rule]]] = {
    "evaluate": {
        **_free("files label score pos_label group fpr measure as_json memory output"),
        "kinds": _OF_PARTS,
        "segments": _OF_PARTS,
        "overlap": [Needs(["kinds", "segments"])],
        "events_per_day": [Needs(["kinds", "segments"])],
        "summary": [*_NOT_STREAMED, Needs(["group"])],
        "threshold": _NOT_STREAMED,
        "score_range": [Needs(["measure"])],
        "nan_policy": _NOT_STREAMED,
        "contamination": _NOT_STREAMED,
        "ci": [Excludes("summary", _NO_RUNS)],
        "confidence_level": [Needs(["ci"])],
        "chance": [
            Excludes("summary", _NO_RUNS),
            Excludes("contamination", "no chance level is derived for it"),
            *_NOT_STREAMED,
        ],
        "clusters": [*_NOT_STREAMED, *_UNCERTAIN],
        "blocks": [*_NOT_STREAMED, *_UNCERTAIN, Excludes("clusters", _ONE_DESIGN)],
        "n_resamples": _UNCERTAIN,
        "seed": _UNCERTAIN,
        "exact": [Needs(["memory"])],
    },
    "compare": {
        **_free("file label score pos_label independent measure method correction"),
        **_free("confidence_level as_json"),
        "group": _PAIRED,
        "clusters": _PAIRED,
        "blocks": [*_PAIRED, Excludes("clusters", _ONE_DESIGN)],
        "min_difference": _PAIRED,
        "n_resamples": _NOT_DELONG,
        "seed": _NOT_DELONG,
        "output": [Excludes("independent", "a sentence for each detector is no table")],
    },
    "counts": {
        **_free("sql table score label group bins refine"),
        "measure": [Needs(["refine"])],
        "tolerance": [Needs(["refine"])],
    },
    "gate": {**_free("policy new old power as_json output"), "loss": [Needs(["power"])]},
    "explain": _free("files value measure label score pos_label group as_json output"),
    "compare-runs": {
        **_free("files dataset detector params fold anomaly_class measure higher_is_better"),
        **_free("lower_is_better by operating_fpr reference control confidence_level"),
        **_free("n_resamples seed output as_json"),
    },
    "volume": {
        **_OF_DETECTORS,
        **_free("pos_label fpr method margin as_json output"),
        "rtol": [Excludes("method", _NO_DRAWS, ["exact"])],
        "n_draws": [Excludes("method", _NO_DRAWS, ["exact"])],
        "confidence_level": [Excludes("method", "an exact volume has no interval", ["exact"])],
        # Detectors are fitted with it too.
        "seed": [Excludes("method", _NO_DRAWS, ["exact"], unless="detector")],
    },
    "evaluate-unsupervised": {
        **_OF_DETECTORS,
        **_free("method n_draws mass excess_mass n_resamples confidence_level seed as_json output"),
        "n_features": [
            Excludes(
                "model", "detectors are trained anew in each subspace, which a saved one cannot be"
            )
        ],
        "n_subspaces": [Needs(["n_features"])],
    },
    "demo": _free("output"),
    "warmup": {},
    "doctor": {},
    "label plan": _free(
        "file target budget score prevalence auc labeled confidence_level as_json output"
    ),
    "label draw": _free("file target budget output score prevalence auc labeled seed"),
    "label status": _free("files"),
    "label evaluate": _free("file target labeled score confidence_level as_json output"),
    "study run": {
        **_free("config data output jobs timeout retry_failed"),
        "profile": [Excludes("config", "the configuration says what is run")],
    },
    "study status": _free("folder"),
    "study report": _free("folder output n_resamples seed"),
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
        paths = {name: _paths(value) for name, value in ctx.params.items()}
        outputs = paths.pop("output", [])
        # What can be read once is named once.
        if sum(each.count(Path("-")) for each in paths.values()) > 1:
            raise typer.BadParameter("the standard input (-) can be read once")
        if _words(ctx) == "label draw":
            # It adds rows to those that the file has.
            del paths["labeled"]
        _check_outputs(outputs, paths)
        return super().invoke(ctx)


def _paths(value: Any) -> list[Path]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, Path)]


def _check_outputs(outputs: Sequence[Path], paths: Mapping[str, Sequence[Path]]) -> None:
    """Check that no output replaces a file that is read."""
    read = [path.resolve() for each in paths.values() for path in each]
    for output in outputs:
        if output.is_file() and any(output.resolve().is_relative_to(path) for path in read):
            raise typer.BadParameter(
                f"would replace a file that is read: {output}", param_hint="--output"
            )


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
