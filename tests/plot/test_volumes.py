"""The volume of decision regions against the false positive rate."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import fastad
from fastad.plot import VolumeDisplay

X = np.random.default_rng(0).normal(size=(400, 2))
SCORES = {
    "round": lambda rows: np.hypot(*rows.T),
    "square": lambda rows: abs(rows).max(axis=1),
}
RATES = [0.2, 0.01, 0.05]
VOLUMES = fastad.volumes(SCORES, X, np.zeros(400), fpr=RATES, n_draws=4096, rng=0)


@pytest.mark.parametrize("xscale", ["log", "linear"])
def test_lines_are_the_volumes_by_rising_rate(xscale: str) -> None:
    display = VolumeDisplay(VOLUMES).plot(Figure().subplots(), xscale=xscale)  # type: ignore[arg-type]
    assert list(display.lines_) == ["round", "square"]
    for name, line in display.lines_.items():
        assert list(line.get_xdata()) == sorted(RATES)  # type: ignore[arg-type]
        values = [VOLUMES[name][f"vol@{rate:g}"].value for rate in sorted(RATES)]
        assert list(line.get_ydata()) == values  # type: ignore[arg-type]
    assert display.ax_.get_xscale() == xscale


def test_intervals_are_filled_in_the_colour_of_the_line() -> None:
    display = VolumeDisplay(VOLUMES).plot(Figure().subplots(), legend=False)
    assert len(display.ax_.collections) == 2
    assert display.ax_.get_legend() is None
    low = VOLUMES["round"]["vol@0.01"].low
    heights = display.ax_.collections[0].get_paths()[0].vertices[:, 1]  # type: ignore[index]
    assert np.isclose(heights, low).any()


def test_what_is_no_table_of_volumes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"volumes must be a fastad\.regions\.Volumes; found dict"):
        VolumeDisplay({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(fastad.InvalidInputError, match="xscale must be one of"):
        VolumeDisplay(VOLUMES).plot(Figure().subplots(), xscale="cubic")  # type: ignore[arg-type]
