"""Every measure has its page, every public name its description; the documentation builds."""

import importlib
import importlib.util
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import fastad
from fastad.measures.registry import MEASURES
from tests.support.project import PROJECT

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_measure_has_a_page_and_every_page_a_measure(pages: ModuleType) -> None:
    pages.check_pages()
    with pytest.raises(ValueError, match="not_written_yet"):
        pages.check_pages([*MEASURES, "not_written_yet"])
    with pytest.raises(ValueError, match="roc_auc"):
        pages.check_pages([name for name in MEASURES if name != "roc_auc"])


def test_every_page_is_in_the_contents() -> None:
    docs = ROOT / "docs"
    for index in [docs / "index.md", *docs.glob("*/index.md")]:
        if index.parent.name == "measures":
            continue  # generated
        # Pages of a folder are below its index, or below another one of them.
        beside = list(index.parent.glob("*.md"))
        contents = {name for path in beside for name in _contents(path)}
        assert {path.stem for path in beside} - {"index"} <= contents, index


def _contents(page: Path) -> list[str]:
    """Return what the lists of contents of a page name."""
    _, *blocks = page.read_text(encoding="utf-8").split("```{toctree}\n")
    return [name for block in blocks for name in block.partition("```")[0].split()]


def test_files_that_pages_name_exist() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "contributing"]
    for page in [ROOT / "README.md", *pages]:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"\b(?:tests|bench|docs)/[\w/*]+\.(?:py|md|csv|toml)\b", text):
            assert list(ROOT.glob(name)), f"{page.name}: {name}"


def test_a_change_for_the_changelog_is_one_item_without_a_bullet() -> None:
    """A release writes the bullets."""
    files = (ROOT / "docs" / "changes").glob("*.md")
    assert [path.name for path in files if path.read_text("utf-8").startswith("-")] == []


def test_the_badges_of_the_readme_are_true() -> None:
    readme, project = ((ROOT / name).read_text("utf-8") for name in ("README.md", "pyproject.toml"))
    (python,) = re.findall(r'^requires-python = ">=(.+)"$', project, re.MULTILINE)
    (terms,) = re.findall(r'^license = "(.+)"$', project, re.MULTILINE)
    assert re.findall(r"/badge/(\S+)-blue\)", readme) == [
        f"python-{python}_or_newer",
        f"license-{terms.replace('-', '--')}",
        "typing-strict",
    ]
    assert re.search(r"^strict = true$", project, re.MULTILINE)
    assert (ROOT / "fastad" / "py.typed").exists()


def test_the_papers_are_called_the_same_everywhere() -> None:
    """CITATION.cff and the documentation name five texts; docstrings cite these."""
    references = (ROOT / "CITATION.cff").read_text("utf-8").partition("references:")[2]
    titles = re.findall(r'\btitle: "(.+)"', references)
    links = re.findall(r'\b(?:url|repository-code): "(.+)"', references)
    assert (len(titles), len(links)) == (5, 4)
    text = (ROOT / "docs" / "start" / "papers.md").read_text("utf-8")
    assert [name for name in [*titles, *links] if name not in text] == []
    cited = set()
    for path in (ROOT / "fastad").rglob("*.py"):
        text = " ".join(path.read_text("utf-8").split())
        cited |= set(
            re.findall(r'\.\. \[\d\] (?:[^"\[]*(?:Škvára|Ning|Fülöp))[^"\[]*"(.+?),?"', text)
        )
    assert cited == {title for title in titles if "quality" not in title}


def test_how_to_cite_has_the_version_and_the_papers() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.M) == [fastad.__version__]
    assert re.findall(r"^date-released: 20\d\d-\d\d-\d\d$", citation, re.M) != []
    page = (ROOT / "docs" / "start" / "citing.md").read_text("utf-8")
    # In BibTeX, in plain text, and in an example.
    assert set(re.findall(r"\d+\.\d+\.\d+", page)) == {fastad.__version__}
    titles = re.findall(r'\btitle: "(.+)"', citation)
    assert [each for each in titles if each not in re.sub("[{}]", "", page)] == []


