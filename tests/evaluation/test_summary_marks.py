"""The best detectors of a data set are marked in summaries, in every form of the table."""

import numpy as np

import fastad

N = 400
RNG = np.random.default_rng(2)
Y = np.arange(N) % 5 == 0
GROUPS = {"dataset": np.arange(N) % 2, "fold": np.arange(N) // 200}
SCORES = {
    "worst": RNG.normal(size=N),
    "best": RNG.normal(size=N) + 3 * Y,
    "middle": RNG.normal(size=N) + Y,
}


def test_the_best_of_each_data_set_is_marked_by_the_direction_of_the_measure() -> None:
    runs = fastad.evaluate(Y, SCORES, measures=["auc", "eer"], groups=GROUPS)
    summary = runs.summary("fold")
    table = summary.text_table()
    head = list(table.header)
    for dataset in (0, 1):
        rows = [i for i, name in enumerate(summary.groups["dataset"]) if name == dataset]
        for label, sign in (("auc", -1), ("eer", 1)):
            ranks = np.argsort(np.argsort(sign * summary.mean[label][rows])) + 1
            column = head.index(label) - 1
            assert [table.marks[i][column] for i in rows] == ranks.tolist()
    # Keys and numbers of runs have no mark.
    assert not any(mark for row in table.marks for mark in row[: head.index("auc") - 1])
    assert "¹" in str(summary)
    assert summary.to_markdown().count("**") == 2 * 4
    assert summary.to_latex().count("0.70") >= 4


def test_one_detector_is_not_the_best_of_anything() -> None:
    runs = fastad.evaluate(Y, SCORES["best"], measures=["auc"], groups=GROUPS)
    assert not runs.summary("fold").text_table().marks
