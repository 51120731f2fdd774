"""Measures the numbers of docs/joule.md and writes its tables and figures. `make results` runs it.

    python scripts/joule measure   the studies, into results/joule.json
    python scripts/joule presets   the balances between energy and time, into results/joule-presets.json
    python scripts/joule kernel    links on this machine's kernel, as root, into results/joule-kernel.json
    python scripts/joule sealed    sealed scenarios that have not run, into results/benchmark-sealed.json
    python scripts/joule learn     docs/learning.md: a learned selector, into results/joule-learning.json
    python scripts/joule figures   the figures of docs/joule.md, from results/
    python scripts/joule tables    the tables on stdout, as JSON; `make docs` puts them into the pages

Finished runs are kept in target/joule and not repeated.
"""

import argparse
import json

import measure
import tables
from common import RESULTS, renamed, say


def sealed_run() -> dict:
    """The newest run of sealed scenarios."""
    return renamed(json.loads((RESULTS / "benchmark-sealed.json").read_text()))


def blocks() -> dict[str, str]:
    """The tables of the pages from results/, by the names of their places."""
    results = json.loads((RESULTS / "joule.json").read_text())
    newest = sealed_run()
    kernel = json.loads((RESULTS / "joule-kernel.json").read_text())
    presets = json.loads((RESULTS / "joule-presets.json").read_text())
    return {
        "joule-loss": tables.loss_table(results),
        "joule-links": tables.links_table(results),
        "joule-beside": tables.beside_table(results),
        "joule-bbr": tables.bbr_table(results),
        "joule-goals": tables.goals_table(newest),
        "joule-random": f"{tables.summary(newest)}\n\n{tables.source(newest)}",
        "joule-presets": f"{tables.presets_table(presets)}\n\n{tables.source(presets)}",
        "joule-kernel": tables.kernel_table(kernel),
        "joule-learning": tables.learning_table(json.loads((RESULTS / "joule-learning.json").read_text())),
    }


def draw() -> None:
    """The figures of docs/joule.md."""
    # Needs the Python package, which the tables do not.
    import figures

    results = json.loads((RESULTS / "joule.json").read_text())
    figures.draw_alone(results)
    figures.draw_beside(results)
    figures.draw_random(sealed_run())
    say("the figures are written")


def learn() -> None:
    # Needs the Python package.
    import learning

    learning.learn()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/joule", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what",
        choices=("measure", "presets", "kernel", "sealed", "learn", "figures", "tables"),
    )
    parser.add_argument(
        "--scenarios", type=int, default=measure.SEALED_SCENARIOS, help="sealed: scenarios per family"
    )
    parser.add_argument("--policies", default=measure.SEALED_POLICIES, help="sealed: the policies")
    asked = parser.parse_args()
    steps = {
        "measure": measure.measure,
        "presets": measure.presets,
        "kernel": measure.kernel,
        "sealed": lambda: measure.sealed(asked.scenarios, asked.policies),
        "learn": learn,
        "figures": draw,
        "tables": lambda: print(json.dumps(blocks(), ensure_ascii=False)),
    }
    steps[asked.what]()


if __name__ == "__main__":
    main()
