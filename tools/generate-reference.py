#!/usr/bin/env python3
"""Writes docs/reference, the manual page and the package's schema of study files from the code. With
--check, it writes nothing and fails if one of them is out of date. The engine is that of NETTRIAL_ENGINE,
otherwise that of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from reference import command_line, documents, manual, python, registries, study_file, tables

from nettrial.study.schema import study_schema

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PACKAGED = ROOT / "nettrial" / "cli" / "study.schema.json"
"""The schema that `nettrial init` writes beside a study: making it takes a second."""
ENGINE = os.environ.get("NETTRIAL_ENGINE", ROOT / "target" / "release" / "nettrial-engine")


def main() -> int:
    """Writes or checks the pages, and returns the exit status."""
    schema, path_schema = (
        _sorted(subprocess.run([ENGINE, "schema", *options], stdout=subprocess.PIPE, check=True).stdout)
        for options in ([], ["--path"])
    )
    pages = {
        **command_line.pages(),
        **study_file.pages(),
        **registries.pages(),
        **documents.pages(schema),
        **documents.path_pages(path_schema),
        **documents.json_pages(),
        **tables.pages(),
        **python.pages(),
    }
    pages["study.schema.json"] = json.dumps(study_schema(), indent=1) + "\n"
    wanted = {REFERENCE / name: text for name, text in pages.items()} | {
        PACKAGED: pages["study.schema.json"],
        ROOT / manual.FILE: manual.page(),
    }
    files = {*wanted, *(file for kind in ("md", "json") for file in REFERENCE.glob(f"*.{kind}"))}
    there = {file: file.read_text() for file in files if file.exists()}
    stale = sorted(file for file in files if wanted.get(file) != there.get(file))
    if sys.argv[1:] == ["--check"]:
        for file in stale:
            name = file.relative_to(ROOT)
            print(f"{name} is not what the code gives: run 'make generate'", file=sys.stderr)
        return 1 if stale else 0
    for file in stale:
        if file in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[file])
        else:
            file.unlink()
    return 0


def _sorted(document: bytes) -> dict[str, Any]:
    """Returns a schema with its names in alphabetical order, like those of the package's models."""
    schema: dict[str, Any] = json.loads(json.dumps(json.loads(document), sort_keys=True))
    return schema


if __name__ == "__main__":
    sys.exit(main())
