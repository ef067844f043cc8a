/* The criteria of rubric judges: the built-in ones, from prompts/criteria/, and the reader of
 * users' files in the same form:
 *     kind: likert | binary | pairwise
 *     about: one sentence, for people
 *     (an empty line)
 *     the rubric, as it is sent to the judge */
#pragma once

#include "common/judge/rating.h"

#define VQ_CRITERION_BYTES_MAX       (16u << 10) /* the whole file */
#define VQ_CRITERION_NAME_BYTES_MAX  64
#define VQ_CRITERION_ABOUT_BYTES_MAX 256

struct vq_criterion {
    const char *name; /* replaces {{criterion}} in templates */
    enum vq_rating_kind kind;
    const char *about;
    const char *rubric; /* replaces {{rubric}}; UTF-8, LF, without blank lines around it */
};

/* The built-in criteria, in the order of lists; NULL after the last one. They are static. */
const struct vq_criterion *vq_criterion_at(size_t index);
/* NULL: no built-in criterion has this name. */
const struct vq_criterion *vq_criterion_builtin(const char *name);

/* "likert", "binary", "pairwise". */
const char *vq_criterion_kind_name(enum vq_rating_kind kind);
/* VQ_NOT_FOUND: another word. */
enum vq_status vq_criterion_kind_find(struct vq_span word,
                                      enum vq_rating_kind *ret_kind) VQ_WARN_UNUSED;

/* Reads a file's text. The name is the base name of `file` without its extension. Errors name file,
 * line and the expected text: VQ_INVALID, VQ_LIMIT, VQ_NOMEM. The caller owns *ret_criterion, which
 * borrows nothing. */
enum vq_status vq_criterion_parse(struct vq_span text, const char *file,
                                  struct vq_criterion **ret_criterion,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_criterion_destroy(struct vq_criterion **criterion); /* *criterion may be NULL */
