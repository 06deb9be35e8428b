"""Functions with the names, arguments and results of other libraries, computed by fastad."""
