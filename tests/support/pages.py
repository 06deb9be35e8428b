"""Pages of results and of reports that were read."""

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "img", "br", "hr", "link", "input", "wbr"}


class Page(HTMLParser):
    """Tags, shown text, tables, heads and data of a page, whose tags must be balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.heads: list[str] = []
        self.rows: list[list[str]] = []
        self.data: list[list[dict[str, Any]]] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag = self.open[-1] if self.open else ""
        if tag == "script" and self.tags[-1][1].get("type") == "application/json":
            self.data.append(json.loads(data))
        elif tag not in ("script", "style"):
            self.text.append(data)
        if tag in ("td", "th"):
            self.rows[-1][-1] += data
        if tag in ("h1", "h2"):
            self.heads.append(data)

    @property
    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(" ".join(self.text).split())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]
