"""The protocols of the papers, built on the public parts of `fastad.study`."""
