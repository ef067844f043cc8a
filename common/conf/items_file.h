/* The items of a data set that is asked behind dialogues: one question each, with what belongs to
 * it. */
#pragma once

#include "common/conf/personas_file.h"

#define VQ_ITEMS_MAX      100000u
#define VQ_ITEM_BYTES_MAX (1u << 20) /* each text of it */

enum vq_item_label {
    VQ_ITEM_UNLABELLED,
    VQ_ITEM_SAFE,
    VQ_ITEM_UNSAFE
};

/* Owned, NUL-terminated; NULL is not given. */
struct vq_conf_item {
    char *text; /* not blank; without white space around it */
    char *id;
    char *persona; /* the persona of the item; NULL: all personas */
    char *reference;
    uint32_t trait; /* of the Big Five; VQ_BIG_FIVE: none */
    enum vq_item_label label;
    uint64_t line; /* where it stands */
};

struct vq_items_file {
    struct vq_conf_item *items;
    uint32_t count;
};

/* Names of the columns; NULL takes the first of the usual ones that is there. Only the text has to
 * be. */
struct vq_items_columns {
    const char *text;      /* text, question, prompt, item, instruction, input, rewritten_en */
    const char *id;        /* id */
    const char *persona;   /* persona, role */
    const char *trait;     /* trait, dimension */
    const char *label;     /* label: safe, unsafe */
    const char *reference; /* reference, generated; a JSON list of texts gives its first */
};

/* By the name's ending: .json, .yaml and .yml are a list of maps, or a map of such a list, or of
 * maps, under `questions` or `items`, whose further keys are passed over; .jsonl and .ndjson JSON
 * lines; anything else CSV. VQ_INVALID with NAME, line and field; VQ_LIMIT; VQ_NOMEM. The caller
 * frees *ret_file. */
enum vq_status vq_items_file_parse(struct vq_span text, const char *name,
                                   const struct vq_items_columns *columns,
                                   struct vq_items_file *ret_file,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_items_file_free(struct vq_items_file *file);
