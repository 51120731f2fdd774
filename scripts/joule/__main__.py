"""Measures what docs/joule.md says, and writes its tables and figures. `make joule` runs it.

    python scripts/joule measure   the studies and the ablation, into results/joule.json
    python scripts/joule kernel    ten links on this machine's kernel, as root, into results/joule-kernel.json
    python scripts/joule sealed    the gauntlet's sealed draws, into results/gauntlet-sealed.json
    python scripts/joule page      docs/joule.md and its figures from results/

What has been run already (target/joule) is not run again.
"""

import argparse
import json
import sys

import figures
import measure
import tables
from common import PAGE, RESULTS, ROOT, distilled, say


def gauntlet() -> tuple[str, dict]:
    """The sealed draws if there are any results, else those of `check`."""
    for name in ("sealed", "check"):
        path = RESULTS / f"gauntlet-{name}.json"
        if path.exists():
            league = json.loads(path.read_text())
            return name, distilled(league) if "draws" in league else league
    sys.exit("joule: there is no results/gauntlet-*.json")


def between(text: str, mark: str, body: str) -> str:
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"joule: {PAGE.name} has no `{begin}` … `{end}`, or several")
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{body}\n{end}{rest.partition(end)[2]}"


def page() -> None:
    results = json.loads((RESULTS / "joule.json").read_text())
    name, league = gauntlet()
    date = f", {league['seal']['date']}" if league.get("seal") and "date" in league["seal"] else ""
    source = f"{league['draws_of_each']} draws of each family, range {name}, commit {league['commit']}{date}."
    body = {
        "loss": tables.loss_table(results),
        "links": tables.links_table(results),
        "beside": tables.beside_table(results),
        "bbr": tables.bbr_table(results),
        "ablation": tables.ablation_table(results),
        "goals": tables.goals_table(league) + "\n\n" + source,
        "gauntlet": tables.gauntlet_summary(league) + "\n\n" + source,
    }
    if (RESULTS / "joule-kernel.json").exists():
        body["kernel"] = tables.kernel_table(json.loads((RESULTS / "joule-kernel.json").read_text()))
    text = PAGE.read_text()
    for mark, its in body.items():
        text = between(text, f"joule-{mark}", its)
    PAGE.write_text(text)
    figures.draw_alone(results)
    figures.draw_beside(results)
    figures.draw_gauntlet(league)
    say(f"{PAGE.relative_to(ROOT)} and its figures are written")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/joule", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "kernel", "sealed", "page"))
    steps = {"measure": measure.measure, "kernel": measure.kernel, "sealed": measure.sealed, "page": page}
    steps[parser.parse_args().what]()


if __name__ == "__main__":
    main()
