"""Looks up known vulnerabilities of the crates in Cargo.lock and of the packages in requirements*.lock, with
cargo-audit and pip-audit: python tools/audit.py.

The tools are installed in target/audit, at the versions below. They read RustSec's database on GitHub, and
the advisories of PyPI's JSON API. In a network without them the program says that it looked up nothing, which
is no error, because a build must not depend on that network. The exit status is 1 if a vulnerability is
known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "target" / "audit"
DATABASE = "https://github.com/RustSec/advisory-db"
PATIENCE_SECONDS = 1800.0
"""The time in seconds that a tool may take, to be compiled, for example."""
CARGO_AUDIT, PIP_AUDIT = "0.22.2", "2.10.1"


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command and returns its outputs."""
    given = {**os.environ, "GIT_TERMINAL_PROMPT": "0", **environment}
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=given,
            timeout=PATIENCE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def unknown(tool: str, why: str) -> bool:
    """Says that a tool could not look anything up; returns false, because no vulnerability is known."""
    print(f"audit: {tool} looked up NOTHING: {why}", file=sys.stderr)
    return False


def last_line(text: str) -> str:
    """Returns the last line of an error."""
    return (text.strip().splitlines() or ["it says nothing"])[-1].strip()


def crates() -> bool:
    """Returns whether a vulnerability of a crate is known."""
    program, database = TOOLS / "bin" / "cargo-audit", TOOLS / "advisory-db"
    # Without the database, there is no need for the tool, which takes minutes to compile.
    if why := fetched(database):
        if not (database / "crates").exists():
            return unknown("cargo-audit", f"no database: {why}")
        print(f"audit: the crates' database is an earlier one: {why}", file=sys.stderr)
    install = ("cargo", "install", "--quiet", "--locked", "--root", TOOLS, f"cargo-audit@{CARGO_AUDIT}")
    installed = run(*install, CARGO_TARGET_DIR=str(TOOLS / "build"))
    if installed.returncode != 0:
        return unknown("cargo-audit", f"it could not be installed: {last_line(installed.stderr)}")
    audited = run(program, "audit", "--db", database, "--no-fetch", "--stale")
    print(audited.stdout + audited.stderr, end="", file=sys.stderr)
    return audited.returncode != 0


def fetched(database: Path) -> str:
    """Fetches the database of advisories on crates, or its changes; returns the reason if that failed."""
    there = (database / "crates").exists()
    if not there:
        shutil.rmtree(database, ignore_errors=True)  # an interrupted fetch
    git = ("git", "-C", database, "pull", "--quiet", "--ff-only")
    done = run(*(git if there else ("git", "clone", "--quiet", "--depth", "1", DATABASE, database)))
    return "" if done.returncode == 0 else last_line(done.stderr)


def packages() -> bool:
    """Returns whether a vulnerability of a Python package is known."""
    environment = TOOLS / "venv"
    for command in (
        (sys.executable, "-m", "venv", environment),
        (environment / "bin" / "pip", "install", "--quiet", f"pip-audit=={PIP_AUDIT}"),
    ):
        done = run(*command)
        if done.returncode != 0:
            return unknown("pip-audit", f"it could not be installed: {last_line(done.stderr)}")
    is_known = False
    for file in sorted(ROOT.glob("requirements*.lock")):
        options = ("--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off")
        done = run(environment / "bin" / "pip-audit", *options, "--requirement", file)
        try:
            listed = json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError):
            unknown("pip-audit", f"{file.name}: {last_line(done.stderr)}")
            continue
        looked_up = [each for each in listed if "skip_reason" not in each]
        if not looked_up:
            unknown("pip-audit", f"{file.name}: the package index has no advisories of any of its packages")
            continue
        print(f"audit: {file.name}: looked up {len(looked_up)} of {len(listed)} packages", file=sys.stderr)
        for each in looked_up:
            for vulnerability in each["vulns"]:
                is_known = True
                remedy = ", ".join(vulnerability["fix_versions"]) or "none"
                print(
                    f"{each['name']} {each['version']}: {vulnerability['id']}, fixed in {remedy}",
                    file=sys.stderr,
                )
    return is_known


def main() -> int:
    """Looks everything up; returns the exit status."""
    return int(max([crates(), packages()]))


if __name__ == "__main__":
    sys.exit(main())
