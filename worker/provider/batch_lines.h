/* Reads the results of a batch as they arrive: bytes in pieces of any size go in, typed results
 * come out. Pure. Memory is bounded by one result. A result that cannot be read is reported as
 * damaged, with its number; nothing is guessed. */
#pragma once

#include "worker/provider/batch.h"

/* of one result; a chat response may be embedded in it, with escapes */
#define VQ_BATCH_LINE_BYTES_MAX (8u << 20)

/* The position of a scan in an inline document. Private. */
struct vq_batch_scan {
    uint32_t depth;  /* of arrays and objects */
    uint32_t inside; /* the depth of the array's elements; 0: not in the array */
    uint32_t key_bytes;
    bool in_string, escaped;
    bool key_matches; /* the last string matches the array's name so far */
    bool colon;       /* that string is a key */
    bool done;        /* an array has ended */
    bool began;       /* the document has a value */
    bool every;       /* later arrays of this name count too */
};

/* Owned by the caller; the members are private. */
struct vq_batch_lines {
    const struct vq_batch_dialect *dialect;
    enum vq_batch_layout layout;
    uint64_t number;
    struct vq_buf line;  /* of the result that is being collected */
    struct vq_buf reply; /* of the last one that was returned */
    bool too_long;
    struct vq_batch_scan scan;
};

void vq_batch_lines_init(struct vq_batch_lines *lines, const struct vq_batch_dialect *dialect,
                         enum vq_batch_layout layout);
void vq_batch_lines_free(struct vq_batch_lines *lines);

/* Takes bytes from the front of *bytes. VQ_OK: a result is in *ret_line, call again with the rest;
 * VQ_AGAIN: all bytes are used, the next piece may follow; VQ_NOMEM: the reader cannot continue.
 * Empty lines are skipped, but counted. */
enum vq_status vq_batch_lines_next(struct vq_batch_lines *lines, struct vq_span *bytes,
                                   struct vq_batch_line *ret_line) VQ_WARN_UNUSED;
/* After the last byte of a whole response. VQ_OK: a last line without a line break is in *ret_line;
 * VQ_AGAIN: there is no such line; VQ_NOMEM; VQ_INVALID: an inline document broke off. (A whole
 * document without results is no error: its calls are missing.) */
enum vq_status vq_batch_lines_end(struct vq_batch_lines *lines,
                                  struct vq_batch_line *ret_line) VQ_WARN_UNUSED;
