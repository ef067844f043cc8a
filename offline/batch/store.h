/* All batches of a server, of every dialect: they are created, done line by line as time goes on,
 * and end. In memory, bounded. Knows neither HTTP nor a dialect's shapes. */
#pragma once

#include "offline/batch/course.h"
#include "offline/batch/files.h"
#include "offline/call_log.h"
#include "offline/reply.h"

#define VQ_BATCHES_MAX            4096u
#define VQ_BATCH_LINES_MAX        100000u      /* of one batch */
#define VQ_BATCH_TEXT_BYTES_MAX   (512u << 20) /* of its requests, and of its answers */
#define VQ_BATCH_CUSTOM_ID_BYTES  512u         /* the longest custom_id or key */
#define VQ_BATCH_METADATA_BYTES   16384u
#define VQ_BATCHES_TEXT_BYTES_MAX (UINT64_C(2) << 30) /* of the texts of all batches */
#define VQ_BATCH_LINES_PER_TURN   256u /* that are answered before the server looks at sockets */
#define VQ_BATCH_PROBLEM_BYTES    384

enum vq_offline_batch_result {
    VQ_BATCH_LINE_OPEN,
    VQ_BATCH_LINE_SUCCEEDED,
    VQ_BATCH_LINE_ERRORED,
    VQ_BATCH_LINE_EXPIRED,
    VQ_BATCH_LINE_CANCELED,
    VQ_BATCH_LINE__COUNT
};
const char *vq_offline_batch_result_name(enum vq_offline_batch_result result); /* "succeeded" ... */

struct vq_offline_batch_line {
    size_t id_at, id_bytes;         /* custom_id or key, in `texts` */
    size_t body_at, body_bytes;     /* the request as JSON, in `texts` */
    size_t answer_at, answer_bytes; /* in `answers` */
    unsigned status;                /* of the answer, as HTTP has it */
    enum vq_offline_batch_result result;
};

/* Why a batch fails in its validation. */
struct vq_offline_batch_problem {
    const char *code; /* static text; NULL: none */
    uint64_t line;    /* from 1; 0: the whole batch */
    char text[VQ_BATCH_PROBLEM_BYTES];
};

struct vq_offline_batch {
    char id[VQ_BATCH_ID_BYTES];
    uint64_t n; /* its number, from 1 */
    enum vq_dialect dialect;
    char account[VQ_BATCH_ACCOUNT_BYTES];
    char key[VQ_BATCH_ACCOUNT_BYTES]; /* fingerprint of the key that created it */
    char model[VQ_CHAT_MODEL_BYTES];
    struct vq_offline_batch_rules rules;
    struct vq_offline_batch_course course;
    struct vq_offline_batch_problem problem;
    int64_t created_ms; /* wall time of course.created_ns */
    /* How the dialect was asked. */
    char endpoint[64];
    char input_file[VQ_BATCH_ID_BYTES];
    char display_name[256];
    struct vq_buf metadata; /* JSON; empty: none */
    /* What was asked and answered. */
    struct vq_buf texts;
    struct vq_buf answers;
    struct vq_offline_batch_line *lines; /* owned */
    size_t lines_cap;
    uint32_t *order;   /* owned; which line is done when */
    uint64_t answered; /* lines, in that order */
    uint64_t counts[VQ_BATCH_LINE__COUNT];
    uint64_t prompt_tokens; /* of the answers */
    uint64_t completion_tokens;
    uint64_t enqueued;                   /* tokens of the requests, by their bytes */
    bool is_over;                        /* every line has its result */
    char output_file[VQ_BATCH_ID_BYTES]; /* "": none */
    char error_file[VQ_BATCH_ID_BYTES];
};

/* Answers one request of a batch; only our own failures are failures. */
typedef enum vq_status vq_offline_batch_answer_fn(void *context,
                                                  const struct vq_offline_batch *batch,
                                                  struct vq_span body, bool is_errored,
                                                  struct vq_offline_reply *ret_reply);

/* A file of Gemini that arrives in pieces. */
#define VQ_BATCH_UPLOADS_MAX 64u
struct vq_offline_batch_upload {
    char id[VQ_BATCH_ID_BYTES]; /* "": none */
    char account[VQ_BATCH_ACCOUNT_BYTES];
    char name[VQ_BATCH_FILE_NAME_BYTES];
    char mime[64];
    struct vq_buf bytes;
};

