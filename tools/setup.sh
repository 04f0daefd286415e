#!/usr/bin/env bash
# Installs the packages that nettrial needs on Debian or Ubuntu, and creates the virtual environment .venv. Skips packages
# that are already installed, so a second run is quick and needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."

minimum_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
say() { echo "setup: $*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

updated=
install() {
  say "installing $*"
  if [ -z "$updated" ]; then
    as_root apt-get update -qq
    updated=yes
  fi
  local log
  log=$(mktemp)
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1 ||
    { cat "$log" >&2; say "apt-get could not install $*"; exit 3; }
  rm -f "$log"
}
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][^+~-]*\).*/\1/p'; }

if ! command -v apt-get >/dev/null; then
  say "this is neither Debian nor Ubuntu: install the packages named in tools/setup.sh yourself"
  exit 3
fi

missing=()
# The kernel in virtual time needs bc, bison, flex, patch and xz.
for package in bc bison ca-certificates clang flex gcc libc6-dev iproute2 libelf-dev make patch pkg-config util-linux xz-utils zlib1g-dev; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
[ "${#missing[@]}" = 0 ] || install "${missing[@]}"

rust_version() { cargo --version 2>/dev/null | cut -d' ' -f2; }
if ! at_least "$(rust_version || true)" "$minimum_rust" 2>/dev/null; then
  [ -n "$updated" ] || { as_root apt-get update -qq; updated=yes; }
  # Debian's stable releases have a recent Rust for their browsers under another name.
  if at_least "$(candidate rustc)" "$minimum_rust"; then
    install rustc cargo rust-clippy rustfmt
  elif at_least "$(candidate rustc-web)" "$minimum_rust"; then
    install rustc-web cargo-web rust-web-clippy rustfmt-web
  fi
  if ! at_least "$(rust_version || true)" "$minimum_rust" && [ -n "$(candidate rustup)" ]; then
    install rustup
    rustup toolchain install stable --profile default >&2
  fi
  if ! at_least "$(rust_version || true)" "$minimum_rust"; then
    say "no Rust $minimum_rust or later is to be had from apt: install one (rustup) and run this again"
    exit 3
  fi
fi

if [ ! -x .venv/bin/python ]; then
  python=
  for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      python=$name
      break
    fi
  done
  if [ -z "$python" ]; then
    install python3.11 python3.11-venv
    python=python3.11
  fi
  "$python" -c 'import ensurepip' 2>/dev/null || install "$(basename "$("$python" -c 'import sys; print("python3.%d" % sys.version_info[1])')")-venv"
  say "making .venv with $("$python" --version)"
  "$python" -m venv .venv
fi
