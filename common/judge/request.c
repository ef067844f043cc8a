/* Makes request hashes and messages from a question.
 *
 * A hash is made in three steps, each over the digest of the previous step: asker (identity,
 * dialect, model, parameters, template), sample, question (vibe, order, repeat). Calls share the
 * digests of the first two steps, so one more hash costs two or three BLAKE2b blocks. A swap of the
 * models does not change a hash: a sample's id is independent of it, and the order in the hash is
 * relative to the id (0: the output that sorts first is shown first). Not its job: HTTP, JSON, the
 * choice of calls. */
#include "common/judge/request.h"

#include "common/judge/template.h"
#include "common/text/utf8.h"

static int span_cmp(struct vq_span a, struct vq_span b)
{
    size_t common = a.bytes < b.bytes ? a.bytes : b.bytes;
    int cmp = common == 0 ? 0 : memcmp(a.at, b.at, common);
    if (cmp != 0) {
        return cmp;
    }
    return a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static void hash_str(struct vq_hasher *h, const char *text)
{
    vq_hasher_field(h, vq_span_str(text));
}

void vq_sample_identify(const struct vq_sample *sample, struct vq_sample_id *ret_id)
{
    bool flipped = span_cmp(sample->b, sample->a) < 0;
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.sample");
    vq_hasher_field(&h, sample->prompt);
    vq_hasher_field(&h, flipped ? sample->b : sample->a);
    vq_hasher_field(&h, flipped ? sample->a : sample->b);
    if (sample->image.bytes > 0) {
        hash_str(&h, "image-1");
        vq_hasher_field(&h, sample->image);
    }
    vq_hasher_final(&h, &ret_id->id);
    ret_id->flipped = flipped;
}

static void hash_axis(struct vq_hasher *h, const struct vq_axis *vibe)
{
    hash_str(h, vibe->name);
    hash_str(h, vibe->low);
    hash_str(h, vibe->high);
}

/* Begins a draw: of the judge, it uses only identity and model, not the parameters. */
static void draw_begin(struct vq_hasher *h, const char *domain, const struct vq_sample_id *sample,
                       const struct vq_judge *judge)
{
    vq_hasher_init(h, domain);
    vq_hasher_bytes(h, sample->id.b, VQ_HASH_BYTES);
    hash_str(h, judge->identity);
    hash_str(h, judge->model);
}

unsigned vq_first_order(const struct vq_sample_id *sample, const struct vq_judge *judge)
{
    struct vq_hasher h;
    struct vq_hash draw;
    draw_begin(&h, "vq.first-order", sample, judge);
    vq_hasher_final(&h, &draw);
    return (draw.b[0] & 1u) ^ (sample->flipped ? 1u : 0u);
}

static bool drawn(const char *domain, const struct vq_sample_id *sample, const struct vq_axis *vibe,
                  const struct vq_judge *judge, double share)
{
    struct vq_hasher h;
    struct vq_hash draw;
    draw_begin(&h, domain, sample, judge);
    hash_axis(&h, vibe);
    vq_hasher_final(&h, &draw);
    double unit = (double)(vq_hash_u64(&draw) >> 11) * 0x1p-53; /* in [0, 1) */
    return unit < share;
}

bool vq_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                const struct vq_judge *judge, double share)
{
    return drawn("vq.audit", sample, vibe, judge, share);
}

bool vq_retested(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                 const struct vq_judge *judge, double share)
{
    return drawn("vq.retest", sample, vibe, judge, share);
}

bool vq_cascade_audited(const struct vq_sample_id *sample, const struct vq_axis *vibe,
                        const struct vq_judge *judge, double share)
{
    return drawn("vq.cascade", sample, vibe, judge, share);
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    double canonical = value == 0.0 ? 0.0 : value; /* -0 is 0 */
    memcpy(&bits, &canonical, sizeof(bits));
    return bits;
}

/* Hashes everything in a request that is the same for all calls of a judge with this template. */
static void hash_base(const struct vq_judge *judge, const struct vq_template *template,
                      struct vq_hash *ret_hash)
{
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.asker");
    hash_str(&h, judge->identity);
    hash_str(&h, judge->dialect);
    hash_str(&h, judge->model);
    vq_hasher_u64(&h, judge->send_temperature ? 1 : 0);
    vq_hasher_u64(&h, judge->send_temperature ? double_bits(judge->temperature) : 0);
    vq_hasher_u64(&h, judge->max_tokens);
    hash_str(&h, judge->max_tokens_field);
    vq_hasher_u64(&h, judge->seed >= 0 ? 1 : 0);
    vq_hasher_u64(&h, judge->seed >= 0 ? (uint64_t)judge->seed : 0);
    vq_hasher_u64(&h, judge->truncate ? 1 : 0);
    vq_hasher_bytes(&h, vq_template_hash(template)->b, VQ_HASH_BYTES);
    if (judge->structured) { /* only hashed if set, so that older hashes stay valid */
        hash_str(&h, "structured-1");
    }
    if (judge->logprobs) {
        hash_str(&h, "logprobs-1");
    }
    if (judge->system_role == VQ_SYSTEM_ROLE_DEVELOPER) {
        hash_str(&h, "developer-1");
    }
    if (judge->system_role == VQ_SYSTEM_ROLE_NONE) {
        hash_str(&h, "no-system-1");
    }
    if (judge->answer_field != NULL && judge->answer_field[0] != '\0') {
        hash_str(&h, "answer-field-1");
        hash_str(&h, judge->answer_field);
    }
    vq_hasher_final(&h, ret_hash);
}

