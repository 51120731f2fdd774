"""What `joule` gains under jitter with random loss if it trusts more easily, and what that costs others."""

import re
import sys

import numpy as np

import joulepath as jp
from common import RESULTS, ROOT, rounded, runs, say, write_json

VARIANTS = {
    "joule": (1, 0),
    "× 2": (2, 0),
    "× 4": (4, 0),
    "× 8": (8, 0),
    "+ e": (1, 1),
    "+ 2 e": (1, 2),
    "+ 4 e": (1, 4),
}
"""A factor of joule's tolerances h and Q, and how often e is added to both. joule has no option for them, so
variants of its header are compiled."""
LINKS = 40
SEEDS = range(301, 304)
RUN = {"duration": "40 s", "warm_up": "10 s"}
QUIET = '"0.1 ms"'

PARTS = ("shadow", "trust", "losses", "")
"""The headers of the controller, in the order of their inclusion; the last is joule.h."""
FUNCTIONS = {"joule_tolerance": "h", "joule_target": "Q"}


def variant(times: int, steps: int) -> str:
    """Compile joule with other tolerances, and return its policy."""
    if (times, steps) == (1, 0):
        return "uncoupled[cc=joule]"
    text = ""
    for part in PARTS:
        header = (ROOT / "cc" / f"joule{part and '_' + part}.h").read_text()
        text += re.sub(r'#include "joule_\w+\.h"\n', "", header)
    for function in FUNCTIONS:
        # The result of the function, whose only `return` ends it.
        place = re.compile(rf"(MPCC_INLINE u32 {function}\(.*?\n\treturn )([^;]+);", re.DOTALL)
        # The state has e in Q3.
        step = f"{steps} * mpcc_min(j->step_us / 8, MPCC_RTT_MAX_US / 64)"
        text, found = place.subn(rf"\g<1>{times} * (\g<2>) + {step};", text)
        if found != 1:
            sys.exit(f"joule: cc/joule_trust.h has no function {function} with one return")
    name = f"joule_x{times}_{steps}"
    text = re.sub(r"\b(mpcc_\w+_|MPCC_)?(joule|JOULE)(?=\b|_)", lambda word: renamed_word(word, name), text)
    folder = ROOT / runs() / "jitter"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.h").write_text(text)
    jp.Controller.from_c(folder / f"{name}.h")
    return f"uncoupled[cc={name}]"


def renamed_word(word: re.Match, name: str) -> str:
    return (word[1] or "") + (name if word[2] == "joule" else name.upper())


def links() -> list[dict]:
    """Random links within the ranges of the random families, each with jitter and random loss."""
    dice = np.random.default_rng(1)

    def log(low: float, high: float) -> float:
        return float(f"{np.exp(dice.uniform(np.log(low), np.log(high))):.3g}")

    found = []
    for _ in range(LINKS):
        rate_mbps, rtt_ms, loss, buffer_bdp = log(1, 200), log(10, 200), log(1e-4, 0.05), log(0.05, 4)
        found.append(
            {
                "rate_mbps": rate_mbps,
                "rtt_ms": rtt_ms,
                "loss": loss,
                "queue": max(4, round(rate_mbps * rtt_ms / 12 * buffer_bdp)),
                "deviation_ms": min(log(2, 20), rounded(rtt_ms / 4)),
                "correlation_s": log(0.05, 2),
            }
        )
    return found


def scenario(link: dict, jitter: str, others: int) -> jp.Scenario:
    head = "".join(f'{key} = "{value}"\n' for key, value in RUN.items())
    path = (
        f'\n[[path]]\nname = "link"\nrate = "{link["rate_mbps"]} Mbit/s"\ndelay = "{link["rtt_ms"] / 2} ms"\n'
        f'queue = "{link["queue"]} packets"\nloss = "{100 * link["loss"]:.4g} %"\njitter = {jitter}\n'
        'energy = "wifi-huang2012"\n\n[receiver]\nbuffer = "16 MiB"\n\n[sender]\nbuffer = "16 MiB"\n'
    )
    competitor = '\n[[competitor]]\nname = "other"\npath = "link"\ncc = "reno"\n' * others
    return jp.Scenario.from_toml(f'title = "A link with jitter"\n{head}{path}{competitor}')


def means(of: jp.Scenario, policies: list[str], word: str) -> tuple[list[float], str]:
    """Mean over the seeds, for each policy, and the commit of the package."""
    compared = jp.compare(of, policies, seeds=SEEDS, progress=False).to_dict()
    return [row[word]["mean"] for row in compared["rows"]], compared["manifest"]["commit"]


def frontier() -> None:
    """Measures, and writes results/joule-jitter.json."""
    policies = {"NewReno": "uncoupled"}
    policies |= {name: variant(times, steps) for name, (times, steps) in VARIANTS.items()}
    policies |= {"BBRv3": "uncoupled[cc=bbr3]"}
    names, found = list(policies), links()
    results: dict[str, dict] = {name: {} for name in names}
    for kind in ("jitter", "quiet"):
        for number, link in enumerate(found, start=1):
            say(f"{kind}: link {number} of {len(found)}")
            text = (
                f'{{ deviation = "{link["deviation_ms"]} ms", correlation = "{link["correlation_s"]} s" }}'
                if kind == "jitter"
                else QUIET
            )
            alone, commit = means(scenario(link, text, 0), list(policies.values()), "goodput_bps")
            left, _ = means(scenario(link, text, 1), list(policies.values()), "competitors_bps")
            for name, own, theirs in zip(names, alone, left, strict=True):
                its = results[name].setdefault(kind, {"use": [], "gain": [], "kept": []})
                its["use"].append(rounded(own / link["rate_mbps"] / 1e6))
                its["gain"].append(rounded(own / alone[0]))
                its["kept"].append(rounded(theirs / left[0]))
    write_json(
        RESULTS / "joule-jitter.json",
        {
            "commit": commit,
            "run": RUN,
            "seeds": len(SEEDS),
            "links": found,
            "order": names,
            "policies": results,
        },
    )
