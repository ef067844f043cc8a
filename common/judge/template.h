/* Prompt templates: text files with an optional `@system` part and a `@user` part (each such line alone) and
 * {{placeholders}}. The built-in ones are the files of prompts/, embedded; a user's folder replaces them by name. */
#ifndef VQ_JUDGE_TEMPLATE_H
#define VQ_JUDGE_TEMPLATE_H

#include "common/judge/request.h"

enum vq_template_kind {
    VQ_TEMPLATE_JUDGE,  /* judge.txt:  {{prompt}} {{output_a}} {{output_b}} {{vibe_name}} {{vibe_low}} {{vibe_high}} */
    VQ_TEMPLATE_REPAIR, /* repair.txt: {{answer}} */
    VQ_TEMPLATE__COUNT
};

const char *vq_template_file(enum vq_template_kind kind); /* "judge.txt" */
struct vq_span vq_template_builtin(enum vq_template_kind kind);

/* Parses and checks: each placeholder known, each required one present, each part UTF-8, within the limit. Errors name
 * `file`, line and column. The caller owns *ret_template; it keeps its own copy of the text. */
enum vq_status vq_template_parse(enum vq_template_kind kind, struct vq_span text, const char *file,
                                 struct vq_template **ret_template, struct vq_error *err)
    VQ_WARN_UNUSED;
void vq_template_destroy(struct vq_template **template);
const struct vq_hash *vq_template_hash(const struct vq_template *template);
struct vq_span vq_template_text(const struct vq_template *template); /* the whole file, for SPEC and copies */

/* The preset axes (the ten of the paper's Table 6, in our own words), embedded from prompts/preset-vibes.yaml. */
const struct vq_axis *vq_preset_axes(size_t *ret_count);

#endif
