"""Sphinx configuration: ``python -m sphinx -W -b html docs docs/_build/html``."""

import gc
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import fastad

sys.path.insert(0, str(Path(__file__).parent))

import page_index
import pages
import pictures

# A build keeps all pages that it reads, and looking through them again and again takes a third of
# its time.
gc.disable()

project = "fastad"
author = "the fastad authors"
release = version = fastad.__version__

extensions = [
    "myst_nb",  # pages in Markdown, too
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "formulas",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "changes"]
# Docstrings write `fastad.roc_auc`; what is no object of the package stays plain.
default_role = "py:obj"
# A name that leads nowhere is an error. In types, only the names of classes of fastad are links.
nitpicky = True
_classes = "|".join(name for name in pages.HOMES if name[:1].isupper())
nitpick_ignore_regex = [
    ("py:class", rf"(?!(.*\W)?({_classes})$).*"),
    ("py:.*", r"(help|joblib|sklearn)(\..*)?"),
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# The outputs that are stored, which a test compares with new ones.
nb_execution_mode = "off"

# Types stand in the docstrings; overloads would repeat each signature.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Beside a page, methods stand below their class.
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_rtype = False
# A list that takes several names in one line, and does not describe fields a second time.
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"fastad {release}"
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
# The button copies what is typed: neither prompts nor outputs.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def draw_pictures(app: Sphinx) -> None:
    """Draw what pages show."""
    pictures.draw_all()


def add_generated_text(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add to a page what follows from the declarations of the measures and of public names."""
    source[0] = pages.complete(docname, source[0])


def write_page_index(app: Sphinx, error: Exception | None) -> None:
    """Write the list of pages for readers that are programs."""
    if error is None and app.builder.format == "html":
        text = page_index.page_index(app.env)
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def list_references(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Turn the footnotes of a docstring, to which nothing refers, into a list."""
    lines[:] = [re.sub(r"^\.\. \[\d+\] ", "#. ", line) for line in lines]


def shorten_signature(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str, str | None] | None:
    """Leave out the parameters of classes that only functions construct, and numbers in a row."""
    if what == "class" and "Parameters\n" not in (obj.__doc__ or ""):
        return "", ""
    if signature is None:
        return None
    number = r"[\d.e-]+"
    many = rf"\(({number}, {number}), (?:{number}, ){{5,}}({number})\)"
    return re.sub(many, r"(\1, ..., \2)", signature), returns


def leave_out_fields(
    app: Sphinx, what: str, name: str, obj: object, skip: object, options: object
) -> bool | None:
    """Leave out what named tuples have as tuples; the docstring of the class has their fields."""
    of_tuple = type(obj).__name__ == "_tuplegetter" or obj is tuple.count or obj is tuple.index
    return True if of_tuple else None


def unlink_keys(app: Sphinx, tree: nodes.document) -> None:
    """Let keys such as tpr@0.01 be text: docutils takes them for addresses of mail."""
    for link in list(tree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def unlink_words(app: Sphinx, tree: nodes.document) -> None:
    """Let words in types be text: an ``n_samples`` in a shape is not that of some class."""
    for link in list(tree.findall(pending_xref)):
        words = re.split(r"\W+", link["reftarget"])
        if link.get("reftype") == "class" and not words[-1][:1].isupper():
            link.replace_self(link.children)


def arrange_wide_text(app: Sphinx, tree: nodes.document) -> None:
    """Mark cells with text, which must not become narrow, and outputs with lines to wrap."""
    for part in list(tree.findall(nodes.Text)):
        if isinstance(part.parent, nodes.paragraph) and re.search(r"\d %", part):
            part.parent.replace(part, nodes.Text(re.sub(r"(?<=\d) (?=%)", _join_words, part)))
    for cell in tree.findall(nodes.entry):
        text = cell.astext()
        if len(text) > 24 and re.search("[a-z]{3}", text):
            cell["classes"].append("prose")
        for name in list(cell.findall(nodes.literal)):
            if len(name.astext()) > 18:
                _allow_breaks(name)
        for part in list(cell.findall(nodes.Text)):
            # An interval, a pair and a factor each stay in one line.
            joined = re.sub(r"(?<=\d),? (?=\d[\d.]*\]|\N{MULTIPLICATION SIGN})", _join_words, part)
            joined = re.sub(r"(?<=\d) / (?=\d)", _join_words, joined)
            if joined != part:
                part.parent.replace(part, nodes.Text(joined))
    for block in tree.findall(nodes.literal_block):
        # Doctests end with an empty line, which is no part of what is shown.
        block.rawsource = block.rawsource.rstrip("\n")
        block[:] = [nodes.Text(block.astext().rstrip("\n"))]
        if max(map(len, block.astext().splitlines()), default=0) > 120:
            block["classes"].append("sentences")


def _allow_breaks(name: nodes.literal) -> None:
    """Let a long name in a cell continue in the next line, behind a dot or before a capital."""
    parts = re.split(r'(?<=[._(=@])(?=[a-zA-Z…"])|(?<=[a-z])(?=[A-Z])', name.astext())
    name[:] = [nodes.Text(parts[0])]
    for part in parts[1:]:
        name += [nodes.raw("", "<wbr>", format="html"), nodes.Text(part)]


def _join_words(result: re.Match[str]) -> str:
    return result[0].replace(" ", "\N{NO-BREAK SPACE}")


def resolve_short_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Resolve ``fastad.evaluate``, ``evaluate`` and ``Interval`` to where they are described."""
    # The type of "mapping of str to Interval" ends in "str to Interval".
    written = node.get("reftarget", "").rpartition(" ")[2]
    name, *attributes = written.removeprefix("fastad.").split(".")
    # As a type, a word such as "volume" is no function.
    known = name in pages.HOMES and (node.get("reftype") != "class" or name[:1].isupper())
    if node.get("refdomain") != "py" or not known:
        return None
    target = ".".join([pages.HOMES[name], name, *attributes])
    domain = env.get_domain("py")
    kind = node["reftype"]
    return domain.resolve_xref(env, node["refdoc"], app.builder, kind, target, node, content)


def setup(app: Sphinx) -> None:
    """Connect what completes pages, docstrings and references."""
    app.connect("builder-inited", draw_pictures)
    app.connect("source-read", add_generated_text)
    app.connect("autodoc-process-docstring", list_references, priority=600)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("doctree-read", unlink_keys)
    app.connect("doctree-read", unlink_words)
    app.connect("doctree-read", arrange_wide_text)
    app.connect("missing-reference", resolve_short_name)
    app.connect("build-finished", write_page_index)
