/* From (judge, template, vibe, sample, order, repeat) to the messages of one call and its request
 * hash. Pure; the same library on both sides, so that coordinator and worker agree on every
 * hash. */
#pragma once

#include "common/base/hash.h"
#include "common/judge/stage.h"

#define VQ_TEMPLATE_BYTES_MAX   (64u << 10)
#define VQ_SAMPLE_BYTES_MAX     (4u << 20) /* prompt + output A + output B */
#define VQ_REQUEST_PREFIX_BYTES 8 /* of the sample's id, at the front of its requests' hashes */
#define VQ_RENDER_BYTES_MAX     (VQ_SAMPLE_BYTES_MAX + 2 * VQ_TEMPLATE_BYTES_MAX) /* one message */
/* Providers count an image as some hundred to some thousand tokens, whatever bytes it has. Until
 * the answers have shown how many, an image is taken for text of this length: about 1,600
 * tokens. */
#define VQ_IMAGE_TEXT_BYTES 6400u

/* A template: a system and a user text with {{placeholders}}. Built from a file, see template.h. */
struct vq_template;

/* All a judge's answer depends on, besides what it is asked. Borrowed strings. */
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
    bool structured;          /* verdicts are asked for as JSON by a schema */
    bool logprobs;            /* the log-probabilities of a verdict's tokens are asked for */
    const char *answer_field; /* of the message: read where `content` is empty; NULL or "": none */
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
    struct vq_span image; /* judged with the texts: a data: URI, or a URL; empty: none */
};

/* What an estimate of tokens takes the sample's image for. */
static inline size_t vq_sample_image_bytes(const struct vq_sample *sample)
{
    return sample->image.bytes > 0 ? VQ_IMAGE_TEXT_BYTES : 0;
}

/* A sample seen without regard to which model is A: `id` is equal for (prompt, a, b) and (prompt,
 * b, a), so that a run with the models swapped asks the same questions. `flipped` is true when b
 * sorts before a. */
struct vq_sample_id {
    struct vq_hash id;
    bool flipped;
};
void vq_sample_identify(const struct vq_sample *sample, struct vq_sample_id *ret_id);

/* order 0 shows A's text as "Output A", order 1 shows B's. Decided by hash, not by the run's seed:
 * which order is asked first of a (sample, judge), and whether a settled (sample, vibe, judge) is
 * swapped all the same (`share` in [0, 1]). Both are the same, seen through the flip, when the
 * models are swapped. A judge enters by identity and model only: a new name or temperature draws
 * the same. */
unsigned vq_first_order(const struct vq_sample_id *sample, const struct vq_judge *judge);
bool vq_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                const struct vq_judge *judge, double share);
/* Drawn the same way, and independent of the audit: whether a cell is asked a second time when the
 * ranking is done. */
bool vq_retested(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                 const struct vq_judge *judge, double share);

/* Drawn the same way, and independent of both: whether the second judge of a cascade is asked this
 * cell whatever the first one says. */
bool vq_cascade_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                        const struct vq_judge *judge, double share);

/* What one judge is asked with one template: the part of the hash that is shared by all its calls.
 * Borrows judge and templates, which must outlive it. `repair` may be NULL (repair off). */
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
 * id, so that a sample's records are neighbours in the store. `repeat` is 0, or the number of the
 * asking again. */
void vq_request_hash(const struct vq_asker *asker, const struct vq_sample_id *sample,
                     const struct vq_axis *vibe, unsigned order, uint32_t repeat,
                     struct vq_hash *ret_hash);
/* The hash of the call that repairs `answer`, the raw text that the request `of` got. The same
 * first bytes. */
void vq_repair_hash(const struct vq_asker *asker, const struct vq_hash *of, struct vq_span answer,
                    struct vq_hash *ret_hash);

/* The two messages of a call, rendered. `system` may come out empty. With `judge->truncate`,
 * `output_bytes_max` > 0 is the most that either output keeps, cut at a UTF-8 boundary (the same
 * for both, so that neither is favoured); else it is ignored. VQ_LIMIT above a buffer's limit
 * (VQ_RENDER_BYTES_MAX is always enough for templates that use each placeholder once), VQ_NOMEM.
 * Buffers are cleared first. */
enum vq_status vq_request_render(const struct vq_asker *asker, const struct vq_sample *sample,
                                 const struct vq_axis *vibe, unsigned order,
                                 size_t output_bytes_max, struct vq_buf *system,
                                 struct vq_buf *user) VQ_WARN_UNUSED;
/* How many bytes at the front of the rendered user message are the same for every vibe of this
 * sample and order, after a system message that is the same too; 0: none. For providers that need a
 * mark for their cache. */
size_t vq_request_shared_bytes(const struct vq_asker *asker, const struct vq_sample *sample,
                               unsigned order, size_t output_bytes_max);
enum vq_status vq_repair_render(const struct vq_asker *asker, struct vq_span answer,
                                struct vq_buf *system, struct vq_buf *user) VQ_WARN_UNUSED;
