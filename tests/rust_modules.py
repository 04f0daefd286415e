"""The modules of the engine's crates, and which of them uses which, read from their source."""

import re
from functools import cache
from pathlib import Path

NAME = r"[A-Za-z_]\w*"


def without_comments_and_tests(code: str) -> str:
    """Returns Rust code without its comments and its module of unit tests."""
    return re.sub(r"//.*", "", code).split("#[cfg(test)]\nmod tests {")[0]


def expanded(tree: str) -> list[tuple[list[str], str]]:
    """Returns the paths of a `use` tree, each with the name that it has in the file."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, alias = tree.partition(" as ")
        parts = [part.strip() for part in path.split("::")]
        if parts[-1] == "self":
            parts.pop()
        return [(parts, alias.strip() or parts[-1])] if parts else []
    inner, depth, start, branches = rest.rsplit("}", 1)[0], 0, 0, []
    for place, letter in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            branches.append(inner[start:place])
            start = place + 1
    branches.append(inner[start:])
    prefix = [part.strip() for part in head.split("::") if part.strip()]
    return [
        ([*prefix, *path], name or prefix[-1])
        for branch in branches
        if branch.strip()
        for path, name in (expanded(branch) if branch.strip() != "self" else [([], "")])
    ]


class Module:
    """A module of a crate: a file with its imports."""

    def __init__(self, file: Path, path: tuple[str, ...]):
        self.file, self.path = file, path
        code = without_comments_and_tests(file.read_text())
        self.public: dict[str, list[str]] = {}
        self.private: dict[str, list[str]] = {}
        for visibility, tree in re.findall(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", code, re.M):
            for parts, name in expanded(tree):
                (self.public if visibility else self.private)[name] = parts
        body = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:use|mod)\s+[^;{]+(?:\{[^;]*)?;", "", code, flags=re.M)
        body = re.sub(r'"(?:\\.|[^"\\])*"', '""', body)
        self.names = set(re.findall(rf"\b{NAME}\b", body))
        self.qualified = {
            tuple(chain.split("::")) for chain in re.findall(rf"(?<![\w:.]){NAME}(?:::{NAME})+", body)
        }


class Crate:
    """A crate of the engine."""

    def __init__(self, sources: Path):
        self.modules: dict[tuple[str, ...], Module] = {}
        for file in sorted(sources.rglob("*.rs")):
            parts = file.relative_to(sources).with_suffix("").parts
            if not {"tests", "testing"} & set(parts):
                path = () if parts in {("lib",), ("main",)} else parts
                self.modules[path] = Module(file, path)

    def resolved(self, base: Module, parts: list[str]) -> tuple[tuple[str, ...], list[str]] | None:
        """Returns the module that a path in the module `base` leads to, and the rest of the path in it."""
        here, rest = base.path, list(parts)
        if rest[0] == "crate":
            here = ()
        elif rest[0] == "super":
            here = here[:-1]
        elif rest[0] != "self" and (*here, rest[0]) not in self.modules:
            return None
        else:
            rest = ["self", *rest] if rest[0] != "self" else rest
        rest = rest[1:]
        while rest and (rest[0] == "super" or (*here, rest[0]) in self.modules):
            here = here[:-1] if rest[0] == "super" else (*here, rest[0])
            rest = rest[1:]
        return here, rest

    def home(self, base: Module, parts: list[str]) -> tuple[str, ...] | None:
        """Returns the module that defines what a path names, through those that only export it again."""
        reached = self.resolved(base, parts)
        if reached is None:
            return None
        here, rest = reached
        module = self.modules.get(here)
        exported = module.public.get(rest[0]) if module and rest else None
        if module and exported and exported != parts:
            return self.home(module, exported + rest[1:]) or here
        return here

    def uses(self, module: Module) -> set[tuple[str, ...]]:
        """Returns the modules that one uses, without those that it is in: a module and what is in it are one
        thing in two files, such as a trait and its implementations. Exporting a name again is no use of
        it."""
        imported = module.public | module.private
        found = set()
        for name, parts in imported.items():
            if name in module.public and name not in module.names:
                continue
            reached = self.resolved(module, parts)
            if reached is None:
                continue
            chains = [list(chain[1:]) for chain in module.qualified if chain[0] == name]
            whole = not reached[1]  # The name is that of a module: what counts is what is used of it.
            ends = [parts + chain for chain in chains] if whole and chains else [parts]
            found |= {self.home(module, end) for end in ends}
        for chain in module.qualified:
            if chain[0] not in imported:
                found.add(self.home(module, list(chain)))
        return {path for path in found if path in self.modules and path != module.path[: len(path)]}

    def circles(self) -> list[list[str]]:
        """Returns the groups of files that use each other, each in a loop."""
        uses = {path: self.uses(module) for path, module in self.modules.items()}

        @cache
        def reached(path: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
            seen, waiting = set(), list(uses[path])
            while waiting:
                if (one := waiting.pop()) not in seen:
                    seen.add(one)
                    waiting += uses[one]
            return frozenset(seen)

        groups = {
            frozenset({path} | {other for other in reached(path) if path in reached(other)})
            for path in uses
            if path in reached(path)
        }
        return sorted(sorted("/".join(path) or "lib" for path in group) for group in groups)
