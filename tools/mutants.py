"""Checks whether tests notice changes to the code: changes one place at a time and runs the nearest tests.

    python tools/mutants.py [--since COMMIT] [--mutants N] [--seed N] [MODULE.py ...]

Without modules, those of the package that changed since COMMIT are taken, and only their changed lines. A
change that all tests pass survives. The survivors are printed, and the exit status is 1 if fewer than 4 of 5
changes were noticed: some change nothing that a test could see. The nearest tests are the files in tests/unit
that import the module, or else those that import its part. The changes are made in a copy of the checkout,
which stays as it is whatever ends this program.

The changes are those of Offutt et al., "An Experimental Determination of Sufficient Mutant Operators" (1996),
as far as Python has them: relational, arithmetic and logical operators, and constants."""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECONDS = 300
"""The time limit of the nearest tests; a change that lets them run longer is noticed."""
NOTICED = 0.8
"""The least part of the changes that tests must notice."""
OPERATORS: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """One changed place of a module."""

    module: Path
    """The module's path within the checkout."""
    line: int
    """The line of the place."""
    before: str
    """The code of the place."""
    after: str
    """The code after the change."""
    text: str
    """The module's text after the change."""


def mutants_of(module: Path, text: str, lines: set[int] | None) -> Iterator[Mutant]:
    """Yields every change to the code in `lines` (all if None) of a module with that text."""
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        if lines is not None and line not in lines:
            continue
        before = ast.get_source_segment(text, node) or ""
        for _ in changes(node):
            after = ast.unparse(node)
            changed = replaced(text, node, after) if before else None
            if changed is not None and after != ast.unparse(ast.parse(before, mode="eval").body):
                yield Mutant(module, line, before, after, changed)


def changes(node: ast.AST) -> Iterator[None]:
    """Changes the node itself, yields, and restores it; yields nothing if the node can't be changed."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        kept = node.ops[0]
        node.ops[0] = OPERATORS[type(kept)]()
        yield
        node.ops[0] = kept
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        operator = node.op
        node.op = OPERATORS[type(operator)]()
        yield
        node.op = operator
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        node.value = not value if isinstance(value, bool) else value + 1
        yield
        node.value = value


def replaced(text: str, node: ast.AST, after: str) -> str | None:
    """Returns the text with that code in the node's place; None if the result can't be compiled."""
    rows = text.encode().splitlines(keepends=True)
    first, last = getattr(node, "lineno", 1) - 1, getattr(node, "end_lineno", 1) - 1
    head = rows[first][: getattr(node, "col_offset", 0)]
    tail = rows[last][getattr(node, "end_col_offset", 0) :]
    changed = b"".join([*rows[:first], head, f"({after})".encode(), tail, *rows[last + 1 :]]).decode()
    try:
        compile(changed, "<mutant>", "exec")
    except SyntaxError:
        return None
    return changed


def changed_lines(since: str) -> dict[Path, set[int]]:
    """Returns the lines of the package's modules that changed since a commit."""
    command = ["git", "-C", str(ROOT), "diff", "--unified=0", since, "--", "nettrial/*.py"]
    numbers: dict[Path, set[int]] = {}
    module = Path()
    for row in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        if row.startswith("+++ b/"):
            module = Path(row.removeprefix("+++ b/"))
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", row):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            numbers.setdefault(module, set()).update(range(start, start + count))
    return {module: lines for module, lines in numbers.items() if lines}


def nearest_tests(module: Path) -> list[str]:
    """Returns the files of unit tests that import the module, or else its part of the package."""
    dotted = ".".join(module.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = dotted.rpartition(".")
    importing = rf"(from {re.escape(parent)} import [^\n]*\b{name}\b|{re.escape(dotted)}\b)"
    part = re.escape(".".join(dotted.split(".")[:2]))
    tests = sorted((ROOT / "tests" / "unit").glob("test_*.py"))
    texts = {str(test.relative_to(ROOT)): test.read_text() for test in tests}
    for pattern in (importing, part):
        if importers := [test for test, text in texts.items() if re.search(pattern, text)]:
            return importers
    return []


def passes(module: Path, text: str, copy: Path) -> bool:
    """Returns whether the nearest tests of a module pass if it has that text."""
    place = copy / module
    original = place.read_text()
    place.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
    ]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *nearest_tests(module)],
            cwd=copy,
            env=environment,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_text(original)


def copied(directory: Path) -> Path:
    """Copies what the unit tests read to a directory, and returns it."""
    for name in ("nettrial", "tests", "studies", "examples", "docs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, directory / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "mkdocs.yml"):
        shutil.copy(ROOT / name, directory / name)
    return directory


def main() -> int:
    """Runs the check and returns its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", type=Path)
    parser.add_argument("--since", default="HEAD~10", help="the commit since which lines have changed")
    parser.add_argument("--mutants", type=int, default=20, help="the number of changes to try")
    parser.add_argument("--seed", type=int, default=1, help="the seed that chooses them")
    options = parser.parse_args()
    chosen: dict[Path, set[int] | None] = dict.fromkeys(options.modules) or dict(changed_lines(options.since))
    every = [
        mutant
        for module, lines in sorted(chosen.items())
        if module.name not in {"scenario.py", "path_report.py", "base.py"}  # generated
        for mutant in mutants_of(module, (ROOT / module).read_text(), lines)
    ]
    picked = random.Random(options.seed).sample(every, min(options.mutants, len(every)))
    survivors = 0
    with tempfile.TemporaryDirectory() as directory:
        copy = copied(Path(directory))
        for module in sorted({mutant.module for mutant in picked}):
            if not passes(module, (ROOT / module).read_text(), copy):
                sys.exit(f"the nearest tests of {module} fail without a change: {nearest_tests(module)}")
        for number, mutant in enumerate(picked, 1):
            survived = passes(mutant.module, mutant.text, copy)
            survivors += survived
            said = "survived" if survived else "noticed"
            at = f"{mutant.module}:{mutant.line}"
            print(f"{number} of {len(picked)}: {said}: {at}: {mutant.before} -> {mutant.after}", flush=True)
    noticed = len(picked) - survivors
    print(f"{noticed} of {len(picked)} changes were noticed, of {len(every)} possible ones")
    return 1 if noticed < NOTICED * len(picked) else 0


if __name__ == "__main__":
    sys.exit(main())
