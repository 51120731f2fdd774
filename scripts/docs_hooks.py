"""Adapts the pages of docs/, which are written for GitHub, to the site (mkdocs.yml).

- A link to a file of the repository outside docs/ becomes a link to the repository. If there is no such
  file, it is a warning, which `make docs` treats as an error.
- A list or a table that follows a paragraph without a blank line gets one.
- The place of the playground gets a link to it, if `make web` has built it.
- Formulas become MathML, which browsers show without a script.
"""

import html
import logging
import re
from pathlib import Path

from latex2mathml.converter import convert

LOG = logging.getLogger("mkdocs.hooks.joulepath")
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^ {0,3}([-*+]|\d+\.) ")
PLAYGROUND = "web/index.html"
PLACE = "<!-- playground -->"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|#|/)")


def on_page_markdown(markdown, page, config, files):
    """Return the page in the Markdown of the site."""
    # Links are relative to docs/, of which docs_dir is a copy.
    folder = (DOCS / page.file.src_uri).parent

    def moved(match):
        before, target, after = match.groups()
        path, _, anchor = target.partition("#")
        if ELSEWHERE.match(target) or not path:
            return match.group(0)
        file = (folder / path).resolve()
        if file.is_relative_to(DOCS) and not file.is_dir():
            return match.group(0)
        if not file.exists():
            LOG.warning("%s: there is no file %s", page.file.src_uri, target)
            return match.group(0)
        kind = "tree" if file.is_dir() else "blob"
        anchor = f"#{anchor}" if anchor else ""
        return f"{before}{config['extra']['repository']}/{kind}/main/{file.relative_to(ROOT)}{anchor}{after}"

    lines = []
    is_code = False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            is_code = not is_code
        elif line == PLACE and files.get_file_from_path(PLAYGROUND):
            line = f"[**Open the playground**]({PLAYGROUND})"
        elif not is_code:
            if lines and needs_gap(lines[-1], line):
                lines.append("")
            line = LINK.sub(moved, line)
        lines.append(line)
    return "\n".join(lines)


def needs_gap(before, line):
    """Return True if a list or a table starts in `line` directly after a paragraph."""
    if not before.strip() or before.startswith(("#", "<!--")):
        return False
    if ITEM.match(line):
        return not ITEM.match(before) and not before.startswith(" ")
    return line.startswith("|") and not before.startswith("|")


def on_page_content(content, page, config, files):
    """Return the page's HTML with its formulas as MathML."""

    def math(match):
        kind, tex = match.groups()
        return convert(html.unescape(tex).strip(), display="block" if kind == "div" else "inline")

    return FORMULA.sub(math, content)
