/* Prompt templates: text files with an optional `@system` part and a `@user` part (each such line
 * alone) and {{placeholders}}. The built-in ones are the files of prompts/, embedded; a user's
 * folder replaces them by name. */
#pragma once

#include "common/judge/request.h"

/* Most placeholders in one template, so that rendering is bounded. */
#define VQ_TEMPLATE_PLACEHOLDERS_MAX 64

enum vq_template_kind {
    /* judge.txt: {{prompt}} {{output_a}} {{output_b}} {{vibe_name}} {{vibe_low}} {{vibe_high}} */
    VQ_TEMPLATE_JUDGE,
    VQ_TEMPLATE_REPAIR, /* repair.txt: {{answer}} */
    /* preference.txt: {{prompt}} {{output_a}} {{output_b}} */
    VQ_TEMPLATE_PREFERENCE,
    /* Asked by the method, rendered by the coordinator. {{axes}} and its like are lists, one axis a
     * line. */
    VQ_TEMPLATE_DISCOVER,       /* discover.txt: {{rows}} -> a list of axes */
    VQ_TEMPLATE_DIFFERENCES,    /* differences.txt: {{rows}} -> free text (discovery_calls: 2) */
    VQ_TEMPLATE_FORMALISE,      /* formalise.txt: {{answer}} -> a list of axes */
    VQ_TEMPLATE_DISCOVER_AGAIN, /* discover-again.txt: {{rows}} {{axes}} {{rejected}} -> new axes */
    VQ_TEMPLATE_SUMMARISE,      /* summarise.txt: {{axes}} -> the fewest axes that cover them */
    VQ_TEMPLATE_SIMPLIFY, /* simplify.txt: {{axes}} -> without redundant ones, in plain words */
    VQ_TEMPLATE_REDUCE,   /* reduce.txt: {{axes}} {{count}} -> at most `count` */
    VQ_TEMPLATE_DEDUP,    /* dedup.txt: {{axes}} {{new_axes}} -> names of the new ones to keep */
    VQ_TEMPLATE_GENERATE, /* generate.txt: {{count}} -> a general list of axes */
    /* match.txt: {{axis}} {{axes}} -> the number of the one that says the same, or none */
    VQ_TEMPLATE_MATCH,
    VQ_TEMPLATE_QUESTION_TYPES, /* question-types.txt: {{axis}} {{rows}} -> kinds of questions */
    /* judge-many.txt: {{prompt}} {{output_a}} {{output_b}} {{axes}} -> a verdict by number
     * (vibes_per_call) */
    VQ_TEMPLATE_JUDGE_MANY,
    /* Asked of rubric judges. likert.txt, binary.txt: {{prompt}} {{output_a}} {{criterion}}
     * {{rubric}} -> 1 to 5; yes or no */
    VQ_TEMPLATE_LIKERT,
    VQ_TEMPLATE_BINARY,
    VQ_TEMPLATE_PAIRWISE, /* pairwise.txt: {{output_b}} too -> which response is better */
    /* persona.txt: {{name}} {{description}}; a system part and no user part: what puts a persona on
     * a subject model */
    VQ_TEMPLATE_PERSONA,
    /* queries.txt: {{count}} -> interview questions, one a line, between two remarks with {role} */
    VQ_TEMPLATE_QUERIES,
    /* The coordinator's own rendering, sent as it is: {{output_a}} is the system part, {{prompt}}
     * the user part. Not a file. */
    VQ_TEMPLATE_AS_IS,
    VQ_TEMPLATE__COUNT
};
#define VQ_TEMPLATE_FILES                                                                          \
    ((unsigned)VQ_TEMPLATE_AS_IS) /* the kinds before it are files of prompts/ */

/* What may be put into a template. */
enum vq_placeholder {
    VQ_PLACEHOLDER_PROMPT,
    VQ_PLACEHOLDER_OUTPUT_A, /* the output shown first */
    VQ_PLACEHOLDER_OUTPUT_B,
    VQ_PLACEHOLDER_VIBE_NAME,
    VQ_PLACEHOLDER_VIBE_LOW,
    VQ_PLACEHOLDER_VIBE_HIGH,
    VQ_PLACEHOLDER_CRITERION,
    VQ_PLACEHOLDER_RUBRIC,
    VQ_PLACEHOLDER_ANSWER,
    VQ_PLACEHOLDER_ROWS,
    VQ_PLACEHOLDER_AXES,
    VQ_PLACEHOLDER_AXIS,
    VQ_PLACEHOLDER_NEW_AXES,
    VQ_PLACEHOLDER_REJECTED,
    VQ_PLACEHOLDER_COUNT,
    VQ_PLACEHOLDER_NAME,
    VQ_PLACEHOLDER_DESCRIPTION,
    /* In the templates that show outputs, and optional there: words that say where the row's image
     * is. The image itself is sent before the text. */
    VQ_PLACEHOLDER_IMAGE,
    VQ_PLACEHOLDER__COUNT
};

enum vq_template_part {
    VQ_TEMPLATE_SYSTEM,
    VQ_TEMPLATE_USER,
    VQ_TEMPLATE_PART__COUNT
};

const char *vq_template_file(enum vq_template_kind kind); /* "judge.txt" */
struct vq_span vq_template_builtin(enum vq_template_kind kind);
/* The same under `judging.form: clear`: judge-clear.txt and judge-many-clear.txt in place of the
 * two; every other kind as above. */
struct vq_span vq_template_builtin_clear(enum vq_template_kind kind);
/* What {{image}} becomes. */
struct vq_span vq_template_image_words(bool there_is_one);

/* Parses and checks: each placeholder known, each required one present, each part UTF-8, within the
 * limit. Errors name `file`, line and column (counted in bytes). VQ_INVALID, VQ_LIMIT, VQ_NOMEM.
 * The caller owns *ret_template; it keeps its own copy of the text. */
enum vq_status vq_template_parse(enum vq_template_kind kind, struct vq_span text, const char *file,
                                 struct vq_template **ret_template,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_template_destroy(struct vq_template **template); /* NULL inside is fine */
/* Of the kind and the two parts as they are sent: line ends and blank lines around a part do not
 * change it. */
bool vq_template_uses(const struct vq_template *template, enum vq_placeholder placeholder);
const struct vq_hash *vq_template_hash(const struct vq_template *template);
struct vq_span
vq_template_text(const struct vq_template *template); /* the whole file, for SPEC and copies */

/* Appends a part with `values` (one for each enum vq_placeholder; unused ones may be empty) put in
 * literally: they are never looked at for placeholders. Appends nothing for a part that the
 * template does not have. VQ_LIMIT above the buffer's limit, VQ_NOMEM. */
enum vq_status vq_template_render(const struct vq_template *template, enum vq_template_part part,
                                  const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                                  struct vq_buf *buf) VQ_WARN_UNUSED;

/* How many bytes at the front of the rendered user part stand before the first placeholder of the
 * set `varying` (bits of enum vq_placeholder), back to the line's beginning where the template has
 * one there: what is the same when only those vary. 0 when the system part has one of them, or no
 * part has. */
size_t vq_template_fixed_bytes(const struct vq_template *template, unsigned varying,
                               const struct vq_span values[VQ_PLACEHOLDER__COUNT]);

/* The preset axes (the ten of the paper's Table 6, in our own words), embedded from
 * prompts/preset-vibes.yaml. */
const struct vq_axis *vq_preset_axes(size_t *ret_count);
/* What human readers found on the HC3 questions, as a list to compare found vibes with:
 * prompts/gold-hc3.yaml. */
const struct vq_axis *vq_gold_hc3_axes(size_t *ret_count);
