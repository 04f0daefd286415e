#!/usr/bin/env bash
# Checks that the engine compiles for Windows and macOS, or for the given targets. Nothing is linked, so this needs no
# compilers of these systems, only Rust's standard library: see tools/rust-for-other-systems.sh. `make windows` builds the
# engine for Windows.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/rust-for-other-systems.sh

targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-pc-windows-gnu aarch64-apple-darwin)
find_rust "${targets[@]}"

# Compiled dependencies are kept beside the packages, so a fresh clone checks only the workspace again.
export CARGO_TARGET_DIR=$kept/other-systems
options=(--locked --quiet --package nettrial-engine)
for target in "${targets[@]}"; do options+=(--target "$target"); done
# Nothing runs, so the standard library is compiled without backtraces, which need a dozen packages for each target.
[ "${#build_std[@]}" = 0 ] || build_std+=(-Zbuild-std-features=panic-unwind)
cargo check "${build_std[@]}" "${options[@]}"
