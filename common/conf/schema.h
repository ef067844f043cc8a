/* The keys of a configuration: what each is, its default and its bounds. Private to common/conf and its tests; the
 * libcyaml schema behind it is in schema.c. */
#ifndef VQ_CONF_SCHEMA_H
#define VQ_CONF_SCHEMA_H

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
    const char
        *scalar_key;    /* a section given as one scalar is this key of it; NULL: it may not be */
    uint32_t items_max; /* of lists */
    bool optional; /* a section that, not given, stays absent instead of getting its defaults */
    const char *meaning;
};

/* The top level; ends with a NULL key. */
const struct vq_key *vq_conf_keys(void);

/* A key of a section by its name, or NULL. */
const struct vq_key *vq_conf_find_key(const struct vq_key *keys, const char *name);

/* libcyaml's schema (const cyaml_schema_value_t *) of the same keys in the same order. */
const void *vq_conf_cyaml_schema(void);

#endif
