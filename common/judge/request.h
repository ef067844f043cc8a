/* Makes the messages of one call and its request hash from (judge, template, vibe, sample, order,
 * repeat). Pure; coordinator and worker use the same library, so they compute the same hashes. */
#pragma once

#include "common/base/hash.h"
#include "common/judge/stage.h"

#define VQ_TEMPLATE_BYTES_MAX (64u << 10)
#define VQ_SAMPLE_BYTES_MAX   (4u << 20) /* prompt + output A + output B */
/* the first bytes of a sample's id, with which its request hashes begin */
#define VQ_REQUEST_PREFIX_BYTES 8
#define VQ_RENDER_BYTES_MAX     (VQ_SAMPLE_BYTES_MAX + 2 * VQ_TEMPLATE_BYTES_MAX) /* one message */
/* Providers count an image as some hundred to some thousand tokens, whatever its size in bytes.
 * Until answers have shown the number, an estimate counts an image as text of this length: about
 * 1,600 tokens. */
#define VQ_IMAGE_TEXT_BYTES 6400u

/* A template: a system and a user text with {{placeholders}}. Built from a file, see template.h. */
struct vq_template;

/* Everything that a judge's answer depends on, except the question. Borrowed strings. */
struct vq_judge {
    const char *name;
    const char *model;
    const char *dialect;
    const char *identity; /* host and path, or a name; never a key, never a local port */
    double temperature;
    bool send_temperature;
    uint32_t max_tokens;
    const char *max_tokens_field;
    int64_t seed; /* -1: not sent */
    bool truncate;
    enum vq_system_role system_role;
    bool structured;          /* a schema in the request makes the verdict JSON */
    bool logprobs;            /* the log-probabilities of the verdict's tokens are requested */
    const char *answer_field; /* of the message: read if `content` is empty; NULL or "": none */
};

struct vq_axis {
    const char *name;
    const char *low;
    const char *high;
};

/* One prompt with the outputs of model A and model B, as in the data. */
struct vq_sample {
    struct vq_span prompt;
    struct vq_span a;
    struct vq_span b;
    struct vq_span image; /* shown with the texts: a data: URI, or a URL; empty: none */
};

/* The bytes that an estimate of tokens counts for the sample's image. */
static inline size_t vq_sample_image_bytes(const struct vq_sample *sample)
{
    return sample->image.bytes > 0 ? VQ_IMAGE_TEXT_BYTES : 0;
}

/* The identity of a sample, independent of which model is A: `id` is equal for (prompt, a, b) and
 * (prompt, b, a), so a run with swapped models asks the same questions. `flipped`: b sorts before
 * a. */
struct vq_sample_id {
    struct vq_hash id;
    bool flipped;
};
void vq_sample_identify(const struct vq_sample *sample, struct vq_sample_id *ret_id);

/* Order 0 shows A's text as "Output A", order 1 shows B's. Two draws depend on a hash, not on the
 * run's seed: which order of a (sample, judge) is asked first, and whether the second order of a
 * settled (sample, vibe, judge) is asked anyway (`share` in [0, 1]). If the models are swapped,
 * both draws are the same for the flipped sample. Of the judge, only identity and model enter the
 * hash: a new name or temperature does not change the draws. */
unsigned vq_first_order(const struct vq_sample_id *sample, const struct vq_judge *judge);
bool vq_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                const struct vq_judge *judge, double share);
/* Drawn the same way, and independent of the audit: whether a cell is asked again after the ranking
 * is done. */
bool vq_retested(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                 const struct vq_judge *judge, double share);

/* Drawn the same way, and independent of both: whether the second judge of a cascade answers this
 * cell whatever the first judge's answer is. */
bool vq_cascade_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                        const struct vq_judge *judge, double share);

/* A judge with a template: the part of the request hash that all its calls share. Borrows judge and
 * templates, which must outlive it. `repair` may be NULL (repair off). */
struct vq_asker {
    const struct vq_judge *judge;
    const struct vq_template *ranker;
    const struct vq_template *repair;
    struct vq_hash base;        /* of identity, dialect, model, parameters, ranker template */
    struct vq_hash repair_base; /* of the same with the repair template */
};
void vq_asker_init(struct vq_asker *asker, const struct vq_judge *judge,
                   const struct vq_template *ranker, const struct vq_template *repair);

/* The request hash of a ranker call. Its first VQ_REQUEST_PREFIX_BYTES are those of the sample's
 * id, so that a sample's records are neighbours in the store. `repeat` is 0 for the first asking, k
 * for the k-th repeat. */
void vq_request_hash(const struct vq_asker *asker, const struct vq_sample_id *sample,
                     const struct vq_axis *vibe, unsigned order, uint32_t repeat,
                     struct vq_hash *ret_hash);
/* The hash of the call that repairs `answer`, the raw answer to the request `of`. It has the same
 * first bytes. */
void vq_repair_hash(const struct vq_asker *asker, const struct vq_hash *of, struct vq_span answer,
                    struct vq_hash *ret_hash);

/* Renders the two messages of a call. `system` may be empty. With `judge->truncate` and
 * `output_bytes_max` > 0, each output is cut to that size at a UTF-8 boundary (the same for both,
 * so that neither is favoured); else `output_bytes_max` is ignored. VQ_LIMIT above a buffer's limit
 * (VQ_RENDER_BYTES_MAX is always enough for templates that use each placeholder once), VQ_NOMEM.
 * Buffers are cleared first. */
enum vq_status vq_request_render(const struct vq_asker *asker, const struct vq_sample *sample,
                                 const struct vq_axis *vibe, unsigned order,
                                 size_t output_bytes_max, struct vq_buf *system,
                                 struct vq_buf *user) VQ_WARN_UNUSED;
/* The number of bytes at the front of the rendered user message that are the same for every vibe of
 * this sample and order; 0: none, or the system message differs. For providers whose cache needs a
 * mark. */
size_t vq_request_shared_bytes(const struct vq_asker *asker, const struct vq_sample *sample,
                               unsigned order, size_t output_bytes_max);
enum vq_status vq_repair_render(const struct vq_asker *asker, struct vq_span answer,
                                struct vq_buf *system, struct vq_buf *user) VQ_WARN_UNUSED;
