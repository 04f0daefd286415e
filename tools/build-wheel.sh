#!/usr/bin/env bash
# build-wheel.sh [x86_64|aarch64]: builds a wheel for Linux into dist/ that needs only Python and glibc 2.28 or later: BPF
# programs are compiled, and libelf and zlib are linked statically. It has the TCP/IP stacks that are programs. Without an argument, the wheel is for this machine's CPU.
# Needs the packages of tools/setup.sh.
#
# Zig's compiler links for the older glibc and for the other CPU. The static libraries must be Debian 12's: later releases
# compile theirs for a later glibc, so linking fails there.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/rust-for-other-systems.sh

cpu=${1:-$(uname -m)}
glibc=2_28
case $cpu in
  x86_64) debian=amd64 ;;
  aarch64) debian=arm64 ;;
  *) say "$cpu: expected x86_64 or aarch64"; exit 2 ;;
esac
target=$cpu-unknown-linux-gnu
work=$PWD/target/wheel
libraries=$work/$cpu

# The packages for the other CPU are fetched with separate package lists, so the machine's apt does not change.
fetch_for_other_cpu() {
  local apt=$work/apt-$cpu
  mkdir -p "$apt"/{lists,cache/archives}/partial "$apt/packages"
  local options=(-qq -o "APT::Architecture=$debian" -o "APT::Architectures::=$debian" -o "Dir::State::Lists=$apt/lists"
    -o Dir::State::status=/dev/null -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
  (cd "$apt/packages" && apt-get "${options[@]}" download "libelf-dev:$debian" "zlib1g-dev:$debian") >&2
  local package
  for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$1"; done
}

# The compiler for the older glibc does not search directories of the system, only these files. It looks for the names of
# shared libraries, and links the static libraries that it finds under them.
rm -rf "$libraries"
mkdir -p "$libraries/lib" "$libraries/include"
root=
if [ "$cpu" != "$(uname -m)" ]; then
  root=$libraries/root
  fetch_for_other_cpu "$root"
fi
for library in libelf libz; do
  archive=$root/usr/lib/$cpu-linux-gnu/$library.a
  [ -e "$archive" ] || { say "no $archive: install libelf-dev and zlib1g-dev"; exit 3; }
  ln -s "$archive" "$libraries/lib/$library.a"
  ln -s "$library.a" "$libraries/lib/$library.so"
done
for header in libelf.h gelf.h zlib.h zconf.h; do
  file=$root/usr/include/$header
  [ -e "$file" ] || file=$root/usr/include/$cpu-linux-gnu/$header
  ln -s "$file" "$libraries/include/$header"
done
export LIBBPF_SYS_LIBRARY_PATH=$libraries/lib LIBBPF_SYS_EXTRA_CFLAGS=-I$libraries/include

find_rust "$target"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --require-hashes --requirement requirements-wheel.lock

export CARGO_TARGET_DIR=$work/cargo CARGO_PROFILE_RELEASE_DEBUG=false PATH=$work/venv/bin:$PATH
# The commit, which runs and reports name, is in the wheel; without git, the wheel has none. The stacks that are programs
# become scripts of the package.
trap 'rm -f nettrial/commit.txt packaging/scripts/nettrial-stack-*' EXIT
git rev-parse HEAD >nettrial/commit.txt 2>/dev/null || rm -f nettrial/commit.txt
tools/build-stacks.sh --portable "$target" packaging/scripts "${build_std[@]}"
mkdir -p dist
rm -f dist/*_"$cpu".whl
maturin build --quiet --release --locked --strip --zig --target "$target" --compatibility "manylinux_$glibc" --out dist \
  "${build_std[@]}"
auditwheel show dist/*_"$cpu".whl
say "built $(ls dist/*_"$cpu".whl)"
