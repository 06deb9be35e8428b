"""What pytest leaves out here: generated pages repeat the prose, and conf.py runs in Sphinx."""

collect_ignore = ["conf.py"]
collect_ignore_glob = ["_build/*", "measures/*"]
