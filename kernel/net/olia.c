// SPDX-License-Identifier: GPL-2.0-only
#include "programs/olia/olia.bpf.c"
#define CONTROL olia
#include "control.h"
