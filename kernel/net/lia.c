// SPDX-License-Identifier: GPL-2.0-only
#include "programs/lia/lia.bpf.c"
#define CONTROL lia
#include "control.h"
