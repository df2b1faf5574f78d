"""The report in a real browser: nothing in its console, rules of accessibility, keys, widths."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import TAB, Browser, browser
from report_documents import make_files

from enginewright.report.package import make_report

WIDTHS = (360, 768, 1280)
RULES = (
    "axe.run(document).then(r => arguments[0](r.violations.map(v => v.id + ' ' + v.nodes[0].html)))"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    path = folder / "report.html"
    path.write_text(make_report(make_files(folder)).text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


def axe() -> str:
    """The text of axe.min.js, out of the wheel that ships it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_of_accessibility(opened: Browser, page: Path, scheme: str) -> None:
    opened.prefer(scheme)
    opened.open(page)
    opened.run(axe())
    assert opened.wait(RULES) == []


def test_dark_is_dark(opened: Browser, page: Path) -> None:
    colours = []
    for scheme in ("light", "dark"):
        opened.prefer(scheme)
        opened.open(page)
        colours.append(opened.run("return getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(22, 24, 26)"]


def test_a_fault_is_seen_by_the_rules(opened: Browser, page: Path) -> None:
    opened.open(page)
    opened.run("document.documentElement.removeAttribute('lang')")
    opened.run(axe())
    assert [found.split()[0] for found in opened.wait(RULES)] == ["html-has-lang"]


def test_the_console_stays_empty(opened: Browser, page: Path) -> None:
    opened.open(page)
    opened.messages()
    opened.open(page)
    assert opened.messages() == []
    opened.run("console.error('seen')")
    assert len(opened.messages()) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_no_wider_than_the_window(opened: Browser, page: Path, width: int) -> None:
    opened.resize(width, 800)
    opened.open(page)
    assert opened.run("return window.innerWidth") == width
    seen = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    needed, shown = opened.run(seen)
    assert needed == shown


def test_keys_reach_each_link_and_each_wide_table(opened: Browser, page: Path) -> None:
    opened.resize(360, 800)
    opened.open(page)
    wanted = opened.run("return document.querySelectorAll('a, .wide').length")
    seen = []
    for _ in range(wanted):
        opened.press(TAB)
        seen.append(
            opened.run(
                "const e = document.activeElement;"
                "return e.getAttribute('href') || e.getAttribute('aria-label')"
            )
        )
    assert seen[0] == "#build"
    assert "Inputs of the build" in seen
    assert len(seen) == len(set(seen)) == wanted


def test_the_page_asks_for_nothing_else(opened: Browser, page: Path) -> None:
    opened.open(page)
    assert opened.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert opened.run("return document.scripts.length") == 0
