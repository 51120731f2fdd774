#!/usr/bin/env python3
"""Counts the code tokens of the Rust, C and Python sources, by crate.

    scripts/tokens.py            a table and the total
    scripts/tokens.py --files    by file, the largest first

A token is what the language's grammar calls one: a name, a number, a string, an operator of any length, a bracket. The layout does not
change the count: comments, documentation, line ends, indentation, and commas before a closing bracket in Rust are not counted. Tests are
left out: items under `#[cfg(test)]`, the modules they name, the folders `tests`, and the crates of the test bench and of the benchmarks.
Scripts are left out, too: they are not shipped.
"""

import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = {"testbed", "testbed-macros", "benches"}

NUMBER = r"\d(?:[eE][+-]\d|[\w]|\.(?=\d)|\.(?![.\w]))*"
RUST = re.compile(
    rf"""(?P<space>\s+|//[^\n]*)|(?P<comment>/\*)|[bc]?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes)|[bc]?"(?:\\(?s:.)|[^"\\])*"
    |b?'(?:\\[^']+|\\'|[^'\\])'|'\w+|r\#\w+|{NUMBER}|\w+|\.\.[.=]|<<=|>>=|::|->|=>|==|!=|<=|>=|&&|\|\||[-+*/%^&|]=|<<|>>|\.\.|\S""",
    re.VERBOSE,
)
C = re.compile(
    rf"""(?P<space>\s+|\\\n|//[^\n]*|/\*(?s:.*?)\*/)|[LuU]?"(?:\\(?s:.)|[^"\\])*"|'(?:\\.|[^'\\])+'|{NUMBER}|\w+
    |\.\.\.|<<=|>>=|->|\+\+|--|\#\#|==|!=|<=|>=|&&|\|\||[-+*/%^&|]=|<<|>>|\S""",
    re.VERBOSE,
)
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
OPEN, CLOSE = {"(", "[", "{"}, {")", "]", "}"}


def rust(text):
    """The tokens of Rust code. Block comments nest."""
    tokens, at = [], 0
    while at < len(text):
        found = RUST.match(text, at)
        at = found.end()
        if found["comment"]:
            depth = 1
            while depth:
                edge = re.compile(r"/\*|\*/").search(text, at)
                depth, at = depth + (1 if edge[0] == "/*" else -1), edge.end()
        elif not found["space"]:
            tokens.append(found[0])
    return tokens


def closing(tokens, at):
    """The position after the bracket that closes the one at `at`."""
    depth = 0
    for position in range(at, len(tokens)):
        depth += (tokens[position] in OPEN) - (tokens[position] in CLOSE)
        if depth == 0:
            return position + 1
    return len(tokens)


def item_end(tokens, at):
    """The position after the item at `at`: its attributes, and its body or semicolon."""
    while tokens[at : at + 2] == ["#", "["]:
        at = closing(tokens, at + 1)
    while at < len(tokens):
        if tokens[at] in (";", ",") or tokens[at] in CLOSE:
            return at + (tokens[at] not in CLOSE)
        ends = tokens[at] == "{"
        at = closing(tokens, at) if tokens[at] in OPEN else at + 1
        if ends:
            return at
    return at


def without_tests(tokens):
    """The tokens without items under `#[cfg(test)]`, and the modules in other files that these items name."""
    kept, modules, at = [], set(), 0
    while at < len(tokens):
        if tokens[at : at + 4] == ["#", "[", "cfg", "("]:
            end = closing(tokens, at + 1)
            condition = tokens[at + 4 : end - 2]
            if condition == ["test"] or condition[:3] == ["all", "(", "test"]:
                item = item_end(tokens, end)
                if "mod" in tokens[end:item] and tokens[item - 1] == ";":
                    modules.add(tokens[item - 2])
                at = item
                continue
        kept.append(tokens[at])
        at += 1
    return kept, modules


def rust_files(folder):
    """The number of tokens of each Rust file of a crate."""
    counts, tests = {}, set()
    for file in sorted(folder.rglob("*.rs")):
        kept, modules = without_tests(rust(file.read_text()))
        counts[file] = sum(1 for one, after in zip(kept, [*kept[1:], ""], strict=True) if one != "," or after not in CLOSE)
        base = file.parent if file.stem in ("mod", "lib", "main") else file.with_suffix("")
        tests |= {base / name for name in modules}
    return {file: count for file, count in counts.items() if not tests & {file.with_suffix(""), *file.parents}}


def c_file(file):
    return sum(1 for found in C.finditer(file.read_text()) if not found["space"])


def python_file(file):
    """The number of tokens of a Python file. A string that is a statement of its own documents."""
    count, line_start = 0, True
    for token in tokenize.generate_tokens(io.StringIO(file.read_text()).readline):
        if token.type in LAYOUT:
            line_start = line_start if token.type == tokenize.COMMENT else True
            continue
        count += not (line_start and token.type == tokenize.STRING)
        line_start = False
    return count


def sources(folder, pattern):
    """The files of a folder that are not tests and were not built or downloaded."""
    skip = {"tests", "target", "vendor", "node_modules"}
    return [file for file in sorted(folder.rglob(pattern)) if not skip & set(file.relative_to(ROOT).parts[:-1])]


def crate(folder):
    """The number of tokens of each file of a crate."""
    files = {file: count for file, count in rust_files(folder).items() if file in sources(folder, "*.rs")}
    return files | {file: c_file(file) for pattern in ("*.c", "*.h") for file in sources(folder, pattern)}


def counted():
    """For each part of the tree, the number of tokens by file."""
    parts = {}
    for folder in sorted((ROOT / "crates").iterdir()):
        if folder.name in TESTS:
            continue
        parts[f"crates/{folder.name}"] = crate(folder)
    parts["cc"] = {file: c_file(file) for file in sources(ROOT / "cc", "*.h")}
    package = ROOT / "python/joulepath"
    parts["python/joulepath"] = {file: python_file(file) for pattern in ("*.py", "*.pyi") for file in sources(package, pattern)}
    parts["python/joulepath"] |= {file: c_file(file) for file in sources(package, "*.h")}
    return parts


def main():
    parts = counted()
    if sys.argv[1:] == ["--files"]:
        rows = Counter({str(file.relative_to(ROOT)): count for files in parts.values() for file, count in files.items()})
    else:
        rows = Counter({name: sum(files.values()) for name, files in parts.items()})
    width = max(map(len, rows))
    for name, count in rows.most_common():
        print(f"{name:{width}} {count:11,}")
    print(f"{'total':{width}} {sum(rows.values()):11,}")


if __name__ == "__main__":
    main()
