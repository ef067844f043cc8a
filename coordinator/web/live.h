/* The last answers (a few per second at most) and the calls that made tasks fail, in memory, for a
 * person who watches an active run. Pure. A longer text is cut, and is written as an array of its
 * beginning and the number of all its bytes. */
#pragma once

#include "common/text/json.h"
#include "proto/messages.h"

#define VQ_LIVE_EVERY_NS    INT64_C(250000000) /* minimum time between two stored answers */
#define VQ_LIVE_ANSWERS     40u
#define VQ_LIVE_TEXT_BYTES  2000u /* of each text */
#define VQ_LIVE_ENTRY_BYTES (64u << 10)
#define VQ_LIVE_FAILURES    5u /* per class: the last ones */
#define VQ_LIVE_CLASSES     (VQ_OUTCOME_WORKER_LOST - VQ_OUTCOME_ERROR + 1)
#define VQ_LIVE_ERROR_BYTES 512u
#define VQ_LIVE_POOL_BYTES  128u
#define VQ_LIVE_EXAMPLES    3u /* of dead letters, per class */
/* the maximum number of tasks that a request for examples reads */
#define VQ_LIVE_SCAN_TASKS 2000000u

/* The question of a call. Texts that the stage does not have are empty or NULL. */
struct vq_live_question {
    const char *stage, *judge;
    int64_t record; /* of the data; -1: none */
    const char *vibe, *low, *high;
    struct vq_span prompt, a, b;
    uint32_t order; /* 0: A's text was shown first */
};

/* A call that made a task fail. */
struct vq_live_failure {
    uint32_t stage;
    uint64_t task;
    enum vq_outcome outcome; /* NONE: this entry is free */
    enum vq_call_end end;
    uint32_t http_status, tries;
    int64_t unix_ms;
    char pool[VQ_LIVE_POOL_BYTES];
    char error[VQ_LIVE_ERROR_BYTES];
    char answer[VQ_LIVE_TEXT_BYTES + 1];
};

struct vq_live;
struct vq_live *vq_live_create(void); /* NULL: no memory */
void vq_live_destroy(struct vq_live **live);

/* Whether an answer is to be stored now. */
bool vq_live_due(const struct vq_live *live, int64_t now_ns);
/* Stores an answer; without memory for it, it is left out. */
void vq_live_answer(struct vq_live *live, const struct vq_live_question *question,
                    const struct vq_result *result, int64_t now_unix_ms, int64_t now_ns);
/* {"format", "every_ms", "text_bytes_max", "last", "answers": [...]}: those with a number above
 * `after`, oldest first. */
void vq_live_answers_json(const struct vq_live *live, uint64_t after, struct vq_buf *out);

/* Stores a result that made its task fail. Results may come in any order; the newest ones stay. */
void vq_live_failed(struct vq_live *live, const struct vq_result *result, int64_t unix_ms);
/* The VQ_LIVE_CLASSES * VQ_LIVE_FAILURES entries. */
const struct vq_live_failure *vq_live_failures(const struct vq_live *live, uint32_t *ret_count);

/* A dead letter: its question, and the call that made it fail (NULL: unknown). */
void vq_live_put_dead(struct vq_json *j, uint64_t task, enum vq_outcome outcome,
                      const struct vq_live_question *question,
                      const struct vq_live_failure *failure);
