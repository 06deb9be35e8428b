"""The public functions of labels and scores: check at the door, count, measure."""
