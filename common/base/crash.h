/* Crash points: named places at which a test build can kill itself, around each commit, store and
 * send. Only builds with the CMake option VQ_CRASH_POINTS, which are for tests, contain them.
 *
 * Two environment variables control such a build:
 *   VIBEQ_CRASH_AT=NAME:N   the process kills itself (SIGKILL) when it reaches point NAME for the
 *                           N-th time
 *   VIBEQ_CRASH_LOG=FILE    when a process first reaches a point, it appends the line NAME to FILE.
 *                           Of all processes with the same FILE, only the first one kills itself
 *                           and creates FILE.died; the others, and later ones, continue.
 * crash_points.def lists all points. Points are in shells and stores, never in a pure core. */
#pragma once

#ifdef VQ_CRASH_POINTS

enum vq_crash_point {
#define VQ_CRASH(name, process, hits, text) VQ_CRASH_##name,
#include "common/base/crash_points.def"
#undef VQ_CRASH
    VQ_CRASH__COUNT
};

/* Thread-safe. */
void vq_crash_hit(enum vq_crash_point point);
/* The point whose name is `what`_`kind`; without a point of that name, it has no effect. */
void vq_crash_hit_of(const char *what, const char *kind);

#define VQ_CRASH_POINT(name)          vq_crash_hit(VQ_CRASH_##name)
#define VQ_CRASH_POINT_OF(what, kind) vq_crash_hit_of(#what, kind)

#else

#define VQ_CRASH_POINT(name)          ((void)0)
#define VQ_CRASH_POINT_OF(what, kind) ((void)0)

#endif
