/* Prompt templates: text files with {{placeholders}}, an optional `@system` part and a `@user` part
 * (each mark alone on its line). The built-in templates are the files of prompts/, embedded; files
 * of the same name in a user's folder replace them. */
#pragma once

#include "common/judge/request.h"

/* In one template; it bounds the rendering. */
#define VQ_TEMPLATE_PLACEHOLDERS_MAX 64

enum vq_template_kind {
    /* judge.txt: {{prompt}} {{output_a}} {{output_b}} {{vibe_name}} {{vibe_low}} {{vibe_high}} */
    VQ_TEMPLATE_JUDGE,
    VQ_TEMPLATE_REPAIR, /* repair.txt: {{answer}} */
    /* preference.txt: {{prompt}} {{output_a}} {{output_b}} */
    VQ_TEMPLATE_PREFERENCE,
    /* For the method's own questions, rendered by the coordinator. {{axes}} and similar are lists,
     * one axis per line. */
    VQ_TEMPLATE_DISCOVER,       /* discover.txt: {{rows}} -> a list of axes */
    VQ_TEMPLATE_DIFFERENCES,    /* differences.txt: {{rows}} -> free text (discovery_calls: 2) */
    VQ_TEMPLATE_FORMALISE,      /* formalise.txt: {{answer}} -> a list of axes */
    VQ_TEMPLATE_DISCOVER_AGAIN, /* discover-again.txt: {{rows}} {{axes}} {{rejected}} -> new axes */
    VQ_TEMPLATE_SUMMARISE,      /* summarise.txt: {{axes}} -> the fewest axes that cover them */
    VQ_TEMPLATE_SIMPLIFY, /* simplify.txt: {{axes}} -> without redundant ones, in plain words */
    VQ_TEMPLATE_REDUCE,   /* reduce.txt: {{axes}} {{count}} -> at most `count` */
    VQ_TEMPLATE_DEDUP,    /* dedup.txt: {{axes}} {{new_axes}} -> names of the new ones to keep */
    VQ_TEMPLATE_GENERATE, /* generate.txt: {{count}} -> a general list of axes */
    /* match.txt: {{axis}} {{axes}} -> the number of the axis with the same meaning, or none */
    VQ_TEMPLATE_MATCH,
    VQ_TEMPLATE_QUESTION_TYPES, /* question-types.txt: {{axis}} {{rows}} -> kinds of questions */
    /* judge-many.txt: {{prompt}} {{output_a}} {{output_b}} {{axes}} -> a verdict by number
     * (vibes_per_call) */
    VQ_TEMPLATE_JUDGE_MANY,
    /* For rubric judges. likert.txt, binary.txt: {{prompt}} {{output_a}} {{criterion}} {{rubric}}
     * -> 1 to 5; yes or no */
    VQ_TEMPLATE_LIKERT,
    VQ_TEMPLATE_BINARY,
    VQ_TEMPLATE_PAIRWISE, /* pairwise.txt: {{output_b}} too -> the better response */
    /* persona.txt: {{name}} {{description}}; a system part and no user part; it gives a persona to
     * a subject model */
    VQ_TEMPLATE_PERSONA,
    /* queries.txt: {{count}} -> interview questions, one per line, between two remarks with
     * {role} */
    VQ_TEMPLATE_QUERIES,
    /* The coordinator's own rendering, sent as it is: {{output_a}} is the system part, {{prompt}}
     * the user part. Not a file. */
    VQ_TEMPLATE_AS_IS,
    VQ_TEMPLATE__COUNT
};
#define VQ_TEMPLATE_FILES                                                                          \
    ((unsigned)VQ_TEMPLATE_AS_IS) /* the kinds below it are files of prompts/ */

/* The placeholders of templates. */
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
    /* Optional, in templates that show outputs: words about the place of the row's image. The image
     * itself is sent before the text. */
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
/* The same under `judging.form: clear`: judge-clear.txt and judge-many-clear.txt for those two
 * kinds; every other kind as above. */
struct vq_span vq_template_builtin_clear(enum vq_template_kind kind);
/* The text that replaces {{image}}. */
struct vq_span vq_template_image_words(bool there_is_one);

/* Parses and checks: each placeholder known, each required one present, each part UTF-8, within the
 * limit. Errors name `file`, line and column (counted in bytes). VQ_INVALID, VQ_LIMIT, VQ_NOMEM.
 * The caller owns *ret_template, which copies the text. */
enum vq_status vq_template_parse(enum vq_template_kind kind, struct vq_span text, const char *file,
                                 struct vq_template **ret_template,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_template_destroy(struct vq_template **template); /* *template may be NULL */
bool vq_template_uses(const struct vq_template *template, enum vq_placeholder placeholder);
/* A hash of the kind and the two parts as sent: line ends and blank lines around a part do not
 * change it. */
const struct vq_hash *vq_template_hash(const struct vq_template *template);
struct vq_span
vq_template_text(const struct vq_template *template); /* the whole file, for SPEC and copies */

/* Appends a part with `values` inserted literally (one for each enum vq_placeholder; unused ones
 * may be empty): placeholders inside a value are not replaced. Appends nothing if the template
 * lacks the part. VQ_LIMIT above the buffer's limit, VQ_NOMEM. */
enum vq_status vq_template_render(const struct vq_template *template, enum vq_template_part part,
                                  const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                                  struct vq_buf *buf) VQ_WARN_UNUSED;

/* The number of bytes at the front of the rendered user part that stay the same if only the
 * placeholders `varying` (bits of enum vq_placeholder) change. They end before the first of these
 * placeholders, at the beginning of its line if the template has a line end before it. 0: the
 * system part has one of them, or no part has. */
size_t vq_template_fixed_bytes(const struct vq_template *template, unsigned varying,
                               const struct vq_span values[VQ_PLACEHOLDER__COUNT]);

/* The preset axes (the ten of the paper's Table 6, in our own words), embedded from
 * prompts/preset-vibes.yaml. */
const struct vq_axis *vq_preset_axes(size_t *ret_count);
/* The differences that human readers found on the HC3 questions, to compare discovered vibes with:
 * prompts/gold-hc3.yaml. */
const struct vq_axis *vq_gold_hc3_axes(size_t *ret_count);