struct vq_offline_batches {
    uint64_t seed;
    struct vq_offline_batch_rules_set rules;
    struct vq_offline_batch_files files;
    struct vq_offline_batch **list; /* owned, the oldest first */
    size_t n;
    size_t cap;
    struct vq_offline_batch_upload uploads[VQ_BATCH_UPLOADS_MAX];
    uint64_t uploads_made;
    struct vq_call_log *log; /* borrowed */
    vq_offline_batch_answer_fn *answer;
    void *context; /* of `answer` */
};

void vq_offline_batches_free(struct vq_offline_batches *batches);

/* An empty batch that is not yet in the list, for a dialect to fill. NULL without memory. */
struct vq_offline_batch *vq_offline_batch_new(void);
void vq_offline_batch_free(struct vq_offline_batch *batch);
/* `body` is a json_t object. VQ_LIMIT over a limit of this file, VQ_NOMEM. */
enum vq_status vq_offline_batch_add_line(struct vq_offline_batch *batch, struct vq_span id,
                                         const void *body) VQ_WARN_UNUSED;
struct vq_span vq_offline_batch_id_of(const struct vq_offline_batch *batch,
                                      const struct vq_offline_batch_line *line);
struct vq_span vq_offline_batch_body_of(const struct vq_offline_batch *batch,
                                        const struct vq_offline_batch_line *line);
struct vq_span vq_offline_batch_answer_of(const struct vq_offline_batch *batch,
                                          const struct vq_offline_batch_line *line);
/* The number, from 1, of the first line whose custom_id an earlier line has; 0: there is none.
 * VQ_NOMEM. */
enum vq_status vq_offline_batch_find_twice(const struct vq_offline_batch *batch,
                                           uint64_t *ret_line) VQ_WARN_UNUSED;
void vq_offline_batch_set_problem(struct vq_offline_batch *batch, const char *code, uint64_t line,
                                  const char *fmt, ...) VQ_PRINTF(4, 5);

/* Whether the batch's tokens are too much beside those of the others that its account has enqueued
 * for its model. */
bool vq_offline_batches_over_tokens(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch);

/* Gives the batch its id and its course, and logs it. `take_batch` is the list's, or freed on
 * failure. VQ_LIMIT without room. */
enum vq_status vq_offline_batches_add(struct vq_offline_batches *batches, const char *id_prefix,
                                      struct vq_offline_batch *take_batch, int64_t now_ns,
                                      int64_t now_ms) VQ_WARN_UNUSED;
struct vq_offline_batch *vq_offline_batches_find(const struct vq_offline_batches *batches,
                                                 const char *id, const char *account);

/* Answers the lines that are due, at most VQ_BATCH_LINES_PER_TURN of them, and ends the batches
 * that are. */
enum vq_status vq_offline_batches_turn(struct vq_offline_batches *batches, int64_t now_ns,
                                       int64_t now_ms) VQ_WARN_UNUSED;
/* When the next turn is due; VQ_BATCH_NEVER. */
int64_t vq_offline_batches_next_ns(const struct vq_offline_batches *batches, int64_t now_ns);

/* What goes wrong with the result of a line on its way to the client; at most one thing. */
enum vq_offline_batch_spoil {
    VQ_BATCH_SPOIL_NONE,
    VQ_BATCH_SPOIL_MISSING,
    VQ_BATCH_SPOIL_DAMAGED,
    VQ_BATCH_SPOIL_TORN,
    VQ_BATCH_SPOIL_DUPLICATE,
    VQ_BATCH_SPOIL_FOREIGN,
};
enum vq_offline_batch_spoil vq_offline_batch_spoil_of(const struct vq_offline_batches *batches,
                                                      const struct vq_offline_batch *batch,
                                                      const struct vq_offline_batch_line *line);

/* As its client sees it: a batch is not in its last phase before all its lines have results. */
enum vq_offline_batch_phase vq_offline_batch_phase_of(const struct vq_offline_batch *batch,
                                                      int64_t now_ns);
/* Whether lists show it. */
bool vq_offline_batch_is_shown(const struct vq_offline_batch *batch, int64_t now_ns);
/* A time of its course on the wall clock, in ms. */
int64_t vq_offline_batch_wall_ms(const struct vq_offline_batch *batch, int64_t at_ns);
