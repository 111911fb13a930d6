/* Moves the system's clock for one process. The history checker builds this and has it preloaded
 * into a server (LD_PRELOAD); nothing else ever does. The file $CLOCK_OFFSET holds the number of
 * seconds by which the time of day is ahead; without it the clock is right. Clocks that measure
 * durations stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_call(clockid_t, struct timespec *);

static long ahead(void) {
    const char *name = getenv("CLOCK_OFFSET");
    FILE *file = name ? fopen(name, "r") : NULL;
    long seconds = 0;
    if (!file) return 0;
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static clock_call *real;
    if (!real) real = (clock_call *)dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, time);
    if (done == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead();
    return done;
}
