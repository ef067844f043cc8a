/* The items of a data set of probes, which are asked after dialogues: one question each, with its
 * labels and references. */
#pragma once

#include "common/conf/personas_file.h"

#define VQ_ITEMS_MAX      100000u
#define VQ_ITEM_BYTES_MAX (1u << 20) /* of each text of an item */

enum vq_item_label {
    VQ_ITEM_UNLABELLED,
    VQ_ITEM_SAFE,
    VQ_ITEM_UNSAFE
};

/* Owned, NUL-terminated; NULL: not given. */
struct vq_conf_item {
    char *text; /* not blank; without white space around it */
    char *id;
    char *persona; /* NULL: the item is for all personas */
    char *reference;
    uint32_t trait; /* index in the Big Five; VQ_BIG_FIVE: none */
    enum vq_item_label label;
    uint64_t line;
};

struct vq_items_file {
    struct vq_conf_item *items;
    uint32_t count;
};

/* Names of the columns; NULL: the first default name that the file has. Only `text` is required. */
struct vq_items_columns {
    const char *text; /* defaults: text, question, prompt, item, instruction, input, rewritten_en */
    const char *id;   /* id */
    const char *persona;   /* persona, role */
    const char *trait;     /* trait, dimension */
    const char *label;     /* label: safe, unsafe */
    const char *reference; /* reference, generated; of a JSON list of texts, the first is taken */
};

/* By the name's ending: .json, .yaml and .yml: a list of maps, or a map with a list or map of such
 * maps under `questions` or `items` (other keys are ignored); .jsonl and .ndjson: JSON lines; any
 * other: CSV. VQ_INVALID with NAME, line and field; VQ_LIMIT; VQ_NOMEM. The caller frees
 * *ret_file. */
enum vq_status vq_items_file_parse(struct vq_span text, const char *name,
                                   const struct vq_items_columns *columns,
                                   struct vq_items_file *ret_file,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_items_file_free(struct vq_items_file *file);
