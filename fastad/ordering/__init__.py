"""From scores and labels to keys, an order, and counts at each distinct score."""
