#!/usr/bin/env python3
"""Mutation testing with one build per crate: finds code changes that no test detects.

`cargo mutants` lists the mutants. In a copy of the workspace each function becomes a `match` on the number in
MUTANT: one arm per mutant, and the original function. Mutants that do not compile are dropped. Each test first
runs alone and logs the functions that it reaches; each mutant then runs with the tests that reach its function.
It is caught if one of them fails, or takes more than three times as long plus a second. Mutants in `const`
functions and outside functions are left out. Copy, builds and results are in target/mutants. Exit code 1: a
mutant survived.
"""

import argparse
import collections
import filecmp
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target/mutants"
TREE = WORK / "tree"
MEMORY = 4 << 30  # bytes that a test may use
WAITING = 30  # limit of a test's wall time, relative to its limit of CPU time
SURVIVED = ("survived", "not reached")
CONST = re.compile(r"^\s*(pub(\(\w+\))? )?const (unsafe )?fn\b", re.M)
# Comments, strings, characters and lifetimes, because their braces do not count.
TEXTS = r"""b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'|'\w+"""
TOKENS = re.compile(rf"//[^\n]*|/\*.*?\*/|{TEXTS}|[{{}}]", re.S)
SWITCH = """
#[doc(hidden)]
pub mod mutant_switch {
    use std::{env, fs::OpenOptions, io::Write, sync::{LazyLock, atomic::{AtomicBool, Ordering}}};
    static MUTANT: LazyLock<u32> = LazyLock::new(|| env::var("MUTANT").map_or(0, |k| k.parse().unwrap()));
    static LOG: LazyLock<Option<std::ffi::OsString>> = LazyLock::new(|| env::var_os("MUTANT_LOG"));
    static SEEN: [AtomicBool; FUNCTIONS] = [const { AtomicBool::new(false) }; FUNCTIONS];
    pub fn chosen(function: usize) -> u32 {
        if let Some(log) = &*LOG && !SEEN[function].swap(true, Ordering::Relaxed) {
            let mut log = OpenOptions::new().append(true).open(log).unwrap();
            log.write_all(format!("{function}\\n").as_bytes()).unwrap();
        }
        *MUTANT
    }
}
"""


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def body(text, begin, end):
    """Start of the body of the function `text[begin:end]`, after its brace; None for a `const` function."""
    opened, last = [], begin
    for token in TOKENS.finditer(text, begin, end):
        if token[0] == "{":
            opened.append(token.end())
        elif token[0] == "}":
            last = opened.pop()
    return None if CONST.search(text, begin, last) else last


def listed(package, files):
    """The mutants, each with its position and its function's body, as offsets."""
    mutants, bodies = [], collections.defaultdict(set)
    for one in json.loads(output("cargo", "mutants", "--list", "--json", "--package", package)):
        if one["function"] and (not files or any(part in one["file"] for part in files)):
            text = (ROOT / one["file"]).read_text(encoding="utf-8")
            lines = [0, *(at.end() for at in re.finditer("\n", text))]
            spans = ((lines[at["line"] - 1] + at["column"] - 1 for at in of["span"].values())
                     for of in (one, one["function"]))
            place, (begin, end) = map(sorted, spans)
            if inner := body(text, begin, end):
                bodies[one["file"]].add((inner, end - 1))
                mutants.append(one | {"place": place, "body": (inner, end - 1)})
    for one in mutants:  # an inner function belongs to the outer one
        one["body"] = min(of for of in bodies[one["file"]] if of[0] <= one["body"][0] < of[1])
    return mutants


def copy(texts):
    """Updates the copy of the workspace to the files that git sees; the files in `texts` get these texts."""
    paths = output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for here, there in ((ROOT / name, TREE / name) for name in paths if name and name not in texts):
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink():
            # A new link would make cargo repeat the build script that reads it.
            if not (there.is_symlink() and there.readlink() == here.readlink()):
                there.unlink(missing_ok=True)
                there.symlink_to(here.readlink())
        elif here.is_file() and not (there.is_file() and filecmp.cmp(here, there, shallow=False)):
            shutil.copyfile(here, there)
    for name, text in texts.items():
        if not (TREE / name).is_file() or (TREE / name).read_text(encoding="utf-8") != text:
            (TREE / name).write_text(text, encoding="utf-8")


def write(package, mutants):
    """Writes the copy with mutants. Returns, for each file and line, the mutants that the line belongs to."""
    functions, owners = collections.defaultdict(list), collections.defaultdict(dict)
    root = f"crates/{package.removeprefix('joulepath-')}/src/lib.rs"
    files = {root, *(one["file"] for one in mutants)}
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in files}
    parts = {file: ("", 0) for file in texts}
    for one in mutants:
        functions[one["file"], one["body"]].append(one)
    for number, ((file, (begin, end)), arms) in enumerate(sorted(functions.items())):
        text, (out, done), lines = texts[file], parts[file], owners[file]
        out += f"{text[done:begin]} match crate::mutant_switch::chosen({number}) {{\n"
        first = out.count("\n")
        for arm in arms:
            arm["function"], (low, high), start = number, arm["place"], out.count("\n") + 1
            out += f"{arm['id']} => {{\n{text[begin:low]}{arm['replacement']}{text[high:end]}\n}}\n"
            lines |= dict.fromkeys(range(start, out.count("\n") + 1), [arm])
        out += f"_ => {{\n{text[begin:end]}\n}} }}"
        lines |= {line: arms for line in range(first, out.count("\n") + 2) if line not in lines}
        parts[file] = out, end
    switch = SWITCH.replace("FUNCTIONS", str(len(functions) + 1))
    texts = {file: out + texts[file][done:] for file, (out, done) in parts.items()}
    copy(texts | {root: f"#![allow(warnings)] {texts[root]}{switch}"})
    return owners


