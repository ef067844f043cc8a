/* The kind of answer that a prompt asks for, and the prompt's sections. The prompts of the method
 * have a line <wanted>KIND</wanted> after their last section, and sections between tags on separate
 * lines. Pure; everything borrows from the text. */
#pragma once

#include "common/base/buf.h"

enum vq_wanted {
#define WANTED(id, text, log_name) VQ_WANTED_##id,
#include "offline/judge/wanted.def"
#undef WANTED
    VQ_WANTED__COUNT
};

/* The kind that the prompt's own line names; VQ_WANTED_OTHER: none, or an unknown one. A line
 * inside a section is foreign text and does not count: a closing tag comes after it. */
enum vq_wanted vq_wanted_find(struct vq_span text);
const char *vq_wanted_log_name(enum vq_wanted wanted);
/* Whether vq_part_answer makes the answer, which is then not a verdict or several. */
bool vq_wanted_is_part(enum vq_wanted wanted);
/* Whether the request is for a rubric judge (offline/persona/rating.h). */
bool vq_wanted_is_rating(enum vq_wanted wanted);

/* Whether a line is the tag `open`NAME>, as in "</" and "row". */
bool vq_wanted_is_tag(struct vq_span line, const char *open, const char *name);

/* The text of a section, trimmed; empty: the section is missing. `first`: from the first opening
 * tag, for a section that has foreign text and comes first; else from the last one, so that a tag
 * in such a text does no harm. */
struct vq_span vq_wanted_section(struct vq_span text, const char *tag, bool first);

struct vq_wanted_row {
    struct vq_span prompt;
    struct vq_span outputs[2];
    bool has_outputs;
};

#define VQ_ROWS_MAX 256u

/* Reads the next <row> of the section "rows" at *at (0 at first) and moves *at; false: the end. A
 * tag inside a row's text spoils at most this row. */
bool vq_row_next(struct vq_span rows, size_t *at, struct vq_wanted_row *ret_row);
