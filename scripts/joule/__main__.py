"""Measures the numbers of docs/joule.md and writes its tables and figures. `make joule` runs it.

    python scripts/joule measure   the studies and the ablation, into results/joule.json
    python scripts/joule kernel    ten links on this machine's kernel, as root, into results/joule-kernel.json
    python scripts/joule train     scenarios for tuning, into results/benchmark-train-joule.json
    python scripts/joule sealed    sealed scenarios that have not been run, into results/benchmark-sealed*.json
    python scripts/joule page      docs/joule.md and its figures from results/

Finished runs are kept in target/joule and not repeated.
"""

import argparse
import json
import sys

import figures
import measure
import tables
from common import PAGE, RESULTS, ROOT, renamed, say


def sealed_runs() -> list[dict]:
    """All runs of sealed scenarios, by date."""
    runs = [renamed(json.loads(path.read_text())) for path in RESULTS.glob("benchmark-sealed*.json")]
    if not runs:
        sys.exit("joule: there is no results/benchmark-sealed.json")
    return sorted(runs, key=lambda benchmark: benchmark["sealed"]["date"])


def between(text: str, mark: str, body: str) -> str:
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        sys.exit(f"joule: {PAGE.name} has no `{begin}` … `{end}`, or several")
    head, _, rest = text.partition(begin)
    return f"{head}{begin}\n{body}\n{end}{rest.partition(end)[2]}"


def page() -> None:
    results = json.loads((RESULTS / "joule.json").read_text())
    runs = sealed_runs()
    tuned = json.loads((RESULTS / "benchmark-train-joule.json").read_text())
    body = {
        "loss": tables.loss_table(results),
        "links": tables.links_table(results),
        "beside": tables.beside_table(results),
        "bbr": tables.bbr_table(results),
        "ablation": tables.ablation_table(results),
        "goals": tables.goals_table([*runs, tuned]) + "\n\n" + "\n".join(map(tables.source, [*runs, tuned])),
        "random": "\n\n".join(tables.summary(run) + "\n\n" + tables.source(run) for run in runs),
    }
    if (RESULTS / "joule-kernel.json").exists():
        body["kernel"] = tables.kernel_table(json.loads((RESULTS / "joule-kernel.json").read_text()))
    text = PAGE.read_text()
    for mark, its in body.items():
        text = between(text, f"joule-{mark}", its)
    PAGE.write_text(text)
    figures.draw_alone(results)
    figures.draw_beside(results)
    # The first run also includes policies of other authors.
    figures.draw_random(runs[0])
    say(f"{PAGE.relative_to(ROOT)} and its figures are written")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/joule", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("measure", "kernel", "train", "sealed", "page"))
    parser.add_argument(
        "--scenarios", type=int, default=measure.SEALED_SCENARIOS, help="sealed: scenarios per family"
    )
    parser.add_argument("--policies", default=measure.SEALED_POLICIES, help="sealed: the policies")
    asked = parser.parse_args()
    steps = {
        "measure": measure.measure,
        "kernel": measure.kernel,
        "train": measure.train,
        "sealed": lambda: measure.sealed(asked.scenarios, asked.policies),
        "page": page,
    }
    steps[asked.what]()


if __name__ == "__main__":
    main()
