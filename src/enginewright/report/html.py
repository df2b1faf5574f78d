"""The page around a report: text that is safe in HTML, tables, sections, and the one style sheet.

No script and no network. Colours are variables of the style sheet, for dark and light.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#f1f3f5;--rule:#767c82;
--accent:#0b5394;--good:#1b6e33;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#ececec;--paper:#16181a;--soft:#24282c;
--rule:#8d949b;--accent:#79b8ff;--good:#7ed491;--bad:#ff9d94}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:1rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif}
h1,h2{line-height:1.2;overflow-wrap:anywhere}h2{margin-top:2.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0}
a{color:var(--accent)}a:focus-visible,.wide:focus-visible{outline:3px solid var(--accent);
outline-offset:2px}
.wide{overflow-x:auto}
table{border-collapse:collapse;min-width:100%;font-size:.875rem}
th,td{border-bottom:1px solid var(--rule);padding:.25rem .75rem .25rem 0;text-align:left;
vertical-align:top;white-space:nowrap}
td.number{text-align:right;font-variant-numeric:tabular-nums}
code{font-size:.8125rem}
.good{color:var(--good)}.bad{color:var(--bad);font-weight:bold}
svg{display:block;max-width:none;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}
.box{fill:var(--soft);stroke:var(--rule)}.ran{stroke:var(--accent);stroke-width:2.5}
.bar{fill:var(--accent)}.room{fill:var(--soft);stroke:var(--rule)}.over{fill:var(--bad)}
.edge{fill:none;stroke:var(--rule)}
"""

_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?(e[-+]?\d+)?%?( s| B)?")


@dataclass(frozen=True)
class Section:
    title: str
    body: str
    """HTML."""

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def page(title: str, sections: Sequence[Section], lead: str = "") -> str:
    """The whole document; `lead` is HTML above the list of sections."""
    links = "".join(f'<li><a href="#{s.anchor}">{escape(s.title)}</a></li>' for s in sections)
    bodies = "".join(
        f'<section aria-labelledby="{s.anchor}"><h2 id="{s.anchor}">{escape(s.title)}</h2>'
        f"{s.body}</section>\n"
        for s in sections
    )
    contents = f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if sections else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>\n{lead}{contents}{bodies}</main></body></html>\n"
    )


def wide(name: str, body: str) -> str:
    """What may be wider than a phone: it scrolls by itself, by keyboard too."""
    return f'<div class="wide" tabindex="0" role="group" aria-label="{escape(name)}">{body}</div>'


def table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are texts, not HTML; numbers are set to the right."""
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return wide(name, f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>")


def _cell(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return f'<td class="number">{escape(text)}</td>'
    mark = {"pass": ' class="good"', "FAIL": ' class="bad"'}.get(text, "")
    return f"<td{mark}>{escape(text)}</td>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
