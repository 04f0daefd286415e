// The time that two threads on two CPUs take to wait for each other, while both do nothing else.
//
//     parallel_barrier CPU CPU
//
// Prints the least time of a wait in nanoseconds, over 20 batches of 100,000 waits each.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 20, WAITS = 100000 };

// Each thread writes one cache line and reads the other's.
static struct { _Alignas(128) atomic_long waits; } threads[2];
static int cpus[2];
static double least = 1e9;

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *meet(void *given)
{
    long me = (long)given;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[me], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    for (long batch = 0; batch < BATCHES; batch++) {
        double began = seconds();
        for (long number = batch * WAITS + 1; number <= (batch + 1) * WAITS; number++) {
            atomic_store_explicit(&threads[me].waits, number, memory_order_release);
            while (atomic_load_explicit(&threads[1 - me].waits, memory_order_acquire) < number) {
            }
        }
        double each = (seconds() - began) / WAITS;
        if (me == 0 && each < least)
            least = each;
    }
    return NULL;
}

int main(int count, char **given)
{
    if (count != 3)
        return 2;
    cpus[0] = atoi(given[1]);
    cpus[1] = atoi(given[2]);
    pthread_t other;
    pthread_create(&other, NULL, meet, (void *)1L);
    meet((void *)0L);
    pthread_join(other, NULL);
    printf("%.1f\n", least * 1e9);
    return 0;
}
