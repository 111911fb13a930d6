/* A full disk of a database server. `torture nodes` builds this and has it preloaded into a worker
 * (LD_PRELOAD); nothing else ever does. While the file $FULL_DISK exists, no file grows: a write
 * beyond the end of a file fails with ENOSPC. What is there can be written over, as on a disk that
 * is full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void *real(const char *name) {
    void *call = dlsym(RTLD_NEXT, name);
    if (!call) abort();
    return call;
}

/* Whether a write that ends at this offset would need room that the disk does not have. */
static int is_refused(int fd, off_t end) {
    const char *full = getenv("FULL_DISK");
    struct stat file;
    if (!full || access(full, F_OK) != 0) return 0;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return 0;
    if (end <= file.st_size) return 0;
    errno = ENOSPC;
    return 1;
}

static off_t length_of(const struct iovec *pieces, int count) {
    off_t length = 0;
    for (int n = 0; n < count; n++) length += pieces[n].iov_len;
    return length;
}

#define WRITES_AT(name, offset_type)                                                           \
    ssize_t name(int fd, const void *bytes, size_t length, offset_type offset) {               \
        typedef ssize_t call(int, const void *, size_t, offset_type);                          \
        if (is_refused(fd, offset + (off_t)length)) return -1;                                 \
        return ((call *)real(#name))(fd, bytes, length, offset);                               \
    }

#define WRITES_PIECES_AT(name, offset_type)                                                    \
    ssize_t name(int fd, const struct iovec *pieces, int count, offset_type offset) {          \
        typedef ssize_t call(int, const struct iovec *, int, offset_type);                     \
        if (is_refused(fd, offset + length_of(pieces, count))) return -1;                      \
        return ((call *)real(#name))(fd, pieces, count, offset);                               \
    }

#define RESERVES(name, offset_type)                                                            \
    int name(int fd, offset_type offset, offset_type length) {                                 \
        typedef int call(int, offset_type, offset_type);                                       \
        if (is_refused(fd, offset + length)) return ENOSPC;                                    \
        return ((call *)real(#name))(fd, offset, length);                                      \
    }

WRITES_AT(pwrite, off_t)
WRITES_AT(pwrite64, off64_t)
WRITES_PIECES_AT(pwritev, off_t)
WRITES_PIECES_AT(pwritev64, off64_t)
RESERVES(posix_fallocate, off_t)
RESERVES(posix_fallocate64, off64_t)
