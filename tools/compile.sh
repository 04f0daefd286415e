#!/usr/bin/env bash
# compile.sh RUSTC ARGUMENTS…: the compiler of the engine and its tests (cargo's RUSTC_WORKSPACE_WRAPPER). Clippy compiles
# tests and programs. Tests contain all code of their library, so the library itself needs only rustc's own lints, such as
# that of code which nothing but tests use.
set -euo pipefail
case " $* " in
  *" --test "*) ;;
  *" --crate-type lib "*) exec "$@" --deny warnings ;;
esac
exec clippy-driver "$@"
