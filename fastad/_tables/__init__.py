"""Tables in files: text, Parquet, Arrow and NumPy archives, read in memory or batch by batch."""
