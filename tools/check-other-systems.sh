#!/usr/bin/env bash
# Checks that the engine compiles for Windows and macOS. Nothing is linked, so no compiler of theirs is needed, but
# Rust's standard library is. Where this machine's toolchain has it for both (rustup target add), it is used; else it
# is compiled from the sources in Debian's or Ubuntu's packages, by the compiler of the same version that is beside
# them. The packages are unpacked to ~/.cache/nettrial, not installed: this machine's own toolchain stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(x86_64-pc-windows-gnu aarch64-apple-darwin)
minimum_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
say() { echo "check-other-systems: $*" >&2; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\(\([0-9][^+~-]*\).*\)/\2/p'; }
depends() { # of package $1, those that are part of Rust or LLVM, itself among them
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    "$1" | grep -E '^(rustc|libstd-rust|libllvm)' | sort -u
}

# What was compiled is kept beside the packages: only the workspace is checked anew in a fresh clone.
export CARGO_TARGET_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/nettrial/other-systems
options=(--locked --quiet --package nettrial-engine)
for target in "${targets[@]}"; do options+=(--target "$target"); done

has_all=yes
for target in "${targets[@]}"; do
  [ -e "$(rustc --print target-libdir --target "$target")" ] || has_all=
done
if [ -n "$has_all" ]; then
  exec cargo check "${options[@]}"
fi

if ! command -v apt-get >/dev/null; then
  say "the standard library for ${targets[*]} is missing: rustup target add ${targets[*]}"
  exit 3
fi
compiler=
for package in rustc rustc-web; do
  at_least "$(candidate "$package")" "$minimum_rust" && compiler=$package && break
done
if [ -z "$compiler" ]; then
  say "no Rust $minimum_rust or later is to be had from apt: rustup target add ${targets[*]}"
  exit 3
fi
root=${XDG_CACHE_HOME:-$HOME/.cache}/nettrial/$compiler-$(candidate "$compiler")
if [ ! -e "$root" ]; then
  say "fetching $compiler $(candidate "$compiler") and its sources"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  chmod 755 "$scratch" # apt fetches as another user where it may
  mapfile -t packages < <(depends "$compiler")
  # Windows' import libraries are made by dlltool.
  packages+=("${compiler/rustc/rust}-src" binutils-mingw-w64-x86-64)
  (cd "$scratch" && apt-get -qq download "${packages[@]}") >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; say "apt-get could not fetch ${packages[*]}"; exit 3; }
  printf '%s\0' "$scratch"/*.deb | xargs -0 -n 1 -P "$(nproc)" sh -c 'dpkg-deb -x "$1" "$0/root"' "$scratch"
  mkdir -p "$scratch/root/usr/lib/rustlib/src" "$(dirname "$root")"
  rm -f "$scratch/root/usr/lib/rustlib/src/rust"
  (cd "$scratch/root/usr/lib/rustlib/src" && ln -s ../../../src/rustc-* rust)
  mv -T "$scratch/root" "$root" || [ -e "$root" ] # somebody else may have been faster
fi

libraries=$(dirname "$(find "$root/usr/lib" -name 'librustc_driver-*.so' -print -quit)")
export RUSTC=$root/usr/bin/rustc LD_LIBRARY_PATH=$libraries PATH=$PATH:$root/usr/bin
# The option that compiles the standard library is not stable; the compiler is.
RUSTC_BOOTSTRAP=1 cargo check -Zbuild-std=std,panic_abort "${options[@]}"