def build(package, mutants):
    """Builds the tests. Returns the mutants that compile, and the program and name of each test."""
    command = ["cargo", "test", "--no-run", "--locked", "--package", package, "--lib", "--tests"]
    command += ["--message-format", "json", "--target-dir", WORK / "target"]
    command += ["--config", f"profile.dev.package.{package}.opt-level=0"]
    while True:
        owners, bad = write(package, mutants), set()
        cargo = subprocess.run(command, cwd=TREE, capture_output=True, text=True)
        messages = [json.loads(line) for line in cargo.stdout.splitlines() if line.startswith("{")]
        if not cargo.returncode:
            programs = [one["executable"] for one in messages if one.get("executable")]
            return mutants, [(program, test) for program in programs for test in
                             re.findall("^(.*): test$", output(program, "--list", "--format=terse"), re.M)]
        for error in (one["message"] for one in messages if one["reason"] == "compiler-message"):
            places = sorted(error["spans"], key=lambda at: not at["is_primary"])
            guilty = filter(None, (owners[at["file_name"]].get(at["line_start"]) for at in places))
            bad |= {one["id"] for one in next(guilty, []) if error["level"] == "error"}
        if not bad:
            sys.exit(f"does not compile:\n{cargo.stderr[-2000:]}")
        mutants = [one for one in mutants if one["id"] not in bad]


def run(program, test, seconds, **environment):
    """Runs a test with a limit of CPU seconds. Returns whether it passes, and its CPU seconds."""
    # A mutant may do anything, so no test runs as root.
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    environment |= {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = ["prlimit", f"--as={MEMORY}", f"--cpu={max(1, round(seconds))}", "--core=0"]
    command += [program, "--exact", "--test-threads=1", test]
    with subprocess.Popen(command, env=os.environ | environment, process_group=0, **silent, **user) as child:
        end = threading.Timer(WAITING * seconds, os.killpg, (child.pid, 9))
        end.start()
        _, child.returncode, usage = os.wait4(child.pid, 0)
        end.cancel()
    return child.returncode == 0, usage.ru_utime + usage.ru_stime


def plain(program, test, seconds):
    """Runs a test without mutants. Returns its seconds, or None if it fails, and the functions that it reaches."""
    with tempfile.NamedTemporaryFile("r") as log:
        os.chmod(log.name, 0o666)
        passes, taken = run(program, test, seconds, MUTANT_LOG=log.name)
        return taken if passes and taken <= seconds else None, set(map(int, log.read().split()))


def outcome(mutant, tests):
    """Result of a mutant. `tests`: program, name, seconds, functions; the fastest first."""
    reaching = [test for test in tests if mutant["function"] in test[3]]
    for program, test, seconds, _ in reaching:
        if not run(program, test, 3 * seconds + 1, MUTANT=str(mutant["id"]))[0]:
            return "caught"
    return "survived" if reaching else "not reached"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", "--package", required=True)
    parser.add_argument("files", nargs="*", help="parts of paths, such as src/decide (all sources)")
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="number of mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="only mutants that survived last time")
    parser.add_argument("--slowest", type=float, default=2, help="seconds: leave out slower tests (2)")
    options = parser.parse_args()

    stored = WORK / f"{options.package}.json"
    before = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    found = listed(options.package, options.files)
    mutants = [one for one in found if not options.again or before.get(one["name"]) in SURVIVED]
    mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    mutants = [one | {"id": number} for number, one in enumerate(mutants, 1)]
    print(f"{len(found)} mutants, {len(mutants)} chosen", flush=True)
    names = {one["name"] for one in mutants}
    mutants, tests = build(options.package, mutants)
    results = dict.fromkeys(names - {one["name"] for one in mutants}, "not compiled")
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda test: (*test, *plain(*test, options.slowest)), tests))
        good = sorted((one for one in runs if one[2] is not None), key=lambda one: one[2])
        bad = ", ".join(one[1] for one in runs if one[2] is None)
        print(f"{len(mutants)} mutants, {len(good)} tests; left out (they fail or are slow): {bad}", flush=True)
        outcomes = pool.map(lambda one: outcome(one, good), mutants)
        for one, what in zip(mutants, outcomes, strict=True):
            results[one["name"]] = what
            stored.write_text(json.dumps(before | results, indent=1), encoding="utf-8")
            if what in SURVIVED:
                print(f"{what}: {one['name']}", flush=True)
    used, counts = resource.getrusage(resource.RUSAGE_CHILDREN), collections.Counter(results.values())
    counted = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{counted}; {used.ru_utime + used.ru_stime:.0f} s of CPU time")
    return 1 if any(counts[what] for what in SURVIVED) else 0


if __name__ == "__main__":
    sys.exit(main())
