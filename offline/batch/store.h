/* All batches of a server, of every dialect: they are created, done line by line over time, and
 * end. In memory, bounded. Knows neither HTTP nor a dialect's forms. */
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
/* the most lines to answer before the server handles sockets again */
#define VQ_BATCH_LINES_PER_TURN 256u
#define VQ_BATCH_PROBLEM_BYTES  384

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
    unsigned status;                /* HTTP status of the answer */
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
    /* The request of the client. */
    char endpoint[64];
    char input_file[VQ_BATCH_ID_BYTES];
    char display_name[256];
    struct vq_buf metadata; /* JSON; empty: none */
    /* The lines and their answers. */
    struct vq_buf texts;
    struct vq_buf answers;
    struct vq_offline_batch_line *lines; /* owned */
    size_t lines_cap;
    uint32_t *order;   /* owned; the order in which the lines are done */
    uint64_t answered; /* lines, in that order */
    uint64_t counts[VQ_BATCH_LINE__COUNT];
    uint64_t prompt_tokens; /* of the answers */
    uint64_t completion_tokens;
    uint64_t enqueued;                   /* tokens of the requests, by their bytes */
    bool is_over;                        /* every line has its result */
    char output_file[VQ_BATCH_ID_BYTES]; /* "": none */
    char error_file[VQ_BATCH_ID_BYTES];
};

/* Answers one request of a batch; fails only for reasons of the server itself. */
typedef enum vq_status vq_offline_batch_answer_fn(void *context,
                                                  const struct vq_offline_batch *batch,
                                                  struct vq_span body, bool is_errored,
                                                  struct vq_offline_reply *ret_reply);

/* A file of Gemini that is uploaded in pieces. */
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

/* An empty batch that is not yet in the list, for a dialect to fill. NULL: no memory. */
struct vq_offline_batch *vq_offline_batch_new(void);
void vq_offline_batch_free(struct vq_offline_batch *batch);
/* `body` is a json_t object. VQ_LIMIT: above a limit of this file; VQ_NOMEM. */
enum vq_status vq_offline_batch_add_line(struct vq_offline_batch *batch, struct vq_span id,
                                         const void *body) VQ_WARN_UNUSED;
struct vq_span vq_offline_batch_id_of(const struct vq_offline_batch *batch,
                                      const struct vq_offline_batch_line *line);
struct vq_span vq_offline_batch_body_of(const struct vq_offline_batch *batch,
                                        const struct vq_offline_batch_line *line);
struct vq_span vq_offline_batch_answer_of(const struct vq_offline_batch *batch,
                                          const struct vq_offline_batch_line *line);
/* The number, from 1, of the first line with the custom_id of an earlier line; 0: there is none.
 * VQ_NOMEM. */
enum vq_status vq_offline_batch_find_twice(const struct vq_offline_batch *batch,
                                           uint64_t *ret_line) VQ_WARN_UNUSED;
void vq_offline_batch_set_problem(struct vq_offline_batch *batch, const char *code, uint64_t line,
                                  const char *fmt, ...) VQ_PRINTF(4, 5);

/* Whether the batch's tokens, with those of the account's other enqueued batches for its model,
 * exceed the limit. */
bool vq_offline_batches_over_tokens(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch);

/* Gives the batch its id and its course, and logs it. The list takes over `take_batch`; on failure
 * it is freed. VQ_LIMIT: no room. */
enum vq_status vq_offline_batches_add(struct vq_offline_batches *batches, const char *id_prefix,
                                      struct vq_offline_batch *take_batch, int64_t now_ns,
                                      int64_t now_ms) VQ_WARN_UNUSED;
struct vq_offline_batch *vq_offline_batches_find(const struct vq_offline_batches *batches,
                                                 const char *id, const char *account);

/* Answers the due lines, at most VQ_BATCH_LINES_PER_TURN of them, and ends the batches that are
 * due. */
enum vq_status vq_offline_batches_turn(struct vq_offline_batches *batches, int64_t now_ns,
                                       int64_t now_ms) VQ_WARN_UNUSED;
/* When the next turn is due; VQ_BATCH_NEVER. */
int64_t vq_offline_batches_next_ns(const struct vq_offline_batches *batches, int64_t now_ns);

/* The fault of a line's result during its transfer to the client; at most one. */
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

/* The phase that the client sees: the last phase starts only after all lines have results. */
enum vq_offline_batch_phase vq_offline_batch_phase_of(const struct vq_offline_batch *batch,
                                                      int64_t now_ns);
/* Whether lists show the batch. */
bool vq_offline_batch_is_shown(const struct vq_offline_batch *batch, int64_t now_ns);
/* A time of the batch's course on the wall clock, in ms. */
int64_t vq_offline_batch_wall_ms(const struct vq_offline_batch *batch, int64_t at_ns);
