"""Links of built pages: which lead nowhere, and what a page loads from the network."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches to show a page; a link is fetched when it is followed.
_LOADED = {"script", "link", "img", "iframe"}


class _Page(HTMLParser):
    """The anchors of a page and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str | None] = set()
        self.references: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.anchors |= {named.get("id"), named.get("name")}
        self.references += [(tag, named[key] or "") for key in ("href", "src") if key in named]


def dead_links(folder: Path) -> list[str]:
    """Return the links to files and anchors that are not there, to addresses of mail, and what
    pages load from the network."""
    folder = folder.resolve()
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for tag, link in page.references:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                wrong = tag in _LOADED or parts.scheme == "mailto"
            else:
                target = Path(path.parent, unquote(parts.path)).resolve() if parts.path else path
                anchor = unquote(parts.fragment)
                wrong = not target.is_file() or (
                    anchor != "" and target in pages and anchor not in pages[target].anchors
                )
            if wrong:
                dead.append(f"{path.relative_to(folder)}: {link}")
    return dead
