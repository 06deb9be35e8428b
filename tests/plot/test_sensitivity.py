"""The display of a measure against the fraction of hidden anomalies."""

import numpy as np
import pytest

import fastad
from fastad.plot import ContaminationSensitivityDisplay
from fastad.uncertainty import contamination_sensitivity
from tests.support.drawn import legend_of, new_axes, picture
from tests.support.uncertainty import contaminated

Y, S = contaminated(1, 200, 4000, 0.02, 3.0)
GRID = [0, 0.01, 0.02, 0.5]


def test_lines_are_the_values_and_bands_the_intervals() -> None:
    display = picture(
        ContaminationSensitivityDisplay,
        Y,
        {"a": S, "b": -S},
        measure="tpr@0.05",
        contamination=GRID,
        confidence_level=0.9,
    )
    assert list(display.lines_) == ["a", "b"]
    result = contamination_sensitivity(
        Y, S, measure="tpr@0.05", contamination=GRID, confidence_level=0.9
    )
    assert np.array_equal(display.line_.get_xdata(), result.contamination)
    assert np.array_equal(display.line_.get_ydata(), result.value, equal_nan=True)
    assert legend_of(display.ax_) == ["a", "b", "90 % intervals"]
    assert display.ax_.get_ylabel() == "tpr@0.05"
    assert len(display.ax_.collections) == 2
    # Where the data rule fractions out, of the detector for which they do.
    (mark,) = (line for line in display.ax_.lines if np.size(line.get_xdata()) == 2)
    assert np.asarray(mark.get_xdata()).tolist() == [result.largest] * 2


def test_without_intervals_there_are_lines_alone() -> None:
    result = contamination_sensitivity(Y, S, measure="auc", contamination=GRID[:3])
    display = ContaminationSensitivityDisplay(result).plot(new_axes(), legend=False)
    assert len(display.ax_.collections) == 0
    assert display.ax_.get_legend() is None
    assert display.line_.get_label() == "score"


def test_bad_input_is_refused() -> None:
    one = contamination_sensitivity(Y, S, measure="auc", contamination=[0])
    other = contamination_sensitivity(Y, S, measure="ap", contamination=[0])
    with pytest.raises(fastad.InvalidInputError, match="of one measure; found ap, auc"):
        ContaminationSensitivityDisplay({"a": one, "b": other})
    for wrong in (None, {"a": 1}):
        with pytest.raises(TypeError, match="sensitivities must be a ContaminationSensitivity"):
            ContaminationSensitivityDisplay(wrong)  # type: ignore[arg-type]
    with pytest.raises(fastad.InvalidInputError, match="at least one result; found none"):
        ContaminationSensitivityDisplay({})
    scores = {"a": S, "b": np.append(S[:-1], np.nan)}
    with pytest.raises(fastad.InvalidInputError, match=r"^y_score\['b'\] must not contain NaN"):
        ContaminationSensitivityDisplay.from_predictions(
            Y, scores, measure="auc", contamination=GRID
        )


def test_the_legend_has_intervals_that_the_first_detector_does_not_have() -> None:
    bare = contamination_sensitivity(Y, S, measure="auc", contamination=GRID[:3])
    wide = contamination_sensitivity(
        Y, S, measure="auc", contamination=GRID[:3], confidence_level=0.9
    )
    display = ContaminationSensitivityDisplay({"a": bare, "b": wide}).plot(new_axes())
    assert legend_of(display.ax_) == ["a", "b", "90 % intervals"]
