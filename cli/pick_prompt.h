/* Finds the record, the vibe and the judge that a person names, for verbs that show one prompt. */
#pragma once

#include "cli/opts.h"
#include "methods/files/job.h"

#define VQ_PICK_PROMPT_CONFIG "vibeq.yaml" /* the file that `vibeq init` writes */

/* The common options; a verb's own struct begins with them. */
struct vq_pick_prompt_words {
    const char *vibe, *judge;
    struct vq_opt_count row;
    struct vq_opt_list set;
    bool swapped;
};

#define VQ_PICK_PROMPT_OPTS                                                                        \
    {"set", VQ_OPT_LIST, offsetof(struct vq_pick_prompt_words, set), "A.B=VALUE",                  \
     "overrides a key of the configuration (repeatable)"},                                         \
        {"row", VQ_OPT_COUNT, offsetof(struct vq_pick_prompt_words, row), "N",                     \
         "record number in the data file, from 1; default: the first training row"},               \
        {"vibe", VQ_OPT_TEXT, offsetof(struct vq_pick_prompt_words, vibe), "NAME",                 \
         "name of the vibe; default the first"},                                                   \
        {"judge", VQ_OPT_TEXT, offsetof(struct vq_pick_prompt_words, judge), "NAME",               \
         "name of the judge"},                                                                     \
    {                                                                                              \
        "swapped", VQ_OPT_FLAG, offsetof(struct vq_pick_prompt_words, swapped), NULL,              \
            "with model B's output shown first"                                                    \
    }

struct vq_picked_prompt {
    uint32_t sample; /* of the job */
    uint32_t vibe;
    uint32_t judge; /* the first one if none was named */
    unsigned order;
};

/* The job of a configuration (NULL: VQ_PICK_PROMPT_CONFIG). The caller owns *ret_job. */
enum vq_status vq_pick_prompt_job(const char *config, const struct vq_pick_prompt_words *words,
                                  struct vq_job **ret_job, struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND: the record, vibe or judge does not exist; the sentence names the nearest, or all of
 * them. */
enum vq_status vq_pick_prompt(const struct vq_job *job, const struct vq_pick_prompt_words *words,
                              struct vq_picked_prompt *ret_picked,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Prints "--- system ..." and "--- user ..." on standard output, exactly as the judge gets them. */
enum vq_status vq_pick_prompt_show(const struct vq_job *job,
                                   const struct vq_picked_prompt *picked) VQ_WARN_UNUSED;
