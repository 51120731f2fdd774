#!/usr/bin/env python3
"""The pages of docs/: stored tables stand in them, cut to a few rows, and each part has a budget of words.

    scripts/pages.py fill PROGRAM    writes docs/ with whole tables into target/docs, the source of the site;
                                     fails if a page of docs/ has other tables than results/
    scripts/pages.py write PROGRAM   writes the tables of results/, cut, into docs/
    scripts/pages.py keep PAGE...    moves tables that a command has written into PAGE to results/tables
    scripts/pages.py check           fails if a part exceeds its budget

A page has a place for tables between two lines, `<!-- NAME: begin -->` and `<!-- NAME: end -->`. Output of
some pages' console blocks is in results/console.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import made
import ten

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "results"
TABLES = RESULTS / "tables"
FILLED = ROOT / "target/docs"

PLACE = re.compile(r"(?<=<!-- )([\w-]+)(: begin -->\n)(.*?)(?=<!-- \1: end -->)", re.DOTALL)
CONSOLE = RESULTS / "console"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?=\$ )", re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
CLAIMS = RESULTS / "claims.json"
EXPERIMENTS = RESULTS / "reproduction/full.json"
SOURCES = {"claims": CLAIMS, "verdicts": CLAIMS, "results": EXPERIMENTS, "values": EXPERIMENTS}
"""Places that `joulepath reproduce --from` fills."""
JOULE = "joule-"
"""Names of the places that `scripts/joule tables` fills begin so."""
OWN_RESULTS = {
    "joule-goals": "benchmark-sealed",
    "joule-kernel": "joule-kernel",
    "joule-learning": "joule-learning",
    "joule-presets": "joule-presets",
    "joule-random": "benchmark-sealed",
}
"""Results of those that are not from results/joule.json."""
TEN = "ten"
"""The place whose table `ten` computes from all stored results."""
IN_GIT = {"reasons"}
"""Places whose content a test compares with the code."""
MOST_ROWS = 12
"""Rows of a longer table or list in docs/."""
MOST_TABLES = 2
"""Tables and lists of a place in docs/."""
FOLDED = re.compile(r"<details>.*?</details>|^```.*?^```$", re.MULTILINE | re.DOTALL)

WIFI_OF_2012 = "wifi-huang2012"
"""The WiFi of most scenarios. No public measurement gives the power of WiFi 5 or 6 by rate and signal."""
RANKED = "crates/study/src/benchmark/scenarios/ranges.rs"
RANDOM = "crates/study/src/benchmark/scenarios/wide.rs"
WITH_WIFI = {
    "benchmark-full": RANKED,
    "gap": "scenarios/fidelity/lossy.toml",
    "gap-growing": "scenarios/fidelity/growing.toml",
    "joule-learning": RANDOM,
    "live": "scenarios/live/file.toml",
    "live-random": "studies/live/drawn-01.toml",
    "live-random-metered": "studies/live-second/drawn-01.toml",
    "benchmark-front.svg": RANKED,
}
"""Places and figures with joules of that WiFi, each with a file that sets it. `fill` names it below."""
WITHOUT_WIFI = {
    "003-slotted",
    "benchmark-sealed",
    "calibrations",
    "claims",
    "cost",
    "fabric",
    "growth",
    "gym-scores",
    "joule-bbr",
    "joule-beside",
    "joule-goals",
    "joule-kernel",
    "joule-links",
    "joule-loss",
    "joule-presets",
    "joule-random",
    "joule-random.svg",
    "kernel",
    "near",
    "reasons",
    "refusals",
    "results",
    "speed",
    "ten",
    "values",
    "verdicts",
    "demo.svg",
    "engines.svg",
    "joule-alone.svg",
    "joule-beside.svg",
    "radio.svg",
    "signal.svg",
}
"""Places and figures without joules, or with those of other radios, which their page or the papers name."""
FIGURE = re.compile(r"^!\[[^\]]*\]\([^)\s]*?([\w-]+\.svg)\)$", re.MULTILINE)
FENCED = re.compile(r"^(```\w*)\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[\w/-]+")

OUTPUT_STORED = {"beyond.md", "papers/000.md"}
"""Pages whose console blocks have their output from results/console."""

BUDGET = {
    "Home": 300,
    "Tutorials": 4_500,
    "How-to": 12_000,
    "Reference": 18_950,
    "Explanation": 23_850,
    "Results": 8_300,
    "Contributing": 1_000,
}
"""Words of each part of the documentation, as `wc -w` counts them, without stored tables and output."""


def source(name: str) -> Path:
    """The stored results that fill a place."""
    if name.startswith(JOULE):
        return RESULTS / f"{OWN_RESULTS.get(name, 'joule')}.json"
    return SOURCES.get(name, TABLES / f"{name}.json")


def excerpt(name: str, text: str, page: Path) -> str:
    """What stands at a place in docs/: the text before the first heading, with the first rows of tables."""
    shown: list[str] = []
    is_cut = bool(FOLDED.search(text))
    tables = 0
    for part in re.split(r"\n\n+", FOLDED.sub("", text).strip("\n")):
        lines = part.split("\n")
        head = 2 if part.startswith("|") else 0
        has_rows = part.startswith(("|", "- "))
        if part.startswith("#") or (has_rows and tables == MOST_TABLES):
            is_cut = True
            break
        if part.startswith("!["):
            is_cut = True
            continue
        if has_rows:
            tables += 1
            is_cut = is_cut or len(lines) - head > MOST_ROWS
            lines = lines[: head + MOST_ROWS]
        shown.append("\n".join(lines))
    if shown and shown[-1].endswith(":"):
        shown.pop()
    if is_cut:
        link = os.path.relpath(source(name), page.parent)
        shown.append(
            f"*Cut: the site that `make docs` builds has it all, from [{source(name).name}]({link}).*"
        )
    if name in WITH_WIFI:
        shown.append(foot(page, DOCS).strip("\n"))
    # The pages of the papers name commits.
    if how := made.all_made().get(source(name).stem):
        shown.append(measured(how, os.path.relpath(ROOT / "CHANGELOG.md", page.parent)))
    return "\n\n".join(shown) + "\n"


def measured(how: dict[str, str], log: str) -> str:
    """The line below a table that says when and with which engines it was measured."""
    day, engines = how["day"], how["engines"]
    if engines == made.engines():
        return f"*Measured on {day} with the present engines.*"
    return f"*Measured on {day} with earlier engines ({engines}): [what has changed since]({log}).*"


def with_places(text: str, content) -> str:
    """`text` with what `content` gives for the name of each place and for what stands there."""
    return PLACE.sub(lambda place: f"{place[1]}{place[2]}{content(place[1], place[3])}", text)


def parsed(markdown: str) -> list:
    """Paragraphs as text, tables as rows of cells; the second row says how columns are aligned."""

    def part(text: str):
        lines = text.split("\n")
        if not all(line.startswith("|") for line in lines):
            return text
        return [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines]

    return [part(text) for text in re.split(r"\n\n+", markdown.strip("\n"))]


def rendered(parts: list) -> str:
    """The Markdown of what `parsed` gave."""

    def line(cells: list[str], place: int) -> str:
        if place == 1:
            return f"|{'|'.join(cells)}|"
        return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)

    def part(its) -> str:
        return its if isinstance(its, str) else "\n".join(line(row, place) for place, row in enumerate(its))

    return "\n\n".join(map(part, parts)) + "\n"


def stored(name: str) -> str:
    """The tables of a place, as Markdown, from results/tables."""
    try:
        return rendered(json.loads(source(name).read_text()))
    except FileNotFoundError:
        sys.exit(f"pages.py: {source(name).relative_to(ROOT)} is missing, the tables of `{name}`")


def output_file(page: Path) -> Path:
    """Where the output of a page's commands is stored."""
    return CONSOLE / f"{page.stem}.json"


