"""Every public item of the package, the benches and the tools has a docstring: modules, classes, functions,
fields, and the package's constants."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [file for name in ("nettrial", "benches", "tools") for file in sorted((ROOT / name).rglob("*.py"))]
GENERATED = {"nettrial/scenario.py", "nettrial/path_report.py", "nettrial/study/base.py"}
"""The modules made from the engine's schemas, whose descriptions are the engine's."""


def undescribed(tree: ast.Module) -> Iterator[str]:
    """Yields the public items of a module that have no docstring. A field whose type is a class of the same
    module may have that class's."""
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    if not ast.get_docstring(tree):
        yield "the module"
    yield from _undescribed(tree, classes, "")


def _undescribed(node: ast.Module | ast.ClassDef, classes: set[str], of: str) -> Iterator[str]:
    for item, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if item.name.startswith("_") or {_name(each) for each in item.decorator_list} & {
                "overload",
                "override",
            }:
                continue
            if not ast.get_docstring(item):
                yield f"{of}{item.name}"
            if isinstance(item, ast.ClassDef):
                yield from _undescribed(item, classes, f"{item.name}.")
            continue
        target = item.targets[0] if isinstance(item, ast.Assign) else getattr(item, "target", None)
        if not isinstance(item, ast.Assign | ast.AnnAssign) or not isinstance(target, ast.Name):
            continue
        is_field = isinstance(item, ast.AnnAssign) and bool(of)
        if target.id.startswith("_") or not (is_field or target.id.isupper()):
            continue
        described = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        types = (
            {_name(each) for each in ast.walk(item.annotation)} if isinstance(item, ast.AnnAssign) else set()
        )
        if not described and not types & classes:
            yield f"{of}{target.id}"


def _name(node: ast.AST) -> str:
    """Returns the last part of a name; empty for anything else."""
    return getattr(node, "attr", getattr(node, "id", ""))


def test_every_public_item_is_described() -> None:
    found = {}
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        missing = list(undescribed(ast.parse(path.read_text(encoding="utf-8"))))
        if not name.startswith("nettrial"):
            missing = [item for item in missing if not item.isupper()]
        if missing and name not in GENERATED:
            found[name] = missing
    assert found == {}


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("PORT = 1", ["the module", "PORT"]),
        ('"""A module."""\nPORT = 1\n"""A port."""\n_OWN = 2\n', []),
        (
            '"""A module."""\nclass A:\n    """A class."""\n    port: int\n    def go(self): ...\n',
            ["A.port", "A.go"],
        ),
        ('"""A module."""\nclass A:\n    """A class."""\nclass B:\n    """Another."""\n    a: list[A]\n', []),
    ],
)
def test_an_item_without_a_docstring_is_found(code: str, missing: list[str]) -> None:
    assert list(undescribed(ast.parse(code))) == missing


@pytest.mark.parametrize("page", ["statistics", "coverage"])
def test_each_claim_about_statistics_names_a_test_that_there_is(page: str) -> None:
    text = (ROOT / "docs" / "explanation" / f"{page}.md").read_text()
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", text)
    assert len(named) >= 25
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / "unit" / file).read_text(), f"{file}::{test}"
