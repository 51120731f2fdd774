#!/usr/bin/env python3
"""Checks the shape of the house (ARCHITECTURE.md): a crate uses only crates on lower floors, and no files of a crate use
each other in a circle. The command line stays small: what it does, others can do as well from a library. All builds want
the same of crates of others, so that what one has compiled the next one finds. Setup installs every program that a test needs.

    scripts/house.py            check; says each offence and exits with 1 if there is one
    scripts/house.py --draw     the crates by floor, with what each uses

A file uses another if its code names something of it (`use crate::a::B`, `super::c::d()`). A file that only passes on names of
its own submodules (`mod a; pub use a::B;`) does not use them. Tests may use what they like.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Each floor uses only those above it in this list. What is for tests and benchmarks only stands outside.
FLOORS = [
    {"model", "controllers", "files"},
    {"link", "control", "topology", "kernel"},
    {"packet", "fluid", "slotted", "lab", "live", "report", "meter"},
    {"study", "console"},
    {"joulepath", "python"},
]
# Lines of code without blanks, comments and unit tests, as many as a crate may have.
MOST_LINES = {"joulepath": 4000}
OUTSIDE = {"benches", "testbed", "testbed-macros"}

# What `make demo`, `make build`, the static program, `make test`, `make lint` and the Python package are built from.
BUILDS = {
    "make demo": "--package joulepath --no-default-features --edges normal,build",
    "make build": "--package joulepath --features joulepath/kernel --edges normal,build",
    "make static": "--package joulepath --features live --edges normal,build",
    "make test": "--workspace --exclude joulepath-python --exclude joulepath-benches --features joulepath/kernel --edges normal,build,dev",
    "make lint": "--workspace --features joulepath/kernel --edges normal,build,dev",
    "the Python package": "--package joulepath-python --edges normal,build",
}

USE = re.compile(r"(?:^|\n)[ \t]*(pub\s+)?use\s+([^;]+);")
NAMED = re.compile(r"\b((?:crate|super|self)(?:::\w+)+)")
CHILD = re.compile(r"\b([a-z]\w*)::\w")


def workspace():
    """Name of each crate without its prefix, its folder, and the crates of this workspace that it needs to be built."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["packages"]
    own = {package["name"] for package in packages}
    short = lambda name: name.removeprefix("joulepath-")
    crates = {}
    for package in packages:
        needs = {d["name"] for d in package["dependencies"] if d["kind"] in (None, "build")} & own
        crates[short(package["name"])] = (Path(package["manifest_path"]).parent, {short(name) for name in needs})
    return crates


def wrong_floors(crates):
    floor = {name: number for number, names in enumerate(FLOORS) for name in names}
    for name in sorted(crates.keys() - floor.keys() - OUTSIDE):
        yield f"crate `{name}` has no floor: add it to FLOORS in scripts/house.py and to ARCHITECTURE.md"
    for name, (_, needs) in sorted(crates.items()):
        for other in sorted(needs):
            if name in floor and floor.get(other, len(FLOORS)) >= floor[name]:
                place = f"on floor {floor[other]}" if other in floor else "for tests only"
                yield f"crate `{name}` on floor {floor[name]} uses `{other}`, which is {place}"


def modules(source):
    """The files of a crate by the path of their module: `a::b` is ("a", "b"). Binaries and tests are left out."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        if parts[0] == "bin" or any(part.startswith("tests") for part in parts):
            continue
        found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = file
    return found


def without_tests(file):
    """The text without unit tests."""
    return file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]


def code_of(file):
    """The code without comments, texts and unit tests."""
    code = re.sub(r"//[^\n]*", "", without_tests(file))
    code = re.sub(r'b?r?"(\\.|[^"\\])*"', '""', code)
    return re.sub(r"\bpub\([^)]*\)", "pub", code)


def lines_of(file):
    """Lines of code without blanks, comments and unit tests."""
    return sum(1 for line in without_tests(file).splitlines() if line.strip() and not line.strip().startswith("//"))


def names_of(tree, prefix=""):
    """The names in a tree of `use`: `a::{b, c::d}` has `a::b` and `a::c::d`."""
    before, brace, inner = tree.partition("{")
    if not brace:
        yield (prefix + tree).split(" as ")[0].replace(" ", "")
        return
    depth, part = 0, ""
    for character in inner[: inner.rfind("}")] + ",":
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            if part.strip():
                yield from names_of(part.strip(), prefix + before.strip())
            part = ""
        else:
            part += character


def uses(files):
    """Which module uses which."""
    edges = {module: set() for module in files}
    for module, file in files.items():
        code = code_of(file)
        children = {other[-1] for other in files if other and other[:-1] == module}
        named = {(name, bool(public)) for public, tree in USE.findall(code) for name in names_of(" ".join(tree.split()))}
        rest = USE.sub("", code)
        named |= {(name, False) for name in NAMED.findall(rest)}
        named |= {("self::" + name, False) for name in CHILD.findall(rest) if name in children}
        for name, public in named:
            target = resolve(name.split("::"), module, files, children)
            passes_on = public and target is not None and target[: len(module)] == module
            if target is not None and target != module and not passes_on:
                edges[module].add(target)
    return edges


def resolve(parts, module, files, children):
    """The module that holds what is named, or none if it is another crate's."""
    if parts[0] == "crate":
        base = ()
    elif parts[0] == "super":
        base = module
        while parts[0] == "super" and len(parts) > 1:
            base, parts = base[:-1], parts[1:]
        parts = ["super", *parts]
    elif parts[0] == "self":
        base = module
    elif parts[0] in children:
        base, parts = module, ["self", *parts]
    else:
        return None
    for part in parts[1:]:
        if base + (part,) not in files:
            break
        base += (part,)
    return base


