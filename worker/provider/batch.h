/* A dialect's batch API: the steps of a batch as HTTP requests, and readers of what the provider
 * returns. Pure: no sockets, no clock, no files. It is the second seam beside provider.h: the calls
 * of a batch have the bodies that the chat dialect builds, and each result has the reply that the
 * chat dialect reads.
 *
 *     document      vq_batch_add for each call
 *     submission    open and upload (of a document that goes into a file), create
 *     life          get, list, cancel, results, drop (batch_life.h decides which one, and when)
 *     results       vq_batch_lines_feed / _next (batch_lines.h), batch_collect.h
 *
 * A response that is not 2xx is read with the chat dialect's `read` (provider.h): the reply has the
 * class, the message and retry_after_ms. */
#pragma once

#include "proto/result.h"
#include "worker/provider/provider.h"

#define VQ_BATCH_NAME_BYTES_MAX    VQ_WIRE_BATCH_NAME_BYTES_MAX
#define VQ_BATCH_ID_BYTES_MAX      256 /* of a batch or a file, as the provider names it */
#define VQ_BATCH_SESSION_BYTES_MAX 512 /* of the name of an open upload */
#define VQ_BATCH_CALL_ID_BYTES     41  /* custom_id with its NUL; Anthropic allows 64 characters */
#define VQ_BATCH_CALLS_MAX         VQ_WIRE_BATCH_CALLS_MAX
#define VQ_BATCH_URL_BYTES_MAX     4096
#define VQ_BATCH_FRAME_BYTES_MAX   4096         /* of the text around a document */
#define VQ_BATCH_INLINE_BYTES_MAX  20000000u    /* of a document in the form for a create */
#define VQ_BATCH_STATE_BYTES_MAX   (128u << 20) /* a response with one batch, or a page of them */
#define VQ_BATCH_PAGE              100u         /* batches per list request */

/* ---- names ---- */

/* The worker chooses the name of a batch (vq_batch_name_fits). OpenAI carries it as metadata,
 * Gemini as the display name. Anthropic's API carries no name: only the custom_id of a result shows
 * it. */
bool vq_batch_name_ok(const char *name);

/* custom_id of call `call` (0 ..): "vq-" 16 hex digits of the name's hash "-" the number. */
void vq_batch_call_id(const char *name, uint32_t call, char ret_id[VQ_BATCH_CALL_ID_BYTES]);

enum vq_batch_call_id_kind {
    VQ_BATCH_ID_OURS = 0,
    VQ_BATCH_ID_OTHER_BATCH,  /* of our form, but of a batch with another name */
    VQ_BATCH_ID_OUT_OF_RANGE, /* of this batch, but it has no call of this number */
    VQ_BATCH_ID_FOREIGN       /* not of our form */
};
/* OURS: *ret_call is the number, less than `calls`. */
enum vq_batch_call_id_kind vq_batch_call_id_parse(const char *name, uint32_t calls,
                                                  struct vq_span id, uint32_t *ret_call);

/* ---- requests ---- */

enum vq_batch_method {
    VQ_BATCH_GET = 0,
    VQ_BATCH_POST,
    VQ_BATCH_DELETE
};

#define VQ_BATCH_REQUEST_HEADERS_MAX 4

struct vq_batch_header {
    const char *name;
    char value[32];
};

/* One HTTP request. The body is `head`, `document` and `tail`, one after the other; all empty: no
 * body. Owns its buffers; `document` is borrowed from the caller of the step, or is `own`. */
struct vq_batch_request {
    enum vq_batch_method method;
    struct vq_buf url;
    struct vq_buf head, tail;
    struct vq_buf own; /* the document in another form */
    struct vq_span document;
    char content_type[96];                                        /* empty: no body */
    struct vq_batch_header headers[VQ_BATCH_REQUEST_HEADERS_MAX]; /* in addition to the dialect's */
    size_t headers_count;
};
void vq_batch_request_init(struct vq_batch_request *request);
void vq_batch_request_free(struct vq_batch_request *request);

struct vq_batch_dialect;

/* The destination of a batch; borrowed for the length of a call. */
struct vq_batch_at {
    const struct vq_batch_dialect *dialect; /* its functions are called */
    const char *base_url;                   /* as configured for the chat dialect */
    const char *model;                      /* Azure: the deployment */
};

/* ---- the state of a batch, as the provider reports it ---- */

