"""Sphinx configuration: ``python -m sphinx -W -b html docs docs/_build/html``."""

import re
import sys
from pathlib import Path

import pages
from sphinx.application import Sphinx

import fastad

sys.path.insert(0, str(Path(__file__).parent))


project = "fastad"
author = "the fastad authors"
release = version = fastad.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "prose"]
# Docstrings write `fastad.roc_auc`; what is no object of the package stays plain.
default_role = "py:obj"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Types stand in the docstrings; overloads would repeat each signature.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
# A list that takes several names in one line, and does not describe fields a second time.
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"fastad {release}"
html_show_sourcelink = False


def list_references(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Turn the footnotes of a docstring, to which nothing refers, into a list."""
    lines[:] = [re.sub(r"^\.\. \[\d+\] ", "#. ", line) for line in lines]


def write_pages(app: Sphinx) -> None:
    """Write the pages of the measures before Sphinx looks for sources."""
    pages.write_pages()


def setup(app: Sphinx) -> None:
    """Connect what runs before the sources are read, and what mends docstrings."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", list_references, priority=600)
