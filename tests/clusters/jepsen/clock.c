/* A wall clock of its own for one process, loaded before all other libraries: the kernel's and as many nanoseconds more as the file HELENUS_TEST_CLOCK says,
   whose bytes a test changes while the process runs. The monotonic clock is the kernel's. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offset;

__attribute__((constructor)) static void open_offset(void) {
    const char *path = getenv("HELENUS_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        abort();
    offset = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && offset) {
        int64_t nanos = time->tv_nsec + *offset % 1000000000;
        time->tv_sec += *offset / 1000000000;
        if (nanos < 0) {
            nanos += 1000000000;
            time->tv_sec -= 1;
        } else if (nanos >= 1000000000) {
            nanos -= 1000000000;
            time->tv_sec += 1;
        }
        time->tv_nsec = nanos;
    }
    return result;
}
