/* Private to this folder: what reading a response is in every dialect. Includes jansson: for .c
 * files only. */
#pragma once

#include "worker/provider/body.h"
#include "worker/provider/provider.h"

/* One response being read. The functions are the dialect's. */
struct vq_reading {
    const char *dialect; /* whose rows of error_rules.def count */
    const struct vq_response *response;
    size_t values_max;
    /* Takes type, code and message out of the object of an error response, and how long to wait if
     * it says so. */
    void (*take_error)(const json_t *object, struct vq_reply *reply);
    /* An object in a response that says it is a success: class, content, usage; or an error, with
     * vq_read_error. VQ_NOMEM only. */
    enum vq_status (*success)(const struct vq_reading *reading, const json_t *object,
                              struct vq_reply *reply);
    void *ctx; /* of success */
};

/* Fills `reply`: headers, then errors by the table, or what `success` finds. VQ_NOMEM only. */
enum vq_status vq_read_response(const struct vq_reading *reading,
                                struct vq_reply *reply) VQ_WARN_UNUSED;

/* An error in a response whose status says success: take_error, and the table. The status is the
 * error's numeric code, or that of a server error. */
void vq_read_error(const struct vq_reading *reading, const json_t *object, struct vq_reply *reply);
/* A success that is no answer. */
void vq_read_bad(struct vq_reply *reply, const char *what);
/* The content is complete: an answer, or a bad response when it did not fit. VQ_NOMEM only. */
enum vq_status vq_read_answer(struct vq_reply *reply) VQ_WARN_UNUSED;

/* A member that is a string or a number, as a line; otherwise `ret_line` stays. */
void vq_read_scalar(const json_t *object, const char *key, char *ret_line, size_t cap);
/* A text, or a list or an object as JSON, cut to fit; anything else: `ret_line` stays. */
void vq_read_text(const json_t *value, char *ret_line, size_t cap);
/* An error member that is an object or a text; some servers always send one, null or empty. */
bool vq_read_has_error(const json_t *object);

/* The dialect's word for how an answer ended, in the words that the verdict knows
 * (finish_reasons.def); a word without a row is kept in small letters. Marks refusals. */
void vq_read_finish(const char *dialect, struct vq_span said, struct vq_reply *reply);
