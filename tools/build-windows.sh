#!/usr/bin/env bash
# Builds the engine for 64-bit Windows 7 and later, as the single file target/windows/nettrial-engine.exe. The compiler is
# that of tools/rust-for-other-systems.sh, the linker MinGW-w64's from Debian's or Ubuntu's packages, unpacked beside it.
# With --wine, it also unpacks Wine, with which the test of the agent for Windows runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/rust-for-other-systems.sh

target=x86_64-win7-windows-gnu
find_rust "$target"
if ! command -v x86_64-w64-mingw32-gcc >/dev/null; then
  linker=gcc-mingw-w64-x86-64-win32
  mapfile -t packages < <(depends '^(binutils-mingw|gcc-mingw|mingw)' "$linker")
  unpack "$kept/mingw-$(candidate "$linker")" "${packages[@]}"
  PATH=$PATH:$kept/mingw-$(candidate "$linker")/usr/bin
  export CARGO_TARGET_X86_64_WIN7_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-win32
fi
if [ "${1:-}" = --wine ]; then
  wine=$kept/wine-$(candidate wine64)
  unpack "$wine" wine64 libwine libunwind8 libz-mingw-w64
  # Wine's loader expects its server in its own directory, where Debian has a script that only finds installed ones.
  ln -sfn wineserver64 "$wine/usr/lib/wine/wineserver"
  ln -sfn "$wine" "$kept/wine"
fi

export CARGO_TARGET_DIR=$kept/windows CARGO_PROFILE_RELEASE_DEBUG=false
cargo build "${build_std[@]}" --release --locked --package nettrial-engine --target "$target"
install -D -C -m 755 "$kept/windows/$target/release/nettrial-engine.exe" target/windows/nettrial-engine.exe
say "built target/windows/nettrial-engine.exe"
