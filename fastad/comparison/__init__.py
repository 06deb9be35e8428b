"""How criteria of detectors compare, over the detectors of one or many data sets."""
