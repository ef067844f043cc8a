/* Named places at which a test build can be killed: what follows a commit, a store or a send must
 * never count on what comes next. Without the CMake option VQ_CRASH_POINTS (every build that is for
 * use) nothing of this is compiled.
 *
 * With it, two variables of the environment say what happens:
 *   VIBEQ_CRASH_AT=NAME:N   this process kills itself (SIGKILL) when it comes to point NAME for the
 *                           N-th time
 *   VIBEQ_CRASH_LOG=FILE    a line NAME is added when a process first comes to a point; and of all
 *                           processes with this log only the first one that would kill itself does:
 *                           it makes FILE.died. The others, and who comes after, go on.
 * The list of all points is crash_points.def. Points stand in shells and stores, never in a pure
 * core. */
#pragma once

#ifdef VQ_CRASH_POINTS

enum vq_crash_point {
#define VQ_CRASH(name, process, hits, text) VQ_CRASH_##name,
#include "common/base/crash_points.def"
#undef VQ_CRASH
    VQ_CRASH__COUNT
};

/* Threads: any. */
void vq_crash_hit(enum vq_crash_point point);
/* The point whose name is `what`_`kind`; nothing happens when there is none. */
void vq_crash_hit_of(const char *what, const char *kind);

#define VQ_CRASH_POINT(name)          vq_crash_hit(VQ_CRASH_##name)
#define VQ_CRASH_POINT_OF(what, kind) vq_crash_hit_of(#what, kind)

#else

#define VQ_CRASH_POINT(name)          ((void)0)
#define VQ_CRASH_POINT_OF(what, kind) ((void)0)

#endif