void vq_asker_init(struct vq_asker *asker, const struct vq_judge *judge,
                   const struct vq_template *ranker, const struct vq_template *repair)
{
    *asker = (struct vq_asker){.judge = judge, .ranker = ranker, .repair = repair};
    hash_base(judge, ranker, &asker->base);
    if (repair != NULL) {
        hash_base(judge, repair, &asker->repair_base);
    }
}

void vq_request_hash(const struct vq_asker *asker, const struct vq_sample_id *sample,
                     const struct vq_axis *vibe, unsigned order, uint32_t repeat,
                     struct vq_hash *ret_hash)
{
    VQ_ASSERT(order < 2);
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.request");
    vq_hasher_bytes(&h, asker->base.b, VQ_HASH_BYTES);
    vq_hasher_bytes(&h, sample->id.b, VQ_HASH_BYTES);
    vq_hasher_u64(&h, order ^ (sample->flipped ? 1u : 0u));
    vq_hasher_u64(&h, repeat);
    hash_axis(&h, vibe);
    vq_hasher_final(&h, ret_hash);
    memcpy(ret_hash->b, sample->id.b, VQ_REQUEST_PREFIX_BYTES);
}

void vq_repair_hash(const struct vq_asker *asker, const struct vq_hash *of, struct vq_span answer,
                    struct vq_hash *ret_hash)
{
    VQ_ASSERT(asker->repair != NULL);
    struct vq_hash hash;
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.repair");
    vq_hasher_bytes(&h, asker->repair_base.b, VQ_HASH_BYTES);
    vq_hasher_bytes(&h, of->b, VQ_HASH_BYTES);
    vq_hasher_field(&h, answer);
    vq_hasher_final(&h, &hash);
    memcpy(hash.b, of->b, VQ_REQUEST_PREFIX_BYTES);
    *ret_hash = hash;
}

static enum vq_status render_parts(const struct vq_template *template,
                                   const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                                   struct vq_buf *system, struct vq_buf *user)
{
    vq_buf_clear(system);
    vq_buf_clear(user);
    VQ_TRY(vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, system));
    return vq_template_render(template, VQ_TEMPLATE_USER, values, user);
}

/* Sets all values of the template, except those of the vibe. */
static void fill_sample(const struct vq_asker *asker, const struct vq_sample *sample,
                        unsigned order, size_t output_bytes_max,
                        struct vq_span values[VQ_PLACEHOLDER__COUNT])
{
    VQ_ASSERT(order < 2);
    struct vq_span first = order == 0 ? sample->a : sample->b;
    struct vq_span second = order == 0 ? sample->b : sample->a;
    if (asker->judge->truncate && output_bytes_max > 0) {
        first = vq_utf8_cut(first, output_bytes_max);
        second = vq_utf8_cut(second, output_bytes_max);
    }
    values[VQ_PLACEHOLDER_PROMPT] = sample->prompt;
    values[VQ_PLACEHOLDER_OUTPUT_A] = first;
    values[VQ_PLACEHOLDER_OUTPUT_B] = second;
    values[VQ_PLACEHOLDER_IMAGE] = vq_template_image_words(sample->image.bytes > 0);
}

enum vq_status vq_request_render(const struct vq_asker *asker, const struct vq_sample *sample,
                                 const struct vq_axis *vibe, unsigned order,
                                 size_t output_bytes_max, struct vq_buf *system,
                                 struct vq_buf *user)
{
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_VIBE_NAME] = vq_span_str(vibe->name),
        [VQ_PLACEHOLDER_VIBE_LOW] = vq_span_str(vibe->low),
        [VQ_PLACEHOLDER_VIBE_HIGH] = vq_span_str(vibe->high),
        [VQ_PLACEHOLDER_CRITERION] = vq_span_str(vibe->name),
        [VQ_PLACEHOLDER_RUBRIC] = vq_span_str(vibe->low),
    };
    fill_sample(asker, sample, order, output_bytes_max, values);
    return render_parts(asker->ranker, values, system, user);
}

size_t vq_request_shared_bytes(const struct vq_asker *asker, const struct vq_sample *sample,
                               unsigned order, size_t output_bytes_max)
{
    static const unsigned vibe = 1u << VQ_PLACEHOLDER_VIBE_NAME | 1u << VQ_PLACEHOLDER_VIBE_LOW |
                                 1u << VQ_PLACEHOLDER_VIBE_HIGH | 1u << VQ_PLACEHOLDER_CRITERION |
                                 1u << VQ_PLACEHOLDER_RUBRIC;
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {{NULL, 0}};
    fill_sample(asker, sample, order, output_bytes_max, values);
    return vq_template_fixed_bytes(asker->ranker, vibe, values);
}

enum vq_status vq_repair_render(const struct vq_asker *asker, struct vq_span answer,
                                struct vq_buf *system, struct vq_buf *user)
{
    VQ_ASSERT(asker->repair != NULL);
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_ANSWER] = answer,
    };
    return render_parts(asker->repair, values, system, user);
}
