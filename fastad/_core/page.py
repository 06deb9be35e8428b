"""Pages of HTML that need no other file."""

import html
from collections.abc import Mapping
from importlib.resources import files
from string import Template

from fastad._core.version import __version__


def html_page(title: str, sections: Mapping[str, str]) -> str:
    """Return a page of sections in HTML, each below its name where there are several."""
    heads = [f"<h2>{html.escape(name)}</h2>" if len(sections) > 1 else "" for name in sections]
    parts = zip(heads, sections.values(), strict=True)
    body = "\n".join(f"<section>{head}\n{text}\n</section>" for head, text in parts)
    return filled("fastad._core", "page.html", title=html.escape(title), body=body)


def filled(package: str, name: str, **parts: str) -> str:
    """Return a template of a package, filled with parts in HTML."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return Template(text).substitute(version=__version__, **parts)
