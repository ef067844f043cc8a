/* A disk that fails on demand: the n-th sync, write or booking of space on files whose path
 * contains a text (or ends with it, when a $ follows it) fails with an error, once or from then on.
 * Linked into a unit test (the functions here), or preloaded into a program:
 *
 *   LD_PRELOAD=libvq-faulty.so VIBEQ_FAULT=PROGRAM/CALLS:PATTERN:N:ERROR[:on]
 *       VIBEQ_FAULT_LOG=FILE vibeq ...
 *
 * PROGRAM: the name of the one program that it is for ("*": any). CALLS: sync (fsync, fdatasync,
 * msync of the file), write (write, pwrite, writev, pwritev), torn (as write, but half of the bytes
 * are written), space (fallocate, ftruncate). N counts the calls that match, from 1; 0: none fails.
 * ERROR: EIO or ENOSPC. "on": it goes on failing. The log gets a line for every call on a matching
 * file: "PID CALL ok", "PID CALL failed"; that is how a test learns how many there are, and what
 * came after the one that failed. */
#pragma once

#include <stdbool.h>

enum vq_faulty_calls {
    VQ_FAULTY_SYNC,
    VQ_FAULTY_WRITE,
    VQ_FAULTY_TORN,
    VQ_FAULTY_SPACE,
};

/* From now on, counting from one. `pattern` is borrowed; NULL: nothing is looked at. */
void vq_faulty_set(enum vq_faulty_calls calls, const char *pattern, unsigned n, int error, bool on);
unsigned vq_faulty_seen(void);   /* calls that matched since then */
unsigned vq_faulty_failed(void); /* of them, that failed */
unsigned
vq_faulty_after(void); /* calls of any kind on a matching file after the first that failed */
