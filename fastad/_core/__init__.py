"""Foundation of all packages: compilation, threads, memory, parameters, files and tables."""
