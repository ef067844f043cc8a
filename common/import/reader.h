/* What readers of formats share; private to common/import. */
#pragma once

#include "common/import/import.h"

#include <jansson.h>

/* One record of a file. A reader begins a row, appends its parts in any order, and ends it. */
struct vq_import_item {
    const json_t *document; /* where it is in one; NULL: lines, or one list */
    const json_t *value;    /* an object */
    struct vq_shape at;
    struct vq_import_set *set;
    struct vq_import_row row;
};

void vq_import_begin(struct vq_import_item *item, enum vq_import_part part);
void vq_import_end(struct vq_import_item *item, enum vq_import_part part);
/* The text of a value as this part; NULL: none. */
void vq_import_put(struct vq_import_item *item, enum vq_import_part part, const json_t *value);
/* VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_import_add(struct vq_import_item *item) VQ_WARN_UNUSED;

/* Chat messages ({role, content}): the last answer of the assistant is the output, all that comes
 * before it the prompt. A prompt of one message is its text; one of several has a heading for each.
 * `path` is where the list is in the item, for sentences. */
enum vq_status vq_import_messages(struct vq_import_item *item, const char *path) VQ_WARN_UNUSED;
/* The same of a prompt alone: all messages of the list. */
void vq_import_prompt_messages(struct vq_import_item *item, const json_t *list);

/* The readers, by format. */
#define VQ_IMPORT_FORMAT(name, word, list, about)                                                  \
    enum vq_status vq_import_##name(struct vq_import_item *item) VQ_WARN_UNUSED;
#include "common/import/formats.def"
#undef VQ_IMPORT_FORMAT
