"""Fuzzes the targets of the engine: python -m fuzz.engine [--seconds 60] [TARGET ...].

libFuzzer changes the inputs, guided by the branches that each one takes. The targets are compiled with the
coverage that LLVM's sanitizers count, which Rust's stable compiler has too. An input that panics is kept in
fuzz/artifacts, and those that reach new branches in fuzz/corpus, from which the next run begins. The exit
status is 1 if a target panics, is slow, or takes too much memory."""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fuzz.seeds import SEEDS

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "fuzz"
BUILT = ROOT / "target" / "fuzz"
FLAGS = (
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
)
"""The compiler's options, which are those of cargo-fuzz without a sanitizer."""
LIMITS = ("-timeout=60", "-rss_limit_mb=1024", "-max_len=16384")
"""The most seconds and memory that an input may take, and its largest length in bytes."""


def build() -> Path:
    """Compiles the targets, and returns the directory of their programs."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.findall("^host: (.*)$", version, re.MULTILINE)[0]
    # The versions are the engine's; cargo adds those of libFuzzer.
    shutil.copy(ROOT / "Cargo.lock", FUZZ / "Cargo.lock")
    # With a target, build scripts and macros are compiled without these options.
    command = ["cargo", "build", "--release", "--quiet", f"--target={host}"]
    command += [f"--manifest-path={FUZZ / 'Cargo.toml'}", f"--target-dir={BUILT}"]
    subprocess.run(command, check=True, env={"CXX": "clang++", **os.environ, "RUSTFLAGS": " ".join(FLAGS)})
    return BUILT / host / "release"


def fuzz(name: str, program: Path, seeds: Iterable[bytes], seconds: int) -> bool:
    """Fuzzes a target for this time, and prints the rate; returns whether it failed."""
    corpus, artifacts = FUZZ / "corpus" / name, FUZZ / "artifacts"
    corpus.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(prefix="nettrial-fuzz-") as folder:
        for number, seed in enumerate(seeds):
            (Path(folder) / str(number)).write_bytes(seed)
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={artifacts}/{name}-"]
        done = subprocess.run(
            [program, *LIMITS, *options, "-print_final_stats=1", corpus, folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = done.stderr.decode(errors="replace")
    stats = {key: int(value) for key, value in re.findall(r"^stat::(\w+): +(\d+)$", said, re.MULTILINE)}
    count = stats.get("number_of_executed_units", 0)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rates = f"{count / seconds:.0f} a second, {count / max(used, 0.01):.0f} a second of CPU time"
    print(f"{name}: {count} inputs, {rates}; {'failed' if done.returncode else 'sound'}", file=sys.stderr)
    if done.returncode:
        print("\n".join(said.splitlines()[-40:]), file=sys.stderr, flush=True)
    return done.returncode != 0


def main() -> int:
    """Fuzzes the targets given, or all."""
    parser = argparse.ArgumentParser(description="Fuzzes the targets of the engine.")
    parser.add_argument("--seconds", type=int, default=60, help="the time for each target")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(SEEDS))
    given = parser.parse_args()
    programs = build()
    names = given.targets or list(SEEDS)
    return int(sum(fuzz(name, programs / name, SEEDS[name](), given.seconds) for name in names) > 0)


if __name__ == "__main__":
    sys.exit(main())
