/* A list that a model writes in one call, outside of any run: nothing of it is stored. For the
 * verbs that make files of such lists. */
#pragma once

#include "cli/ask_once.h"
#include "cli/opts.h"
#include "methods/files/job.h"

/* The model to call: a model with its address, or the proposer (else the first judge) of a
 * configuration. */
struct vq_generate_words {
    struct vq_opt_list set;
    const char *model, *base_url, *key, *config;
};

/* The common options: `who` is the field of these words in the verb's own struct, `before` begins
 * each help. */
#define VQ_GENERATE_OPTS(type, who, before)                                                        \
    {"model", VQ_OPT_TEXT, offsetof(type, who.model), "MODEL", before "the model to ask"},         \
        {"base-url", VQ_OPT_TEXT, offsetof(type, who.base_url), "URL",                             \
         before "the endpoint of the model; default OPENAI_BASE_URL"},                             \
        {"key", VQ_OPT_TEXT, offsetof(type, who.key), "REF",                                       \
         before "its key, env:NAME or file:PATH; default env:OPENAI_API_KEY"},                     \
        {"config", VQ_OPT_TEXT, offsetof(type, who.config), "FILE",                                \
         before "a run's configuration instead; vibeq asks its proposer, or first judge"},         \
    {                                                                                              \
        "set", VQ_OPT_LIST, offsetof(type, who.set), "A.B=VALUE",                                  \
            before "overrides a key of the configuration (repeatable)"                             \
    }

/* VQ_EXIT_DONE, or the exit code after a message about the words. */
int vq_generate_check(const char *verb, const struct vq_generate_words *w);
/* Before a paid call. VQ_EXISTS: `out` (nullable) exists; other statuses: it cannot be created. */
enum vq_status vq_generate_check_out(const char *out, struct vq_error *err) VQ_WARN_UNUSED;
/* The caller destroys *ret_job. */
enum vq_status vq_generate_job(const struct vq_generate_words *w, struct vq_job **ret_job,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Makes the call with a template whose only placeholder is {{count}}. VQ_UNAVAILABLE: the model
 * gave no answer. The caller frees `once` (vq_once_free), even after a failure. */
enum vq_status vq_generate_ask(const struct vq_job *job, enum vq_template_kind kind, uint32_t count,
                               struct vq_once *once, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_UNAVAILABLE, with a sentence that shows the beginning of the answer. */
enum vq_status vq_generate_unread(const struct vq_job *job, const char *what,
                                  const struct vq_once *once, struct vq_error *err);
/* Writes a new file, or to standard output if `out` is NULL. */
enum vq_status vq_generate_put(const char *out, struct vq_buf *text,
                               struct vq_error *err) VQ_WARN_UNUSED;
