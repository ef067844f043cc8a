/* The C library's file calls, with failures in between (faulty.h). A call is counted if its file's
 * path, by /proc/self/fd, contains the pattern; everything else goes straight through. Used by
 * tests only: one pattern at a time, counted over all threads. Not its job: what a failed sync does
 * to the pages (the kernel drops them; here they stay). */
#include "tests/tools/faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT     __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real(#name))

static char pattern_of_environment[256];
static const char *_Atomic pattern;
static enum vq_faulty_calls calls;
static unsigned fail_at;
static int fail_with;
static bool fail_on;
static _Atomic unsigned seen, failed, after;
static int log_fd = -1;

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void vq_faulty_set(enum vq_faulty_calls which, const char *text, unsigned n, int error, bool on)
{
    atomic_store(&pattern, NULL);
    calls = which;
    fail_at = n;
    fail_with = error;
    fail_on = on;
    atomic_store(&seen, 0);
    atomic_store(&failed, 0);
    atomic_store(&after, 0);
    atomic_store(&pattern, text);
}

unsigned vq_faulty_seen(void)
{
    return atomic_load(&seen);
}

unsigned vq_faulty_failed(void)
{
    return atomic_load(&failed);
}

unsigned vq_faulty_after(void)
{
    return atomic_load(&after);
}

/* PROGRAM/CALLS:PATTERN:N:ERROR[:on] */
static void set_from(const char *text)
{
    static const char *const words[] = {"sync", "write", "torn", "space"};
    char program[64], what[16], error[16], on[8] = "";
    unsigned n;
    if (sscanf(text, "%63[^/]/%15[^:]:%255[^:]:%u:%15[^:]:%7s", program, what,
               pattern_of_environment, &n, error, on) < 5) {
        (void)fprintf(stderr, "VIBEQ_FAULT: cannot read '%s'\n", text);
        _exit(99);
    }
    if (strcmp(program, "*") != 0 && strcmp(program, program_invocation_short_name) != 0) {
        return;
    }
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(what, words[i]) == 0) {
            vq_faulty_set((enum vq_faulty_calls)i, pattern_of_environment, n,
                          strcmp(error, "ENOSPC") == 0 ? ENOSPC : EIO, strcmp(on, "on") == 0);
        }
    }
}

__attribute__((constructor)) static void from_environment(void)
{
    const char *text = getenv("VIBEQ_FAULT");
    const char *log = getenv("VIBEQ_FAULT_LOG");
    if (text == NULL) {
        return;
    }
    if (log != NULL) {
        log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    set_from(text);
}

static bool matches(int fd, const char *text)
{
    char link[64], path[4096];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    if (bytes <= 0) {
        return false;
    }
    path[bytes] = '\0';
    size_t wanted = strlen(text);
    if (wanted > 0 && text[wanted - 1] == '$') {
        wanted--;
        return (size_t)bytes >= wanted && strncmp(path + bytes - wanted, text, wanted) == 0;
    }
    return strstr(path, text) != NULL;
}

static void tell(const char *name, bool fails)
{
    char line[96];
    int bytes =
        snprintf(line, sizeof(line), "%ld %s %s\n", (long)getpid(), name, fails ? "failed" : "ok");
    if (log_fd >= 0 && bytes > 0) {
        ssize_t rc = REAL(write)(log_fd, line, (size_t)bytes);
        (void)rc;
    }
}

/* Whether this call fails. */
static bool fails(enum vq_faulty_calls kind, const char *name, int fd)
{
    const char *text = atomic_load(&pattern);
    int before = errno;
    if (text == NULL || fd == log_fd || !matches(fd, text)) {
        errno = before;
        return false;
    }
    errno = before;
    if (atomic_load(&failed) > 0) {
        atomic_fetch_add(&after, 1);
    }
    bool counts = kind == calls || (kind == VQ_FAULTY_WRITE && calls == VQ_FAULTY_TORN);
    unsigned n = counts ? atomic_fetch_add(&seen, 1) + 1 : 0;
    bool now = counts && fail_at != 0 && (n == fail_at || (fail_on && n > fail_at));
    if (now) {
        atomic_fetch_add(&failed, 1);
    }
    tell(name, now);
    return now;
}

static ssize_t error(void)
{
    errno = fail_with;
    return -1;
}

EXPORT int fsync(int fd)
{
    return fails(VQ_FAULTY_SYNC, "fsync", fd) ? (int)error() : REAL(fsync)(fd);
}

EXPORT int fdatasync(int fd)
{
    return fails(VQ_FAULTY_SYNC, "fdatasync", fd) ? (int)error() : REAL(fdatasync)(fd);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t n)
{
    if (!fails(VQ_FAULTY_WRITE, "write", fd)) {
        return REAL(write)(fd, bytes, n);
    }
    return calls == VQ_FAULTY_TORN && n > 1 ? REAL(write)(fd, bytes, n / 2) : error();
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (!fails(VQ_FAULTY_WRITE, "pwrite", fd)) {
        return REAL(pwrite)(fd, bytes, n, at);
    }
    return calls == VQ_FAULTY_TORN && n > 1 ? REAL(pwrite)(fd, bytes, n / 2, at) : error();
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (!fails(VQ_FAULTY_WRITE, "writev", fd)) {
        return REAL(writev)(fd, parts, count);
    }
    return calls == VQ_FAULTY_TORN && count > 1 ? REAL(writev)(fd, parts, count / 2) : error();
}

EXPORT int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    return fails(VQ_FAULTY_SPACE, "fallocate", fd) ? (int)error()
                                                   : REAL(fallocate)(fd, mode, at, bytes);
}

EXPORT int ftruncate(int fd, off_t bytes)
{
    return fails(VQ_FAULTY_SPACE, "ftruncate", fd) ? (int)error() : REAL(ftruncate)(fd, bytes);
}
