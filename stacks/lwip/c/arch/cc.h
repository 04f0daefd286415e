/* The machine that lwIP runs on: a program of Linux. */
#ifndef NETTRIAL_CC_H
#define NETTRIAL_CC_H

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns a random number. It is defined in Rust. */
unsigned nettrial_random(void);

#define LWIP_RAND() nettrial_random()
/* Standard output is the agent's. */
#define LWIP_PLATFORM_DIAG(x) do { } while (0)
#define LWIP_PLATFORM_ASSERT(x) \
  do { fprintf(stderr, "lwIP: %s (%s:%d)\n", x, __FILE__, __LINE__); abort(); } while (0)

#endif
