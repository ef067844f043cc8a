/* Which fault a request meets: a list of rules, from a script or from single options. Pure but for
 * reading the script file; time and the request's hash are arguments. The first rule that fires
 * wins. */
#pragma once

#include "common/base/hash.h"

enum vq_fault {
    VQ_FAULT_NONE,
#define FAULT(id, name, stage, status, paid, type, code, text) VQ_FAULT_##id,
#include "offline/faults/fault.def"
#undef FAULT
    VQ_FAULT__COUNT
};

enum vq_fault_stage {
    VQ_FAULT_STAGE_NONE,
    VQ_FAULT_STAGE_ERROR,
    VQ_FAULT_STAGE_LATE,
    VQ_FAULT_STAGE_WIRE,
    VQ_FAULT_STAGE_TEXT,
};

struct vq_fault_info {
    const char *name; /* "none" for VQ_FAULT_NONE */
    enum vq_fault_stage stage;
    unsigned status;
    bool paid;
    const char *type;
    const char *code;
    const char *text;
};

const struct vq_fault_info *vq_fault_info(enum vq_fault fault);
enum vq_status vq_fault_find(const char *name, enum vq_fault *ret_fault) VQ_WARN_UNUSED;

#define VQ_FAULT_TEXT_BYTES 96

struct vq_fault_rule {
    enum vq_fault fault;
    /* Which requests it looks at; empty or 0 means any. */
    char model[VQ_FAULT_TEXT_BYTES];
    char pool[VQ_FAULT_TEXT_BYTES];     /* name, see pools.h */
    char key[VQ_FAULT_TEXT_BYTES];      /* fingerprint in hex */
    char contains[VQ_FAULT_TEXT_BYTES]; /* bytes of the body, as sent */
    /* Bytes of "METHOD PATH", of calls for files and batches; a rule without it looks at calls for
     * answers only, and one with it never does. */
    char batch_call[VQ_FAULT_TEXT_BYTES];
    int64_t after_ms; /* since the start of the server */
    int64_t until_ms;
    /* Which of those it spoils. Counts begin at 1 and count the requests the rule looks at. */
    double p;
    uint64_t nth;
    uint64_t from;
    uint64_t to;
    uint64_t every;
    uint64_t tries; /* only the first `tries` times that the same body comes */
    uint64_t count; /* at most `count` times in all */
    bool sticky;    /* the chance is drawn once for a body, not for each time it comes */
    /* How. */
    char retry_after[VQ_FAULT_TEXT_BYTES]; /* see docs/use/offline.md; "" = the fault's own habit */
    char variant[VQ_FAULT_TEXT_BYTES];
    uint64_t bytes;
    int64_t interval_ms;
    int64_t delay_ms;
    /* Progress. */
    uint64_t seen;
    uint64_t fired;
};

struct vq_fault_rules {
    uint64_t seed;
    struct vq_fault_rule *rules; /* owned */
    size_t n;
    size_t cap;
};

void vq_fault_rules_free(struct vq_fault_rules *rules);

/* A script: one JSON object a line, the fields of vq_fault_rule; empty lines and lines that begin
 * with # are skipped. Errors name file, line and field. */
enum vq_status vq_fault_rules_load(struct vq_fault_rules *rules, const char *path,
                                   struct vq_error *err) VQ_WARN_UNUSED;
/* "NAME=P" or "NAME=P,field=value,...": the same from the command line. */
enum vq_status vq_fault_rules_add(struct vq_fault_rules *rules, const char *option,
                                  struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_fault_rules_add_line(struct vq_fault_rules *rules, struct vq_span line,
                                       struct vq_error *err) VQ_WARN_UNUSED;

struct vq_fault_query {
    const char *model;      /* "" when unknown */
    const char *pool;       /* "" for the one of all other calls */
    const char *key_hex;    /* "" when no key was sent */
    const char *batch_call; /* "METHOD PATH"; NULL: a call for an answer */
    struct vq_span body;
    bool flex;                  /* it asks for the tier flex */
    const struct vq_hash *hash; /* of the body */
    uint64_t nth_try;           /* 1 for the first time that this body comes */
    int64_t since_start_ms;
};

/* The rule that fires, or NULL. Counts in every rule it looks at. The same seed, bodies and tries
 * meet the same chances, in whatever order they come. */
const struct vq_fault_rule *vq_fault_rules_match(struct vq_fault_rules *rules,
                                                 const struct vq_fault_query *query);

/* Draw in [0, 1) for a purpose: a function of its arguments alone. */
double vq_fault_draw(uint64_t seed, const char *purpose, uint64_t a, const struct vq_hash *hash,
                     uint64_t b);
