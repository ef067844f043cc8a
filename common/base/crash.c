/* Crash points of test builds. Invariants: a point costs one atomic addition; the environment is
 * read once; a process that kills itself writes only the name of the point and the mark of its
 * death. Not its job: restarting a killed process. */
#include "common/base/crash.h"

#ifdef VQ_CRASH_POINTS

#include "common/base/status.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 64
#define PATH_BYTES 4096

static const char *const names[VQ_CRASH__COUNT] = {
#define VQ_CRASH(name, process, hits, text) #name,
#include "common/base/crash_points.def"
#undef VQ_CRASH
};

static atomic_uint hits[VQ_CRASH__COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int deadly = -1; /* the point at which to die; -1: none */
static unsigned deadly_hit;
static const char *log_path;

static int point_of(const char *name)
{
    for (int i = 0; i < VQ_CRASH__COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static void read_environment(void)
{
    const char *at = getenv("VIBEQ_CRASH_AT");
    log_path = getenv("VIBEQ_CRASH_LOG");
    if (at == NULL) {
        return;
    }
    char name[NAME_BYTES];
    const char *colon = strchr(at, ':');
    size_t bytes = colon == NULL ? strlen(at) : (size_t)(colon - at);
    if (bytes < sizeof(name)) {
        memcpy(name, at, bytes);
        name[bytes] = '\0';
        deadly = point_of(name);
    }
    deadly_hit = colon == NULL ? 1 : (unsigned)strtoul(colon + 1, NULL, 10);
    if (deadly < 0 || deadly_hit == 0) { /* such a test would test nothing */
        (void)fprintf(stderr, "VIBEQ_CRASH_AT=%s names no crash point\n", at);
        abort();
    }
}

static void note(int point)
{
    char line[NAME_BYTES];
    int bytes = snprintf(line, sizeof(line), "%s\n", names[point]);
    int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)bytes) != bytes) {
        abort();
    }
    (void)close(fd);
}

/* Whether this is the first process that dies. */
static bool is_first(void)
{
    char path[PATH_BYTES];
    if (log_path == NULL) {
        return true;
    }
    (void)snprintf(path, sizeof(path), "%s.died", log_path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

void vq_crash_hit(enum vq_crash_point point)
{
    (void)pthread_once(&once, read_environment);
    unsigned hit = atomic_fetch_add(&hits[point], 1) + 1;
    if (hit == 1 && log_path != NULL) {
        note((int)point);
    }
    if ((int)point == deadly && hit == deadly_hit && is_first()) {
        for (;;) {
            (void)kill(getpid(), SIGKILL);
        }
    }
}

void vq_crash_hit_of(const char *what, const char *kind)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "%s_%s", what, kind);
    int point = point_of(name);
    if (point >= 0) {
        vq_crash_hit((enum vq_crash_point)point);
    }
}

#endif
