#!/usr/bin/env bash
# Builds a wheel into dist/ that needs Python and glibc 2.28, and nothing else: libelf and zlib are linked statically, BPF
# programs are compiled. Needs what tools/setup.sh installs. On another system than Debian 12, libelf.a may call for a
# later glibc; linking fails then.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2_28
tools=target/wheel
export CARGO_TARGET_DIR=$PWD/target/wheel/cargo

python3 -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet 'maturin>=1.9,<2' 'ziglang>=0.13' 'auditwheel>=6'

# The compiler for the older glibc looks into no folder of the system's: it is shown these files alone, and so links
# the static libraries.
mkdir -p "$tools/lib" "$tools/include"
for library in libelf.a libz.a; do
  found=$(gcc -print-file-name="$library")
  [ -e "$found" ] || { echo "build-wheel: no $library: install libelf-dev and zlib1g-dev" >&2; exit 3; }
  ln -sf "$found" "$tools/lib/$library"
done
for header in libelf.h gelf.h zlib.h zconf.h; do
  found=$(echo "#include <$header>" | gcc -M -xc - | tr ' \\' '\n\n' | grep "/$header$" | head -n 1)
  ln -sf "$found" "$tools/include/$header"
done
export LIBBPF_SYS_LIBRARY_PATH=$PWD/$tools/lib LIBBPF_SYS_EXTRA_CFLAGS=-I$PWD/$tools/include

rm -rf dist
PATH=$PWD/$tools/venv/bin:$PATH maturin build --release --locked --strip --zig --compatibility "manylinux_$glibc" --out dist
"$tools/venv/bin/auditwheel" show dist/*.whl
