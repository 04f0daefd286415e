#!/usr/bin/env bash
# Checks that the engine compiles for Windows and macOS, or for the targets that are given. Nothing is linked, so no
# compiler of theirs is needed, but Rust's standard library is: see tools/rust-for-other-systems.sh. `make windows`
# builds the engine for Windows.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/rust-for-other-systems.sh

targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-pc-windows-gnu aarch64-apple-darwin)
find_rust "${targets[@]}"

# What was compiled is kept beside the packages: only the workspace is checked anew in a fresh clone.
export CARGO_TARGET_DIR=$kept/other-systems
options=(--locked --quiet --package nettrial-engine)
for target in "${targets[@]}"; do options+=(--target "$target"); done
cargo check "${build_std[@]}" "${options[@]}"
