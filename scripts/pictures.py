#!/usr/bin/env python3
"""Draws the pictures of README.md and docs/ as SVG, for light and dark pages.

    scripts/pictures.py [--program FILE] [--check]

The program computes the numbers in `demo.svg`. `--check` writes nothing; the exit code is 1 if a picture is out of date.
"""

import argparse
import json
import subprocess
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "img"
POLICIES = {"single:wifi[cc=cubic]": "WiFi alone", "mptcp": "MPTCP, LIA", "linux": "MPTCP, Linux", "joule": "Joulepath"}
PARTS = {"energy_transfer_j": "moving data", "energy_tail_j": "waiting after the last packet", "energy_sunk_j": "the phone being awake"}
STYLE = """
svg { color-scheme: light dark; font: 14px system-ui, sans-serif; }
.ground { fill: #fff; fill: light-dark(#fff, #181d23); }
text { fill: #1b2127; fill: light-dark(#1b2127, #e6e9ed); }
.dim { fill: #5b6672; fill: light-dark(#5b6672, #a5b0bc); font-size: 12px; }
.strong { font-weight: 600; }
.box { fill: #eef2f6; fill: light-dark(#eef2f6, #232a32); stroke: #8f9ba8; }
.line { fill: none; stroke: #5b6672; stroke: light-dark(#5b6672, #a5b0bc); stroke-width: 1.5; }
.tip { fill: #5b6672; fill: light-dark(#5b6672, #a5b0bc); }
.energy_transfer_j, .on { fill: #00684c; fill: light-dark(#00684c, #3ccf9f); }
.energy_tail_j, .waits { fill: #d9822b; fill: light-dark(#d9822b, #f0a35c); }
.energy_sunk_j, .off { fill: #b3bcc6; fill: light-dark(#b3bcc6, #4d5864); }
"""


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="3" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, head: str, *lines: str) -> list[str]:
    """A box with a heading and lines of text."""
    middle = x + width / 2
    rows = [text(middle, y + 42 + 18 * i, line, "dim", "middle") for i, line in enumerate(lines)]
    return [rectangle(x, y, width, height, "box"), text(middle, y + 22, head, "strong", "middle"), *rows]


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<path class="line" marker-end="url(#tip)" d="M{x:g} {y:g} L{to_x:g} {to_y:g}"/>'


