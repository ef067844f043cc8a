/* Files of personas, and human ratings of their Big Five traits. */
#pragma once

#include "common/base/buf.h"

#define VQ_PERSONAS_MAX                  256u
#define VQ_PERSONA_DESCRIPTION_BYTES_MAX (64u << 10)

/* The Big Five, always in this order: openness, conscientiousness, extraversion, agreeableness,
 * neuroticism. */
#define VQ_BIG_FIVE 5u
/* Finds a trait by its name, in any case. */
bool vq_big_five_find(struct vq_span name, uint32_t *ret_trait);

/* Owned, NUL-terminated. */
struct vq_conf_persona {
    char *name;        /* one line */
    char *description; /* never empty */
    bool labelled;
    double big_five[VQ_BIG_FIVE]; /* 1 to 5 */
};

struct vq_personas_file {
    struct vq_conf_persona *personas;
    uint32_t count;
    bool baseline; /* the file has an entry without a description: the baseline without a persona */
};

/* YAML, or JSON: a list of maps of name, description and, if it is known, big_five (a map of the
 * five traits, 1 to 5); or a map from name to description, or to such a map without the name. Both
 * may be under the key `personas`. VQ_INVALID with NAME, line and column; VQ_LIMIT; VQ_NOMEM. The
 * caller frees *ret_file. */
enum vq_status vq_personas_file_parse(struct vq_span text, const char *name,
                                      struct vq_personas_file *ret_file,
                                      struct vq_error *err) VQ_WARN_UNUSED;
void vq_personas_file_free(struct vq_personas_file *file);

/* Reads labels from a separate file: a map from persona to the five traits, or to sets of such
 * maps. `set` names the set to use (NULL: there is only one). Personas that `file` does not have
 * are ignored. VQ_INVALID, VQ_NOMEM as above; VQ_NOT_FOUND: it has no persona of `file`. *file is
 * untouched on failure. */
enum vq_status vq_personas_file_label(struct vq_span text, const char *name, const char *set,
                                      struct vq_personas_file *file,
                                      struct vq_error *err) VQ_WARN_UNUSED;