def calls(text: str) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with the output below it."""
    parts = (part for block in BLOCK.findall(text) for part in COMMAND.split(block) if part.startswith("$ "))
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def with_output(text: str, output) -> str:
    """`text` with what `output` gives for each command below it."""

    def of_block(block: re.Match) -> str:
        return "".join(f"{command}\n{output(command)}" for command, _ in calls(f"```console\n{block[0]}```"))

    return BLOCK.sub(of_block, text)


def keep(page: Path) -> None:
    """Moves the tables of a page to results/tables, and output of its commands to results/console."""

    def moved(name: str, text: str) -> str:
        if name in IN_GIT:
            return text
        if name == TEN or name in SOURCES or name.startswith(JOULE):
            return excerpt(name, text, page)
        if not source(name).exists() or text != excerpt(name, stored(name), page):
            TABLES.mkdir(exist_ok=True)
            lines = (
                json.dumps(part, ensure_ascii=False)
                if isinstance(part, str)
                else "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in part) + "\n]"
                for part in parsed(text)
            )
            source(name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
            made.mark(source(name).stem)
        return excerpt(name, stored(name), page)

    text = with_places(page.read_text(), moved)
    if page.relative_to(DOCS).as_posix() in OUTPUT_STORED:
        CONSOLE.mkdir(exist_ok=True)
        told = {command: output.splitlines() for command, output in calls(text)}
        output_file(page).write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n")
    page.write_text(text)


def whole(program: Path) -> dict[Path, str]:
    """All pages by their path in docs/, with whole tables; in target/docs what the program writes besides."""
    shutil.rmtree(FILLED, ignore_errors=True)
    shutil.copytree(DOCS, FILLED)
    from_stored = [program, "reproduce", "--docs", FILLED / "papers", "--out", ROOT / "target/reproduction"]
    for more in (["--from", EXPERIMENTS], ["--from", CLAIMS, "--markdown", FILLED / "reproduce.md"]):
        subprocess.run([*from_stored, *more], check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run(
        [sys.executable, ROOT / "scripts/joule", "tables"], check=True, stdout=subprocess.PIPE, text=True
    )
    joule = json.loads(told.stdout)

    def tables(name: str, text: str) -> str:
        if name in SOURCES or name in IN_GIT:
            return text
        if name == TEN:
            return ten.table() + "\n"
        return joule[name] + "\n" if name.startswith(JOULE) else stored(name)

    pages = {}
    for page in sorted(FILLED.rglob("*.md")):
        text = with_places(page.read_text(), tables)
        if page.relative_to(FILLED).as_posix() in OUTPUT_STORED:
            told = json.loads(output_file(page).read_text())
            if missing := [command for command, _ in calls(text) if command not in told]:
                sys.exit(
                    f"pages.py: {page.name} has no output of {missing[0]}: scripts/refresh.py, then keep"
                )
            text = with_output(
                text, lambda command, told=told: "".join(f"{line}\n" for line in told[command])
            )
        pages[DOCS / page.relative_to(FILLED)] = text
    return pages


def cut(page: Path, text: str) -> str:
    """A page of docs/ whose whole text is `text`."""
    return with_places(text, lambda name, its: its if name in IN_GIT else excerpt(name, its, page))


def write(program: Path) -> None:
    """Writes the tables of results/ into docs/."""
    for page, text in whole(program).items():
        page.write_text(cut(page, text))


def fill(program: Path) -> bool:
    """Writes docs/ with whole tables into target/docs; whether docs/ has the same tables."""
    is_well = True
    for page, text in whole(program).items():
        if page.read_text() != cut(page, text):
            print(
                f"{page.relative_to(ROOT)} has other tables than results/: scripts/pages.py write PROGRAM",
                file=sys.stderr,
            )
            is_well = False
        filled = FILLED / page.relative_to(DOCS)
        filled.write_text(with_feet(text, foot(filled, FILLED)))
    return is_well


def foot(page: Path, root: Path) -> str:
    """The line below tables and figures with that WiFi."""
    link = os.path.relpath(root / "models/energy.md", page.parent)
    return f"\n*WiFi's joules: profile `{WIFI_OF_2012}`, measured in 2012 ([profiles]({link}#profiles)).*\n"


def has_wifi_of_2012(console: str) -> bool:
    """Whether the commands of a console block run a shipped scenario with that WiFi, without naming it."""
    scenarios = (ROOT / f"scenarios/{word}.toml" for word in set(WORD.findall(console)))
    named = WIFI_OF_2012 in console
    sets = f'\nenergy = "{WIFI_OF_2012}"'
    return not named and any(file.is_file() and sets in file.read_text() for file in scenarios)


def with_feet(text: str, foot: str) -> str:
    """`text` with `foot` below each table, figure and console block with that WiFi."""
    text = PLACE.sub(
        lambda place: place[0] + (foot if place[1] in WITH_WIFI else ""),
        text,
    )
    text = FIGURE.sub(lambda figure: figure[0] + (f"\n{foot}" if figure[1] in WITH_WIFI else ""), text)

    def below(block: re.Match) -> str:
        shows_joules = re.search(r"^policy .*(energy|efficiency)", block[2], re.MULTILINE)
        return block[0] + (f"\n{foot}" if shows_joules and has_wifi_of_2012(block[2]) else "")

    return FENCED.sub(below, text)


def unsorted(text: str) -> list[str]:
    """Places and figures of a page that neither list has, or whose file does not set that WiFi."""
    found = []
    for name in [place[1] for place in PLACE.finditer(text)] + FIGURE.findall(text):
        file = WITH_WIFI.get(name)
        if file and WIFI_OF_2012 not in (ROOT / file).read_text():
            found.append(f"{name}, but {file} does not set {WIFI_OF_2012}: correct WITH_WIFI")
        elif not file and name not in WITHOUT_WIFI:
            found.append(f"{name}: add it to WITH_WIFI or WITHOUT_WIFI")
    return found


def parts() -> dict[str, list[Path]]:
    """The pages of each part: sections of the navigation, models are explanation, all others results."""
    found: dict[str, list[Path]] = {part: [] for part in BUDGET}
    found["Contributing"].append(ROOT / "CONTRIBUTING.md")
    pages = set(DOCS.rglob("*.md"))
    part = ""
    for line in (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2].splitlines():
        title, _, file = line.strip(" -").partition(":")
        part = part if line.startswith("    ") else title
        if file:
            page = DOCS / file.strip()
            found[part].append(page)
            pages.discard(page)
    for page in pages:
        found["Explanation" if page.parent.name == "models" else "Results"].append(page)
    return found


def written(page: Path) -> str:
    """The text of a page without stored tables and output."""
    text = with_places(page.read_text(), lambda name, its: "")
    is_stored = page.is_relative_to(DOCS) and page.relative_to(DOCS).as_posix() in OUTPUT_STORED
    return with_output(text, lambda command: "") if is_stored else text


def check() -> bool:
    """Print what is wrong, and the words of each part; whether all is well."""
    is_well = True
    for page in sorted(DOCS.rglob("*.md")):
        for problem in unsorted(page.read_text()):
            print(f"{page.relative_to(ROOT)} has {problem} of scripts/pages.py", file=sys.stderr)
            is_well = False
    for part, pages in parts().items():
        words = sum(len(written(page).split()) for page in pages)
        print(f"{part:12} {words:6} words of {BUDGET[part]}", file=sys.stderr)
        if words > BUDGET[part]:
            print(f"{part} exceeds its budget: shorten its pages", file=sys.stderr)
            is_well = False
    return is_well


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("fill", "write"):
        verbs.add_parser(verb).add_argument("program", type=Path)
    verbs.add_parser("keep").add_argument("pages", type=Path, nargs="+")
    verbs.add_parser("check")
    asked = parser.parse_args()
    match asked.verb:
        case "fill":
            sys.exit(not fill(asked.program.resolve()))
        case "write":
            write(asked.program.resolve())
        case "keep":
            for page in asked.pages:
                keep(page.resolve())
        case "check":
            sys.exit(not check())


if __name__ == "__main__":
    main()
