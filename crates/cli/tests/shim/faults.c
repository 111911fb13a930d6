/* Makes the store's files fail on command. The test of faults builds this and has it preloaded into
 * the server (LD_PRELOAD); nothing else ever does. While the file $STORE_FAULT exists, the calls
 * that it names fail, on files whose name ends as it says: "CLASS ERRNO SUFFIX", where CLASS is
 * `write` (write, pwrite, ftruncate) or `sync` (fsync, fdatasync), ERRNO a number.
 *
 * A failed write has written half of its bytes, as on a disk that fills up. A failed sync loses
 * what was written since the last good one: the old bytes are back, as after a failing disk whose
 * pages the system drops. Faults are counted in $STORE_FAULT.count, so that a test can tell that it
 * had any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What stood where something was written that no sync has confirmed yet; newest first. */
struct undo {
    struct undo *next;
    char path[512];
    off_t offset;
    size_t length;
    char bytes[];
};

static struct undo *unsynced;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

typedef ssize_t pwrite_call(int, const void *, size_t, off_t);
typedef ssize_t write_call(int, const void *, size_t);
typedef int truncate_call(int, off_t);
typedef int sync_call(int);

static void *real(const char *name) {
    void *call = dlsym(RTLD_NEXT, name);
    if (!call) abort();
    return call;
}

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static int is_store(const char *path) {
    return ends_with(path, "caseload.db") || ends_with(path, "caseload.db-wal");
}

/* The error that a call of this class on this file has to fail with; 0 for none. */
static int planned(const char *class, const char *path) {
    const char *plan = getenv("STORE_FAULT");
    char wanted[16], suffix[64], counted[600];
    int number = 0;
    FILE *file = plan ? fopen(plan, "r") : NULL;
    if (!file) return 0;
    int read = fscanf(file, "%15s %d %63s", wanted, &number, suffix);
    fclose(file);
    if (read != 3 || strcmp(wanted, class) != 0 || !ends_with(path, suffix)) return 0;
    snprintf(counted, sizeof counted, "%s.count", plan);
    if ((file = fopen(counted, "a"))) {
        fputs(class, file);
        fputc('\n', file);
        fclose(file);
    }
    return number;
}

static void remember(int fd, const char *path, size_t length, off_t offset) {
    struct undo *undo = calloc(1, sizeof *undo + length);
    if (!undo) abort();
    snprintf(undo->path, sizeof undo->path, "%s", path);
    undo->offset = offset;
    undo->length = length;
    /* What is behind the end of the file reads as zeros. */
    if (pread(fd, undo->bytes, length, offset) < 0) undo->bytes[0] = 0;
    undo->next = unsynced;
    unsynced = undo;
}

static void settle(int fd, const char *path, int lost) {
    pwrite_call *write_at = (pwrite_call *)real("pwrite");
    struct undo **at = &unsynced;
    while (*at) {
        struct undo *undo = *at;
        if (strcmp(undo->path, path) != 0) {
            at = &undo->next;
            continue;
        }
        if (lost && write_at(fd, undo->bytes, undo->length, undo->offset) < 0) abort();
        *at = undo->next;
        free(undo);
    }
}

static ssize_t write_at(const char *name, int fd, const void *bytes, size_t length, off_t offset) {
    pwrite_call *call = (pwrite_call *)real(name);
    char path[512];
    if (!path_of(fd, path, sizeof path) || !is_store(path)) return call(fd, bytes, length, offset);
    int number = planned("write", path);
    if (number && length < 2) {
        errno = number;
        return -1;
    }
    if (number) length /= 2;
    pthread_mutex_lock(&lock);
    remember(fd, path, length, offset);
    ssize_t written = call(fd, bytes, length, offset);
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    return write_at("pwrite", fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) {
    return write_at("pwrite64", fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    write_call *call = (write_call *)real("write");
    char path[512];
    int number = path_of(fd, path, sizeof path) && is_store(path) ? planned("write", path) : 0;
    if (!number) return call(fd, bytes, length);
    errno = number;
    return -1;
}

static int cut(const char *name, int fd, off_t length) {
    truncate_call *call = (truncate_call *)real(name);
    char path[512];
    int number = path_of(fd, path, sizeof path) && is_store(path) ? planned("write", path) : 0;
    if (!number) return call(fd, length);
    errno = number;
    return -1;
}

int ftruncate(int fd, off_t length) { return cut("ftruncate", fd, length); }
int ftruncate64(int fd, off_t length) { return cut("ftruncate64", fd, length); }

static int sync_with(const char *name, int fd) {
    sync_call *call = (sync_call *)real(name);
    char path[512];
    if (!path_of(fd, path, sizeof path) || !is_store(path)) return call(fd);
    int number = planned("sync", path);
    pthread_mutex_lock(&lock);
    int done = number ? -1 : call(fd);
    settle(fd, path, done != 0);
    pthread_mutex_unlock(&lock);
    if (number) errno = number;
    return done;
}

int fsync(int fd) { return sync_with("fsync", fd); }
int fdatasync(int fd) { return sync_with("fdatasync", fd); }
