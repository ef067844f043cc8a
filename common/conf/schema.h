/* The keys of a configuration: the kind of each key, its place in the struct, its default and its
 * bounds. Private to common/conf and its tests. */
#pragma once

#include "common/base/status.h"

enum vq_key_kind {
    VQ_KEY_KIND_TEXT,
    VQ_KEY_KIND_UINT,
    VQ_KEY_KIND_INT,
    VQ_KEY_KIND_REAL,
    VQ_KEY_KIND_BOOL,
    VQ_KEY_KIND_ENUM,
    VQ_KEY_KIND_SECTION,  /* a mapping with its own keys */
    VQ_KEY_KIND_SECTIONS, /* a list of such mappings */
    VQ_KEY_KIND_TEXTS,    /* a list of texts */
};

struct vq_key {
    const char *key;
    enum vq_key_kind kind;
    const char *by_default; /* NULL: not set */
    const char *choices;    /* of texts and enums: the allowed words, "a|b"; NULL: any text */
    int64_t int_min;
    uint64_t uint_min;
    uint64_t int_max; /* of both integer kinds */
    double real_min;
    double real_max;
    const struct vq_key *keys; /* of a section; ends with a NULL key */
    /* a section: if it is given as one scalar, this key gets the value; NULL: not allowed */
    const char *scalar_key;
    uint32_t items_max; /* of lists */
    /* a section: if it is not given, its pointer is NULL, and its keys get no defaults */
    bool optional;
    const char *meaning;
    size_t offset;       /* of its member in the struct of its section */
    size_t bytes;        /* of that member */
    size_t item_bytes;   /* of a list or an optional section: bytes of one struct or text */
    size_t count_offset; /* of a list: offset of the number of items */
    bool in_place;       /* of a list: the member is an array, not a pointer */
};

/* The keys of the top level; the last entry has a NULL key. */
const struct vq_key *vq_conf_keys(void);

/* A key of a section by its name, or NULL. */
const struct vq_key *vq_conf_find_key(const struct vq_key *keys, const char *name);
