#!/usr/bin/env python3
"""Checks the structure of the workspace (ARCHITECTURE.md):

- A crate uses only crates on lower floors, and the files of a crate have no circular dependencies.
- The command line stays small: its functions are in libraries that other programs can use.
- All builds use the same features of external crates, so that each build reuses the crates that another has compiled.
- Setup installs every program that a test needs.

    scripts/house.py            check; prints each violation, exit code 1 if there is one
    scripts/house.py --draw     print the crates by floor, with their dependencies

A file uses another file if its code refers to an item in it (`use crate::a::B`, `super::c::d()`). A file that only re-exports
items of its own submodules (`mod a; pub use a::B;`) does not use them. Tests may use anything.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import tokens

ROOT = Path(__file__).resolve().parent.parent

# Each floor uses only floors above it in this list. Crates for tests and benchmarks are in OUTSIDE.
FLOORS = [
    {"model", "controllers", "files"},
    {"link", "control", "topology", "kernel", "bill", "pcapng"},
    {"packet", "fluid", "slotted", "lab", "live", "relay", "report", "meter", "why"},
    {"study", "console", "capture"},
    {"joulepath", "python", "web"},
]
# Most code tokens of a crate (scripts/tokens.py).
MOST_TOKENS = {"joulepath": 46_000}
OUTSIDE = {"benches", "testbed", "testbed-macros"}

# Arguments of the builds whose features must agree.
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
    """For each crate, by name without prefix: its folder, and its build dependencies in this workspace."""
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
    """The files of a crate by module path, `a::b` as ("a", "b"), without binaries and tests."""
    found = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        if parts[0] == "bin" or any(part.startswith("tests") for part in parts):
            continue
        found[parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts] = file
    return found


def without_tests(file):
    """The text of a file without its unit tests."""
    return file.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]


def code_of(file):
    """The code of a file without comments, strings and unit tests."""
    code = re.sub(r"//[^\n]*", "", without_tests(file))
    code = re.sub(r'b?r?"(\\.|[^"\\])*"', '""', code)
    return re.sub(r"\bpub\([^)]*\)", "pub", code)


def names_of(tree, prefix=""):
    """The names in a `use` tree: `a::{b, c::d}` gives `a::b` and `a::c::d`."""
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
    """For each module, the modules that it uses."""
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
    """The module that contains the named item, or None if the item is in another crate."""
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
    """Sets of modules with circular dependencies (strongly connected components of more than one module)."""
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
    """The external crates of a build, each with its features. A crate that is used both on the build machine and on the target can
    have two sets of features."""
    command = ["cargo", "tree", "--locked", *arguments.split(), "--format", "{p}|{f}", "--prefix", "none"]
    wanted = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        package, _, words = line.removesuffix(" (*)").partition("|")
        if package and not package.startswith("joulepath"):
            wanted.setdefault(package.removesuffix(" (proc-macro)"), set()).add(frozenset(filter(None, words.split(","))))
    return wanted


def compiled_twice():
    """External crates whose features differ between builds: they and all crates that depend on them are compiled twice."""
    builds = {name: features(arguments) for name, arguments in BUILDS.items()}
    for package in sorted(set().union(*builds.values())):
        sets = {name: wanted[package] for name, wanted in builds.items() if package in wanted}
        most = max(sets.values(), key=lambda one: (len(one), sum(map(len, one))))
        for name, own in sets.items():
            if not own <= most:
                lacking = ", ".join(sorted(frozenset().union(*most) - frozenset().union(*own))) or "features of other builds"
                yield f"{name} compiles `{package}` without {lacking}: add it in crates/study/Cargo.toml"


def programs_that_nothing_installs():
    """Programs that kernel tests need and scripts/setup.sh does not install. Every machine has a shell."""
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
            offences.append(f"crate `{name}`: these files have circular dependencies: {shown}")
    for name, most in MOST_TOKENS.items():
        count = sum(tokens.crate(crates[name][0]).values())
        if count > most:
            offences.append(f"crate `{name}` has {count} code tokens, more than {most}: move code that is no command to a library")
    for offence in offences:
        print(f"house: {offence}", file=sys.stderr)
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
