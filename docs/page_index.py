"""The list of all pages for readers that are programs, in the form of llms.txt."""

import re

from docutils import nodes
from sphinx.environment import BuildEnvironment

_NOTE = """The Markdown of a page lies in `_sources/`, such as `_sources/start/tour.md.txt`,
and a notebook as `.ipynb.txt`.
Examples are executed by tests. Docstrings are only in `reference/` and `measures/`."""


def page_index(env: BuildEnvironment) -> str:
    """Return titles, addresses and first sentences, in the order of the start page."""
    parts = [f"# {env.config.html_title}", f"> {_first_sentence(env, 'index')}", _NOTE]
    for first in env.toctree_includes["index"]:
        folder = first.removesuffix("index")
        pages = sorted(name for name in env.found_docs if name.startswith(folder))
        entries = [
            f"- [{env.titles[name].astext()}]({name}.html): {_first_sentence(env, name)}"
            for name in pages
        ]
        parts += [f"## {env.titles[first].astext()}", "\n".join(entries)]
    return "\n\n".join(parts) + "\n"


def _first_sentence(env: BuildEnvironment, name: str) -> str:
    paragraphs = list(env.get_doctree(name).findall(nodes.paragraph))
    # Tables and definitions only where there is nothing else.
    prose = [each for each in paragraphs if isinstance(each.parent, nodes.section)]
    sentence = re.split(r"(?<=[.?])\s", (prose or paragraphs)[0].astext(), maxsplit=1)[0]
    return " ".join(sentence.split())
