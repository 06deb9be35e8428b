"""What pytest leaves out here: what Sphinx builds, and its configuration."""

collect_ignore = ["conf.py"]
collect_ignore_glob = ["_build/*", "examples/*"]
