// SPDX-License-Identifier: GPL-2.0-only
#include "programs/balia/balia.bpf.c"
#define CONTROL balia
#include "control.h"
