/* Which fault a request gets: a list of rules, from a script or from single options. Pure, except
 * that it reads the script file; time and the request's hash are arguments. The first rule that
 * fires decides. */
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
    /* The requests that the rule applies to; empty or 0: any. */
    char model[VQ_FAULT_TEXT_BYTES];
    char pool[VQ_FAULT_TEXT_BYTES];     /* name, see pools.h */
    char key[VQ_FAULT_TEXT_BYTES];      /* fingerprint in hex */
    char contains[VQ_FAULT_TEXT_BYTES]; /* bytes of the body, as sent */
    /* Bytes of "METHOD PATH" of a call for files or batches. A rule without it applies only to
     * calls for answers; a rule with it never applies to them. */
    char batch_call[VQ_FAULT_TEXT_BYTES];
    int64_t after_ms; /* since the start of the server */
    int64_t until_ms;
    /* Which of these requests it spoils. Counts start at 1 and count the requests that the rule
     * applies to. */
    double p;
    uint64_t nth;
    uint64_t from;
    uint64_t to;
    uint64_t every;
    uint64_t tries; /* only the first `tries` requests with the same body */
    uint64_t count; /* at most `count` faults in all */
    bool sticky;    /* the chance is drawn once per body, not for each repetition */
    /* How it spoils them. */
    char retry_after[VQ_FAULT_TEXT_BYTES]; /* see docs/use/offline.md; "": the fault's default */
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

/* A script: one JSON object per line with the fields of vq_fault_rule; empty lines and lines that
 * begin with # are skipped. Errors name file, line and field. */
enum vq_status vq_fault_rules_load(struct vq_fault_rules *rules, const char *path,
                                   struct vq_error *err) VQ_WARN_UNUSED;
/* "NAME=P" or "NAME=P,field=value,...": the same from the command line. */
enum vq_status vq_fault_rules_add(struct vq_fault_rules *rules, const char *option,
                                  struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_fault_rules_add_line(struct vq_fault_rules *rules, struct vq_span line,
                                       struct vq_error *err) VQ_WARN_UNUSED;

struct vq_fault_query {
    const char *model;      /* "": unknown */
    const char *pool;       /* "": the pool of all other calls */
    const char *key_hex;    /* "": no key was sent */
    const char *batch_call; /* "METHOD PATH"; NULL: a call for an answer */
    struct vq_span body;
    bool flex;                  /* it requests the tier flex */
    const struct vq_hash *hash; /* of the body */
    uint64_t nth_try;           /* 1: this body came for the first time */
    int64_t since_start_ms;
};

/* The rule that fires; NULL: none. Every rule that applies counts the request. The same seed,
 * bodies and tries give the same draws, in any order of the requests. */
const struct vq_fault_rule *vq_fault_rules_match(struct vq_fault_rules *rules,
                                                 const struct vq_fault_query *query);

/* A draw in [0, 1) for a purpose: a function of its arguments alone. */
double vq_fault_draw(uint64_t seed, const char *purpose, uint64_t a, const struct vq_hash *hash,
                     uint64_t b);
