"""Formulas as MathML, which browsers draw themselves: pages need no network and no script."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator


def mathml(tex: str, *, as_block: bool) -> str:
    """Return the MathML of a formula in TeX.

    Raises
    ------
    sphinx.errors.ExtensionError
        If docutils does not know a command; it names the formula.
    """
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"the formula {tex!r} cannot be shown: {error}") from error


def add_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Add a formula within a line."""
    translator.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def add_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Add a formula on lines of its own, which scrolls where the page is narrower."""
    formula = mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="math" style="overflow-x: auto">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this the way formulas are shown."""
    app.add_html_math_renderer("mathml", (add_inline, None), (add_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
