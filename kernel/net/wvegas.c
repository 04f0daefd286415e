// SPDX-License-Identifier: GPL-2.0-only
#include "programs/wvegas/wvegas.bpf.c"
#define CONTROL wvegas
#include "control.h"