def circles(edges):
    """Sets of modules that reach one another (strongly connected components of more than one module)."""
    reach = {}
    for start in edges:
        seen, left = set(), [start]
        while left:
            for other in edges[left.pop()] - seen:
                seen.add(other)
                left.append(other)
        reach[start] = seen
    told = set()
    for start in sorted(edges):
        circle = {other for other in reach[start] if start in reach[other]} | {start}
        if start in reach[start] and start not in told:
            told |= circle
            yield sorted(circle)


def features(arguments):
    """The crates of others that a build compiles, each with the features that it wants of it; a crate that is needed both on the
    machine that builds and on the target can have two sets."""
    command = ["cargo", "tree", "--locked", *arguments.split(), "--format", "{p}|{f}", "--prefix", "none"]
    wanted = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        package, _, words = line.removesuffix(" (*)").partition("|")
        if package and not package.startswith("joulepath"):
            wanted.setdefault(package.removesuffix(" (proc-macro)"), set()).add(frozenset(filter(None, words.split(","))))
    return wanted


def compiled_twice():
    """Crates of others of which one build wants what another does not: with them, all that stands on them is compiled again."""
    builds = {name: features(arguments) for name, arguments in BUILDS.items()}
    for package in sorted(set().union(*builds.values())):
        sets = {name: wanted[package] for name, wanted in builds.items() if package in wanted}
        most = max(sets.values(), key=lambda one: (len(one), sum(map(len, one))))
        for name, own in sets.items():
            if not own <= most:
                lacking = ", ".join(sorted(frozenset().union(*most) - frozenset().union(*own))) or "what others want"
                yield f"{name} compiles `{package}` without {lacking}: name that in crates/study/Cargo.toml"


def programs_that_nothing_installs():
    """Programs that a test of the running kernel says it needs, and scripts/setup.sh does not know. Every machine has a shell."""
    installed = set(re.findall(r"^ *want (\S+)", (ROOT / "scripts/setup.sh").read_text(), re.MULTILINE)) | {"sh"}
    for file in sorted(ROOT.glob("crates/*/tests/**/*.rs")):
        for name in sorted(set(re.findall(r'\btool\("(\S+?)"\)', file.read_text())) - installed):
            yield f"{file.relative_to(ROOT)} needs `{name}`, which scripts/setup.sh does not install"


def draw(crates):
    for number in reversed(range(len(FLOORS))):
        for name in sorted(FLOORS[number] & crates.keys()):
            print(f"{number}  {name:12} {' '.join(sorted(crates[name][1])) or '–'}")


def main():
    crates = workspace()
    if sys.argv[1:] == ["--draw"]:
        draw(crates)
        return 0
    offences = [*wrong_floors(crates), *compiled_twice(), *programs_that_nothing_installs()]
    for name, (folder, _) in sorted(crates.items()):
        files = modules(folder / "src")
        for circle in circles(uses(files)):
            shown = ", ".join("::".join(module) or "the crate's root" for module in circle)
            offences.append(f"crate `{name}`: these files use each other in a circle: {shown}")
        lines, most = sum(map(lines_of, files.values())), MOST_LINES.get(name)
        if most is not None and lines > most:
            offences.append(f"crate `{name}` has {lines} lines of code of at most {most}: move what is no command to a library")
    for offence in offences:
        print(f"house: {offence}", file=sys.stderr)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