def test_the_recipe_has_the_version_and_the_requirements() -> None:
    recipe = yaml.safe_load((ROOT / ".conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == fastad.__version__
    assert recipe["package"] == {"name": PROJECT["name"], "version": "${{ version }}"}
    needed = {*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]}
    needed.add(f"python{PROJECT['requires-python']}")
    assert {line.replace(" ", "") for line in recipe["requirements"]["run"]} == needed
    assert recipe["requirements"]["host"][0] == f"python {PROJECT['requires-python'][2:]}.*"
    (script,) = PROJECT["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(script)]
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert (ROOT / about["license_file"]).exists()


# Links of built pages: which lead nowhere, and what a page loads from the network.

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


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">1</a><a href="b.html#there">2</a><a href="https://x.org">3</a>'
        '<a href="c.html">4</a><a href="#away">5</a><a href="b.html#away">6</a>'
        '<a href="mailto:tpr@0.01">7</a><script src="https://cdn.org/m.js"></script></p>',
        encoding="utf-8",
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>', encoding="utf-8")
    results = ["c.html", "#away", "b.html#away", "mailto:tpr@0.01", "https://cdn.org/m.js"]
    assert dead_links(tmp_path) == [f"a.html: {link}" for link in results]


# The list of all pages beside each page, typographic quotes, and pictures of measures as files take
# a third of the time of a build. Here one page has the list, and one measure a file that is no dot.
BUILD = """
import sys
from sphinx.application import Sphinx
docs, html, trees = sys.argv[1:]
options = {"smartquotes": False}
from matplotlib.figure import Figure
from fastad.measures.registry import MEASURES
save = Figure.savefig
def save_few(figure, path, **options):
    if path.stem in MEASURES and path.stem != "roc_auc":
        path.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
    else:
        save(figure, path, **options)
Figure.savefig = save_few
app = Sphinx(docs, docs, html, trees, "html", options, status=None, warningiserror=True)
def leave_out_list(app, page, template, context, tree):
    if page != "index":
        context["toctree"] = lambda **options: ""
app.connect("html-page-context", leave_out_list, priority=400)
app.build()
sys.exit(app.statuscode)
"""


@pytest.mark.system
def test_the_documentation_builds_without_warnings(tmp_path: Path, pages: ModuleType) -> None:
    html = tmp_path / "html"
    build = subprocess.run(
        [sys.executable, "-c", BUILD, ROOT / "docs", html, tmp_path / "trees"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    assert dead_links(html) == []
    for name in MEASURES:
        page = (html / "measures" / f"{name}.html").read_text(encoding="utf-8")
        assert f"fastad.measures.{name}" in page
        assert re.search(rf'<img [^>]*src="\.\./_images/{name}\.svg"', page), name
    # What they show lies in the folder of generated files, which is made anew.
    gallery = (html / "measures" / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<img [^>]*_images/\w+\.svg", gallery)) == len(MEASURES)
    # Programs find every page in one list, and readers what they look for.
    listed = re.findall(r"\]\(([\w./]+)\.html\)", (html / "llms.txt").read_text("utf-8"))
    written = {path.relative_to(html).as_posix() for path in html.rglob("*.html")}
    made = {"index.html", "genindex.html", "py-modindex.html", "search.html"}
    assert sorted(f"{name}.html" for name in listed) == sorted(written - made)
    terms = (html / "searchindex.js").read_text("utf-8")
    assert [word for word in ("bibtex", "imbalanc", "youden") if f'"{word}":' not in terms] == []
    assert "copybutton" in (html / "index.html").read_text("utf-8")
    # Every public name is described, on the page of its package or of its measure.
    inventory = (html / "objects.inv").read_bytes().split(b"\n", 4)[4]
    entries = [line.split(" ") for line in zlib.decompress(inventory).decode().splitlines()]
    described = {entry[0]: entry[3].replace("$", entry[0]) for entry in entries}
    for package in pages.PACKAGES:
        for name in importlib.import_module(f"fastad.{package}").__all__:
            uri = described[f"fastad.{package}.{name}"]
            assert uri.startswith((f"reference/{package}.html", f"measures/{name}.html"))