enum vq_batch_state {
    VQ_BATCH_UNKNOWN = 0, /* the dialect has no row for the provider's word: poll again */
    VQ_BATCH_VALIDATING,  /* accepted; no call has been worked on */
    VQ_BATCH_RUNNING,
    VQ_BATCH_FINISHING,  /* all calls have ended, the results are being written */
    VQ_BATCH_ENDED,      /* results can be fetched; single calls may have failed */
    VQ_BATCH_FAILED,     /* refused as a whole; there may be no results */
    VQ_BATCH_EXPIRED,    /* its time was over; results of a part */
    VQ_BATCH_CANCELLING, /* may still complete calls */
    VQ_BATCH_CANCELLED,  /* results of a part */
    VQ_BATCH_STATE__COUNT
};
const char *vq_batch_state_name(enum vq_batch_state state); /* "running" */
bool vq_batch_state_is_final(enum vq_batch_state state);

/* Strings are NUL-terminated single lines of UTF-8; empty: not given. Numbers are -1 if not given.
 * The view allocates nothing. */
struct vq_batch_view {
    char id[VQ_BATCH_ID_BYTES_MAX];
    /* empty: the API carries none, or it is not one of our names */
    char name[VQ_BATCH_NAME_BYTES_MAX + 1];
    enum vq_batch_state state;
    char said[VQ_REPLY_NAME_BYTES_MAX]; /* the provider's word for the state */
    int64_t total, succeeded, errored, cancelled, expired, pending;
    char input_file[VQ_BATCH_ID_BYTES_MAX];
    char output_file[VQ_BATCH_ID_BYTES_MAX];
    char error_file[VQ_BATCH_ID_BYTES_MAX];
    bool has_results; /* `results` can be fetched, VQ_BATCH_OUTPUT or VQ_BATCH_ERRORS */
    int64_t created_unix_s, expires_unix_s;
    char error[VQ_REPLY_MESSAGE_BYTES_MAX];
    bool is_limited; /* it failed only because too many tokens are enqueued now */
};

/* A page of the list. Owns `at`. */
struct vq_batch_page {
    struct vq_batch_view *at;
    size_t count, cap;
    char next[VQ_BATCH_ID_BYTES_MAX * 2]; /* the cursor of the next page; empty: the last page */
};
void vq_batch_page_free(struct vq_batch_page *page); /* leaves it empty */

/* ---- results ---- */

enum vq_batch_part {
    VQ_BATCH_OUTPUT = 0,
    VQ_BATCH_ERRORS
};

enum vq_batch_outcome {
    VQ_BATCH_SUCCEEDED = 0, /* a reply with status 2xx */
    VQ_BATCH_ERRORED,       /* an error reply; not paid for */
    VQ_BATCH_CALL_EXPIRED,  /* no reply, not paid for */
    VQ_BATCH_CALL_CANCELLED /* no reply, not paid for */
};
const char *vq_batch_outcome_name(enum vq_batch_outcome outcome); /* "succeeded" */

/* One result. `damaged`: it cannot be used; `why` has the reason, and custom_id is set if it was
 * readable. */
struct vq_batch_line {
    uint64_t number; /* of the line in its file, 1 .. */
    bool damaged;
    char why[VQ_REPLY_NAME_BYTES_MAX];
    char custom_id[VQ_REPLY_NAME_BYTES_MAX];
    enum vq_batch_outcome outcome;
    int status;           /* HTTP status of the reply; 0: no reply */
    struct vq_span reply; /* JSON, for the chat dialect's `read`; valid until the next line */
};

/* ---- dialects ---- */

struct json_t;

/* The layout of the results in their document. */
enum vq_batch_layout {
    VQ_BATCH_JSONL = 0,
    VQ_BATCH_INLINE /* elements of the array "inlinedResponses" of one JSON document */
};

/* Functions that fill a request clear it first. VQ_LIMIT: above a buffer's limit; VQ_NOMEM;
 * VQ_NOT_FOUND: the batch does not have this part. Ids come from the provider and are escaped. */
struct vq_batch_dialect {
    const char *dialect; /* as in provider.h, whose auth_header and auth_prefix are used */
    const struct vq_provider_header *headers; /* of every request; content_type is added */
    size_t headers_count;
    uint32_t calls_max;
    uint64_t document_bytes_max; /* of the document alone */
    uint64_t inline_bytes_max;   /* a document up to this size is part of the create */
    bool carries_name;           /* a list shows the names */
    bool drops_results;          /* `drop` also deletes the files of the results */
    const char *separator;       /* between two calls of a document */

