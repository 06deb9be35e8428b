"""Detectors of goix's benchmark: the paper's three, or those of the caller."""

from collections.abc import Mapping

from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.papers.goix_results import COMMA
from fastad.unsupervised.subspaces import Factory, check_factory


def paper_detectors() -> dict[str, Factory]:
    """Return the paper's three detectors, with the defaults of scikit-learn.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import IsolationForest
        from sklearn.neighbors import LocalOutlierFactor
        from sklearn.svm import OneClassSVM
    except ModuleNotFoundError:
        raise MissingExtraError(
            "the paper's detectors need scikit-learn: pip install 'fastad[sklearn]'"
        ) from None
    return {
        "iForest": IsolationForest(),
        "OCSVM": OneClassSVM(),
        "LOF": LocalOutlierFactor(novelty=True),
    }


def check_detectors(detectors: Mapping[str, Factory]) -> dict[str, Factory]:
    """Check what makes detectors, and their names."""
    if not isinstance(detectors, Mapping) or not detectors:
        raise TypeError(
            f"detectors must name at least one detector; found {type(detectors).__name__}"
            + (" without any" if isinstance(detectors, Mapping) else "")
        )
    makers = {str(name): check_factory(own, str(name)) for name, own in detectors.items()}
    for name in makers:
        if COMMA in name:
            raise InvalidInputError(
                f"detectors must have names without {COMMA!r}; found {name!r}", argument="detectors"
            )
    return makers
