#!/usr/bin/env python3
"""Builds the playground: target/web/index.html, one file for any static host or for opening from a disk.

    scripts/web.py             build the module and the page; print the sizes
    scripts/web.py --lacks     print what this machine lacks for it; nothing if it lacks nothing

The page contains the module compressed in base64, so that no server needs to know WebAssembly or compression. Its content security
policy lists the hash of each script: text from a link cannot run, even if a page of results contained it.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = "wasm32-unknown-unknown"
PAGE = ROOT / "crates/web/page"
ASSETS = ROOT / "crates/report/assets"
SCRIPTS = [
    "share.js", "engine.js", "traces.js", "form.js", "complete.js", "gallery.js", "map.js", "advise.js", "editor.js", "own.js", "answer.js",
    "trace.js", "scene.js", "packets.js", "pictures.js", "page.js", "modes.js",
]
# In the frame of the answer.
EMBEDDED = ["embedded.js", "picture.js"]
# Data centres, whose runs take minutes, more than the page allows.
LARGE = {"papers/002-bcube", "papers/002-fattree", "papers/002-vl2"}
CLAIMS = ROOT / "results/claims.json"
# Memory of one worker, bytes. More is refused with a message.
MOST_MEMORY = 1 << 30
# Size of the page, bytes.
MOST_BYTES = 3 << 20


def lacks():
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    if not (Path(sysroot) / "lib/rustlib" / TARGET).is_dir():
        return f"Rust's standard library for {TARGET}"
    if shutil.which(os.environ.get("CLANG", "clang")) is None:
        return "clang, which compiles cc/ for WebAssembly"
    return ""


def build():
    flags = f"-C link-arg=--max-memory={MOST_MEMORY}"
    # With a second crate type cargo leaves link-time optimisation out.
    command = ["cargo", "rustc", "--locked", "--package", "joulepath-web", "--lib", "--crate-type", "cdylib"]
    command += ["--profile", "web", "--target", TARGET]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS": flags})
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return (folder / TARGET / "web/joulepath_web.wasm").read_bytes()


def report_script():
    """The script of every report, as its template writes it: it runs in the frame of the answer."""
    names = re.findall(r'include_str!\("\.\./\.\./assets/js/(\w+\.js)"\)', (ROOT / "crates/report/src/html/assets.rs").read_text())
    joined = "\n".join((ASSETS / "js" / name).read_text() for name in names)
    template = (ASSETS / "scripts.html").read_text()
    return template.split("<script>", 1)[1].split("</script>", 1)[0].replace("{{ assets.js|safe }}", joined)


def claims():
    """The papers' claims that comparisons of shipped scenarios check, with their stored verdicts and the first comparison."""
    found = []
    for claim in json.loads(CLAIMS.read_text())["claims"]:
        commands = [shlex.split(command) for command in claim["compare"]]
        if not commands:
            continue
        (program, verb, scenario, *options) = commands[0]
        given = list(zip(options[::2], options[1::2], strict=True))
        values = dict(given)
        known = values.keys() <= {"--policies", "--seeds", "--set", "--variant"}
        if (program, verb) != ("joulepath", "compare") or not known or scenario in LARGE:
            continue
        found.append({
            **{key: claim[key] for key in ["id", "claim", "source", "sentence", "deciding"]},
            "scenario": scenario,
            "policies": values.get("--policies", ""),
            "seeds": int(values["--seeds"]) if "--seeds" in values else None,
            "variant": values.get("--variant"),
            "set": [value.split("=", 1) for option, value in given if option == "--set"],
            "comparisons": len(commands),
        })
    return found


def digest(script):
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def quoted(text):
    """A string of JavaScript that is safe in a script element."""
    return "`" + re.sub(r"[\\`$]", r"\\\g<0>", text).replace("</", "<\\/") + "`"


def pack(module):
    embedded = "\n".join((PAGE / name).read_text() for name in EMBEDDED)
    texts = {
        "EMBEDDED_STYLE": quoted((PAGE / "embedded.css").read_text()),
        "EMBEDDED_SCRIPT": quoted(embedded),
    }
    head = "".join(f"const {name} = {text};\n" for name, text in texts.items())
    files = [ASSETS / "js/fragment.js", *(PAGE / name for name in SCRIPTS)]
    script = f'\n"use strict";\n(() => {{\n{head}' + "\n".join(path.read_text() for path in files) + "})();\n"
    styles = "\n".join(
        path.read_text() for path in [ASSETS / "colours.css", ASSETS / "report.css", PAGE / "style.css", PAGE / "packets.css"]
    )
    scripts = " ".join(map(digest, [script, report_script(), embedded]))
    policy = (
        f"default-src 'none'; script-src {scripts} 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "CONTENT_POLICY": policy,
        "STYLES": styles,
        "CLAIMS": json.dumps(claims(), ensure_ascii=False).replace("<", "\\u003c"),
        "MODULE": base64.b64encode(gzip.compress(module, 9, mtime=0)).decode(),
        "WORKER": (PAGE / "worker.js").read_text(),
        "PAGE": script,
    }
    template = (PAGE / "index.html").read_text()
    return re.sub(r"\b(" + "|".join(parts) + r")\b", lambda found: parts[found[0]], template)


def main():
    missing = lacks()
    if sys.argv[1:] == ["--lacks"]:
        print(missing, end="")
        return 0
    if missing:
        print(f"web.py: this machine lacks {missing}: run scripts/setup.sh web", file=sys.stderr)
        return 1
    module = build()
    page = pack(module).encode()
    folder = ROOT / "target/web"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_bytes(page)
    print(f"target/web/index.html: {len(page) / 1e6:.2f} MB; the module in it has {len(module) / 1e6:.2f} MB")
    if len(page) > MOST_BYTES:
        print(f"web.py: the page has more than {MOST_BYTES >> 20} MiB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
