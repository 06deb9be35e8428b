"""What everything rests on: compilation, threads, memory, parameters, files and tables."""
