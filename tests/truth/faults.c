/* Faults at the n-th call that writes, syncs, removes, cuts or links a file: preloaded before the C library.
 * fault_mode 0: killed before the call. 1: killed half-way through a write. 2: the call fails once with EIO.
 * 3: this call and all later ones fail, writes with ENOSPC and the others with EIO. Nothing happens while fault_at is 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

int fault_at = 0, fault_count = 0, fault_mode = 0;

static int hit(void) {
    if (!fault_at) return 0;
    ++fault_count;
    return fault_mode == 3 ? fault_count >= fault_at : fault_count == fault_at;
}
static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }
static int fail(int full) {
    if (fault_mode < 2) die();
    errno = full && fault_mode == 3 ? ENOSPC : EIO;
    return -1;
}
#define REAL(name, type, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t);
    if (hit()) {
        if (fault_mode == 1) { real(fd, data, size / 2, at); die(); }
        return fail(1);
    }
    return real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size) {
    REAL("write", ssize_t, int, const void *, size_t);
    if (fd > 2 && hit()) {
        if (fault_mode == 1) { real(fd, data, size / 2); die(); }
        return fail(1);
    }
    return real(fd, data, size);
}
int fdatasync(int fd) { REAL("fdatasync", int, int); return hit() ? fail(0) : real(fd); }
int fsync(int fd) { REAL("fsync", int, int); return hit() ? fail(0) : real(fd); }
int unlink(const char *path) { REAL("unlink", int, const char *); return hit() ? fail(0) : real(path); }
int ftruncate64(int fd, off64_t size) { REAL("ftruncate64", int, int, off64_t); return hit() ? fail(0) : real(fd, size); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REAL("linkat", int, int, const char *, int, const char *, int);
    return hit() ? fail(1) : real(from, old, to, new, flags);
}