    /* Appends one call. `body` is built by the chat dialect: JSON on one line. */
    void (*add)(const struct vq_batch_at *at, const char *call_id, struct vq_span body,
                struct vq_buf *document);

    /* An upload of this many bytes; NULL: `upload` needs no session. */
    enum vq_status (*open)(const struct vq_batch_at *at, const char *name, uint64_t document_bytes,
                           struct vq_batch_request *request);
    const char *session_header; /* of the response to `open`, in lower case */
    /* Reads the session from the value of this header; VQ_INVALID: it has none. */
    enum vq_status (*read_open)(struct vq_span value, char ret_session[VQ_BATCH_SESSION_BYTES_MAX]);
    /* NULL: the dialect has no files, `create` carries the document. */
    enum vq_status (*upload)(const struct vq_batch_at *at, const char *name, const char *session,
                             struct vq_span document, struct vq_batch_request *request);
    /* The file's id; VQ_INVALID: the response has none. */
    enum vq_status (*read_upload)(struct vq_span body, char ret_file[VQ_BATCH_ID_BYTES_MAX]);
    /* `file`: after an upload; if it is empty, the create carries `document`. */
    enum vq_status (*create)(const struct vq_batch_at *at, const char *name, const char *file,
                             struct vq_span document, struct vq_batch_request *request);
    enum vq_status (*get)(const struct vq_batch_at *at, const char *id,
                          struct vq_batch_request *request);
    /* `cursor`: "" for the first page, then the page's `next`. */
    enum vq_status (*list)(const struct vq_batch_at *at, const char *cursor,
                           struct vq_batch_request *request);
    enum vq_status (*cancel)(const struct vq_batch_at *at, const char *id,
                             struct vq_batch_request *request);
    /* Addresses are made from ids and the base URL. A URL from a response is never used: otherwise
     * a server could direct the key to any host. */
    enum vq_status (*results)(const struct vq_batch_at *at, const struct vq_batch_view *view,
                              enum vq_batch_part part, struct vq_batch_request *request);
    enum vq_batch_layout (*layout)(const struct vq_batch_view *view);
    /* Deletes an uploaded file; NULL: no files. */
    enum vq_status (*drop)(const struct vq_batch_at *at, const char *file,
                           struct vq_batch_request *request);

    /* Internal: read one object of a response, and one result; use the functions below. */
    void (*take_view)(const struct json_t *object, struct vq_batch_view *view);
    const char *page_items; /* the member with the batches of a page */
    void (*take_next)(const struct json_t *root, struct vq_batch_page *page);
    enum vq_status (*take_line)(const struct json_t *object, struct vq_batch_line *line,
                                struct vq_buf *reply);
};

/* NULL: the dialect does not exist, or has no batches. */
const struct vq_batch_dialect *vq_batch_find(const char *dialect);

/* Appends call `call` of the batch `name` to the document. VQ_LIMIT: calls_max or
 * document_bytes_max would be exceeded (the document is unchanged); VQ_INVALID: the body is empty
 * or has a line break; VQ_NOMEM. */
enum vq_status vq_batch_add(const struct vq_batch_at *at, const char *name, uint32_t call,
                            struct vq_span body, struct vq_buf *document) VQ_WARN_UNUSED;

/* A response to create, get or cancel with status 2xx. VQ_INVALID: not a batch (no id), and then
 * the create's outcome is unknown; VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_batch_read(const struct vq_batch_dialect *dialect, struct vq_span body,
                             struct vq_batch_view *ret_view) VQ_WARN_UNUSED;
/* A page of the list. `page` is replaced. VQ_INVALID: not a list; VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_batch_read_page(const struct vq_batch_dialect *dialect, struct vq_span body,
                                  struct vq_batch_page *page) VQ_WARN_UNUSED;

/* Reads the reply of a result that has one (SUCCEEDED, ERRORED), like the reply to a single call.
 * VQ_NOMEM only. `reply` must be initialised. */
enum vq_status vq_batch_reply(const struct vq_batch_dialect *dialect,
                              const struct vq_batch_line *line, int64_t now_unix_s,
                              const char *answer_field, struct vq_reply *reply) VQ_WARN_UNUSED;
