// SPDX-License-Identifier: GPL-2.0-only
/* Has nothing: compile.sh precompiles all.h with the flags of this file. */
