#!/usr/bin/env bash
# stage.sh NAME COMMAND...: runs the command, and says on standard error how long it took, and how long it and
# its children used a CPU; on a terminal also what begins, for some stages take minutes and print nothing. The
# jobserver of a make that runs several at once is kept from them: each of these programs decides by itself how
# many CPUs it uses.
set -uo pipefail
[ -t 2 ] && echo "== $1 ..." >&2
TIMEFORMAT="== $1: %0R s (%0U s of CPU, and %0S s in the kernel)"
shift
unset MAKEFLAGS MFLAGS
time "$@"
