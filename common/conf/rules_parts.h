/* Shared by the files rules*.c; private to them. */
#pragma once

#include "common/conf/config.h"
#include "common/conf/yaml_tree.h"

#define VQ_RULES_PATH_BYTES 128

struct vq_rules {
    const struct vq_config *config;
    const struct vq_node *root;
    const char *name;
    struct vq_error *err;
};

/* Returns VQ_INVALID; the error has the place of `path` in the file and the message. */
enum vq_status vq_rules_broken(const struct vq_rules *r, const char *path, const char *fmt, ...)
    VQ_PRINTF(3, 4);
/* The same for the path PLACE.KEY: "judges[2]" and "key" give "judges[2].key". */
enum vq_status vq_rules_broken_at(const struct vq_rules *r, const char *place, const char *key,
                                  const char *fmt, ...) VQ_PRINTF(4, 5);
/* A key that must not be set beside another setting, and the reason. */
struct vq_refused_key {
    bool set;
    const char *path, *why;
};
/* The first key that is set; NULL: none. */
const struct vq_refused_key *vq_rules_first_set(const struct vq_refused_key *keys, size_t count);
/* VQ_INVALID: a key is set that has no effect with this method; the error names the first one. */
enum vq_status vq_rules_silent(const struct vq_rules *r, const char *method,
                               const struct vq_refused_key *keys, size_t count) VQ_WARN_UNUSED;
bool vq_rules_is_blank(const char *text);
/* Whether the text can be a name: not blank, no control characters, at most VQ_NAME_BYTES_MAX. */
bool vq_rules_is_name(const char *text);

/* rules_models.c: accounts and models. */
enum vq_status vq_rules_models(const struct vq_rules *r) VQ_WARN_UNUSED;
/* rules_rating.c: method judge, and the criteria of both methods that have criteria. */
enum vq_status vq_rules_rating(const struct vq_rules *r) VQ_WARN_UNUSED;

/* rules_tiers.c: the service tier of a pool. */
enum vq_status vq_rules_tier(const struct vq_rules *r, const struct vq_conf_limits *l,
                             const char *dialect, const char *place) VQ_WARN_UNUSED;

/* rules_batches.c: the batch of a pool, and the models that need an interactive pool. */
enum vq_status vq_rules_batch(const struct vq_rules *r, const struct vq_conf_pool_model *m,
                              const char *dialect, const char *place) VQ_WARN_UNUSED;
enum vq_status vq_rules_interactive(const struct vq_rules *r) VQ_WARN_UNUSED;

/* rules_persona.c: method: persona. */
enum vq_status vq_rules_persona(const struct vq_rules *r) VQ_WARN_UNUSED;

/* rules_cascade.c: cascades. */
enum vq_status vq_rules_cascade(const struct vq_rules *r) VQ_WARN_UNUSED;

/* rules_pairs.c: more than two models. */
enum vq_status vq_rules_pairs(const struct vq_rules *r) VQ_WARN_UNUSED;