def picture(width: int, height: int, label: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    tip = '<path class="tip" d="M0 0 L8 4 L0 8 z"/>'
    marker = f'<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">{tip}</marker>'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">
<style>{STYLE}</style>
<defs>{marker}</defs>
<rect class="ground" width="100%" height="100%"/>
{body}
</svg>
"""


def demo(program: Path) -> str:
    """The energy of the demo's download, by cause."""
    command = [str(program), "compare", "home-wifi-lte", "--seeds", "30", "--json", "--policies", ",".join(POLICIES)]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["rows"]
    scale = 440 / max(row["energy_j"]["mean"] for row in rows)
    parts = [text(20, 28, "A phone downloads 20 MB over WiFi and LTE", "strong")]
    told = []
    for i, row in enumerate(rows):
        y, x = 48 + 44 * i, 140.0
        parts.append(text(130, y + 20, POLICIES[row["policy"]], "", "end"))
        for part in PARTS:
            width = scale * row[part]["mean"]
            parts.append(rectangle(x, y, width, 30, part))
            x += width
        said = f"{row['energy_j']['mean']:.1f} J, {row['completion_s']['mean']:.1f} s"
        told.append(f"{POLICIES[row['policy']]}: {said}")
        parts.append(text(x + 8, y + 20, said))
    x = 140.0
    for part, name in PARTS.items():
        parts += [rectangle(x, 232, 12, 12, part), text(x + 18, 243, name, "dim")]
        x += 34 + 6.6 * len(name)
    return picture(720, 260, "; ".join(told), parts)


def radio(_: Path) -> str:
    """The states of an LTE radio, with the numbers of lte-huang2012 (Huang et al., MobiSys 2012)."""
    parts = [text(20, 28, "A radio stays awake after the last packet", "strong"), text(712, 28, "not to scale", "dim", "end")]
    states = [
        ("off", 90, 24, "idle", "20 mW"),
        ("on", 110, 70, "promotion", "1.2 W, 0.26 s"),
        ("on", 180, 128, "active", "1.3 W + 52 mW per Mbit/s"),
        ("waits", 230, 62, "tail", "1.1 W, 11.6 s"),
        ("off", 75, 24, "idle", "20 mW"),
    ]
    x = 20
    for kind, width, height, name, power in states:
        parts.append(rectangle(x, 190 - height, width - 2, height, kind))
        parts += [text(x + width / 2, 210, name, "", "middle"), text(x + width / 2, 228, power, "dim", "middle")]
        x += width
    parts += [arrow(20, 192, 712, 192), text(110, 98, "first packet", "dim", "middle"), arrow(110, 104, 110, 188)]
    parts += [text(408, 74, "last packet", "dim"), arrow(400, 62, 400, 188)]
    return picture(720, 244, "Radio states: idle, promotion, active, tail of 11.6 s, idle", parts)


def engines(_: Path) -> str:
    """One scenario, four engines."""
    parts = box(20, 90, 130, 80, "scenario.toml", "paths, radios,", "traffic, policies")
    kinds = {
        "fluid": "differential equations",
        "packet": "every segment and ACK",
        "kernel": "Linux MPTCP, emulated radios",
        "live": "your interfaces",
    }
    for i, (name, what) in enumerate(kinds.items()):
        y = 12 + 64 * i
        parts += box(230, y, 230, 56, name, what)
        parts += [arrow(150, 130, 228, y + 28), arrow(460, y + 28, 548, 130)]
    parts += box(550, 90, 150, 80, "one result", "goodput, joules,", "time, harm")
    return picture(720, 268, "One scenario file runs on four engines and gives one kind of result", parts)


def intents(_: Path) -> str:
    """What the daemon does under each intent, with WiFi as the cheap interface."""
    parts = [text(20, 28, "One word for the daemon: what WiFi and LTE do", "strong")]
    for x, head in ((170, "WiFi"), (290, "LTE")):
        parts.append(text(x + 50, 56, head, "strong", "middle"))
    words = [
        ("frugal", "on", "off", "the cheapest paths for the transfer"),
        ("handover", "on", "off", "LTE stands in when WiFi gets no answer"),
        ("interactive", "on", "waits", "LTE stands in at once, also when WiFi is slow"),
        ("aggregate", "on", "on", "all paths, for the highest rate"),
        ("overflow", "on", "waits", "LTE carries what WiFi cannot"),
    ]
    for i, (word, wifi, lte, what) in enumerate(words):
        y = 68 + 34 * i
        parts.append(text(150, y + 18, word, "", "end"))
        parts += [rectangle(170, y, 100, 24, wifi), rectangle(290, y, 100, 24, lte), text(405, y + 17, what, "dim")]
    x = 170
    for kind, name in (("on", "carries data"), ("waits", "open as a backup"), ("off", "asleep")):
        parts += [rectangle(x, 250, 12, 12, kind), text(x + 18, 261, name, "dim")]
        x += 150
    return picture(780, 280, "What WiFi and LTE do under each intent", parts)


def signal(_: Path) -> str:
    """The model of power by signal against every bin of the measurements."""
    radios = json.loads((ROOT / "results/radios/fit.json").read_text())
    parts = [text(20, 28, "Power by signal and rate: model against every measured bin, W", "strong")]
    for i, (name, title) in enumerate((("sa", "5G SA"), ("nsa", "5G NSA"), ("mmwave", "5G mmWave"))):
        left, side, top = 50 + 250 * i, 200, 60
        bins = radios[name]["by_bin"]
        most = max(max(bin["mw"], bin["model_mw"]) for bin in bins)
        parts.append(text(left + side / 2, top - 10, title, "", "middle"))
        parts.append(f'<path class="line" d="M{left} {top} V{top + side} H{left + side}"/>')
        parts.append(f'<path class="line" stroke-dasharray="4 4" d="M{left} {top + side} L{left + side} {top}"/>')
        for watts in range(0, int(most / 1000) + 1, 1 if most < 5000 else 2):
            at = side * watts * 1000 / most
            parts.append(text(left + at, top + side + 16, f"{watts}", "dim", "middle"))
            parts.append(text(left - 6, top + side - at + 4, f"{watts}", "dim", "end"))
        for bin in bins:
            x, y = left + side * bin["mw"] / most, top + side - side * bin["model_mw"] / most
            kind = "on" if bin["error_percent"] <= 10 else "waits"
            parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
    for x, kind, name in ((50, "on", "error up to 10 %"), (220, "waits", "more than 10 %")):
        parts += [rectangle(x, 295, 12, 12, kind), text(x + 18, 306, name, "dim")]
    parts.append(text(750, 306, "across: measured; up: model", "dim", "end"))
    return picture(780, 325, "Model of power by signal against every measured bin", parts)


PICTURES = {"demo": demo, "radio": radio, "engines": engines, "intents": intents, "signal": signal}


def main() -> None:
    """Write or check all pictures."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--program", type=Path, default=ROOT / "target/debug/joulepath")
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    stale = []
    for name, draw in PICTURES.items():
        file, drawn = FOLDER / f"{name}.svg", draw(options.program)
        if options.check and (not file.exists() or file.read_text() != drawn):
            stale.append(file.name)
        elif not options.check:
            file.write_text(drawn)
    if stale:
        sys.exit(f"pictures.py: out of date: {', '.join(stale)}; run scripts/pictures.py")


if __name__ == "__main__":
    main()
