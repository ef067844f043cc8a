/* Private to this folder: the part of reading a response that all dialects share. Includes jansson:
 * for .c files only. */
#pragma once

#include "worker/provider/body.h"
#include "worker/provider/provider.h"

/* One response that is being read. The functions belong to the dialect. */
struct vq_reading {
    const char *dialect; /* its rows of error_rules.def count */
    const struct vq_response *response;
    size_t values_max;
    /* Takes type, code and message out of the object of an error response, and the wait if it names
     * one. */
    void (*take_error)(const json_t *object, struct vq_reply *reply);
    /* Reads an object of a response that reports success: class, content, usage; or an error, with
     * vq_read_error. VQ_NOMEM only. */
    enum vq_status (*success)(const struct vq_reading *reading, const json_t *object,
                              struct vq_reply *reply);
    void *ctx; /* of success */
};

/* Fills `reply`: headers, then errors by the table, or the result of `success`. VQ_NOMEM only. */
enum vq_status vq_read_response(const struct vq_reading *reading,
                                struct vq_reply *reply) VQ_WARN_UNUSED;

/* Reads an error in a response whose status reports success: take_error, and the table. The status
 * is the error's numeric code, or the status of a server error. */
void vq_read_error(const struct vq_reading *reading, const json_t *object, struct vq_reply *reply);
/* A response that reports success but is no answer. */
void vq_read_bad(struct vq_reply *reply, const char *what);
/* The content is complete: an answer, or a bad response if it did not fit. VQ_NOMEM only. */
enum vq_status vq_read_answer(struct vq_reply *reply) VQ_WARN_UNUSED;

/* A string or number member as one line; otherwise `ret_line` does not change. */
void vq_read_scalar(const json_t *object, const char *key, char *ret_line, size_t cap);
/* A text, or a list or an object as JSON, cut to fit; otherwise `ret_line` does not change. */
void vq_read_text(const json_t *value, char *ret_line, size_t cap);
/* Whether there is an error member that is an object or a text; some servers always send one that
 * is null or empty. */
bool vq_read_has_error(const json_t *object);

/* Translates the dialect's finish reason into one that the verdict reader knows
 * (finish_reasons.def); a word without a row is written in small letters. Marks refusals. */
void vq_read_finish(const char *dialect, struct vq_span said, struct vq_reply *reply);
