/* The keys of a configuration: what each is, where it is in the struct, its default and its bounds.
 * Private to common/conf and its tests. */
#pragma once

#include "common/base/status.h"

enum vq_key_kind {
    VQ_KEY_KIND_TEXT,
    VQ_KEY_KIND_UINT,
    VQ_KEY_KIND_INT,
    VQ_KEY_KIND_REAL,
    VQ_KEY_KIND_BOOL,
    VQ_KEY_KIND_ENUM,
    VQ_KEY_KIND_SECTION,  /* a mapping with keys of its own */
    VQ_KEY_KIND_SECTIONS, /* a list of such mappings */
    VQ_KEY_KIND_TEXTS,    /* a list of texts */
};

struct vq_key {
    const char *key;
    enum vq_key_kind kind;
    const char *by_default; /* NULL: not set */
    const char *choices;    /* texts and enums: the words allowed, "a|b"; NULL: any text */
    int64_t int_min;
    uint64_t uint_min;
    uint64_t int_max; /* of both integer kinds */
    double real_min;
    double real_max;
    const struct vq_key *keys; /* of a section; ends with a NULL key */
    /* a section given as one scalar is this key of it; NULL: it may not be */
    const char *scalar_key;
    uint32_t items_max; /* of lists */
    /* a section that, not given, stays absent (a NULL pointer) instead of getting its defaults */
    bool optional;
    const char *meaning;
    size_t offset;       /* of its member in the struct of the map that it is a key of */
    size_t bytes;        /* of that member */
    size_t item_bytes;   /* of a list, and of an optional section: one struct or text */
    size_t count_offset; /* of a list: where the number of items is */
    bool in_place;       /* a list whose member is an array, not a pointer to one */
};

/* The top level; ends with a NULL key. */
const struct vq_key *vq_conf_keys(void);

/* A key of a section by its name, or NULL. */
const struct vq_key *vq_conf_find_key(const struct vq_key *keys, const char *name);
