/* Shared by the readers of formats; private to common/import. */
#pragma once

#include "common/import/import.h"

#include <jansson.h>

/* One record of a file. A reader begins a row, appends its parts in any order, and ends it. */
struct vq_import_item {
    const json_t *document; /* the document that contains it; NULL: lines, or one list */
    const json_t *value;    /* an object */
    struct vq_shape at;
    struct vq_import_set *set;
    struct vq_import_row row;
};

void vq_import_begin(struct vq_import_item *item, enum vq_import_part part);
void vq_import_end(struct vq_import_item *item, enum vq_import_part part);
/* Appends the text of a value to this part; NULL: nothing. */
void vq_import_put(struct vq_import_item *item, enum vq_import_part part, const json_t *value);
/* VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_import_add(struct vq_import_item *item) VQ_WARN_UNUSED;

/* Chat messages ({role, content}): the last message of the assistant is the output, and the
 * messages before it are the prompt. A prompt of one message is its text; several messages get a
 * heading each. `path`: the place of the list in the item, for errors. */
enum vq_status vq_import_messages(struct vq_import_item *item, const char *path) VQ_WARN_UNUSED;
/* The same for a list whose messages are all part of the prompt. */
void vq_import_prompt_messages(struct vq_import_item *item, const json_t *list);

/* The readers, by format. */
#define VQ_IMPORT_FORMAT(name, word, list, about)                                                  \
    enum vq_status vq_import_##name(struct vq_import_item *item) VQ_WARN_UNUSED;
#include "common/import/formats.def"
#undef VQ_IMPORT_FORMAT
