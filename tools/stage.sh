#!/usr/bin/env bash
# stage.sh NAME COMMAND...: runs the command, and prints on standard error its duration and the CPU time of it and its
# children; on a terminal also its beginning, because some stages take minutes and print nothing. The jobserver of a parallel
# make is hidden from the command: each of these programs decides itself how many CPUs it uses.
set -uo pipefail
[ -t 2 ] && echo "== $1 ..." >&2
TIMEFORMAT="== $1: %0R s (%0U s of CPU, and %0S s in the kernel)"
shift
unset MAKEFLAGS MFLAGS
time "$@"
