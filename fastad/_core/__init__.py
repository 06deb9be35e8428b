"""What everything stands on: compilation, threads, memory, parameters, files and tables."""
