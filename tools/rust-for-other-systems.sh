# To be sourced: finds a Rust that compiles for other systems. If this machine's toolchain lacks their standard library, it
# is compiled from the sources in Debian's or Ubuntu's packages, by the compiler of the same version from these packages.
# They are unpacked to ~/.cache/nettrial and not installed, so this machine's own toolchain does not change.

kept=${XDG_CACHE_HOME:-$HOME/.cache}/nettrial

say() { echo "$(basename "$0" .sh): $*" >&2; }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\(\([0-9][^+~-]*\).*\)/\2/p'; }
depends() { # on package $2, those whose names match $1, itself among them
  apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    "$2" | grep -E "$1" | sort -u
}

# Unpacks the packages $2... to the directory $1, which then exists completely or not at all.
unpack() {
  local to=$1
  shift
  [ ! -e "$to" ] || return 0
  say "fetching $*"
  local scratch
  scratch=$(mktemp -d)
  chmod 755 "$scratch" # apt fetches as another user where it may
  (cd "$scratch" && apt-get -qq download "$@") >"$scratch/log" 2>&1 ||
    { cat "$scratch/log" >&2; rm -rf "$scratch"; say "apt-get could not fetch $*"; exit 3; }
  printf '%s\0' "$scratch"/*.deb | xargs -0 -n 1 -P "$(nproc)" sh -c 'dpkg-deb -x "$1" "$0/root"' "$scratch"
  mkdir -p "$(dirname "$to")"
  mv -T "$scratch/root" "$to" || [ -e "$to" ] # somebody else may have been faster
  rm -rf "$scratch"
}

# Makes cargo compile for the targets $*, and sets `build_std` to the necessary options.
find_rust() {
  build_std=()
  local target has_all=yes
  for target in "$@"; do
    [ -e "$(rustc --print target-libdir --target "$target")" ] || has_all=
  done
  [ -z "$has_all" ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "the standard library for $* is missing: rustup target add $*"
    exit 3
  fi
  local minimum compiler='' package
  minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  for package in rustc rustc-web; do
    at_least "$(candidate "$package")" "$minimum" && compiler=$package && break
  done
  if [ -z "$compiler" ]; then
    say "no Rust $minimum or later is to be had from apt: rustup target add $*"
    exit 3
  fi
  local root packages
  root=$kept/$compiler-$(candidate "$compiler")
  if [ ! -e "$root" ]; then
    mapfile -t packages < <(depends '^(rustc|libstd-rust|libllvm)' "$compiler")
    # dlltool creates the import libraries of Windows.
    unpack "$root" "${packages[@]}" "${compiler/rustc/rust}-src" binutils-mingw-w64-x86-64
  fi
  # At the place where the compiler looks for the sources, Debian has a link to files of other packages.
  local sources=$root/usr/lib/rustlib/src/rust
  if [ ! -e "$sources/library" ]; then
    mkdir -p "${sources%/*}"
    ln -sfn ../../../src/"$(basename "$root"/usr/src/rustc-*)" "$sources"
  fi
  RUSTC=$root/usr/bin/rustc
  LD_LIBRARY_PATH=$(dirname "$(find "$root/usr/lib" -name 'librustc_driver-*.so' -print -quit)")
  PATH=$PATH:$root/usr/bin
  # The option that compiles the standard library is unstable, although the compiler is a stable release.
  export RUSTC LD_LIBRARY_PATH PATH RUSTC_BOOTSTRAP=1
  build_std=(-Zbuild-std=std,panic_abort)
}
