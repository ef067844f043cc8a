/* The list of pairs. All pairs, and pairs with a baseline, are in the order of the models. The
 * incomplete design uses the circle method of round robin tournaments on the models, in an order
 * drawn from the seed: one model keeps its place, and the others move by one place per round. For
 * an odd number of models, an empty place is added. Not its job: rows and their texts. */
#include "methods/data/pairs.h"

#include "common/base/hash.h"
#include "common/base/rng.h"

#include <math.h>
#include <string.h>

static void add(struct vq_pairs *p, uint32_t one, uint32_t other)
{
    VQ_ASSERT(p->count < VQ_PAIRS_MAX && one != other);
    p->pair[p->count++] = (struct vq_pair){.a = (uint8_t)(one < other ? one : other),
                                           .b = (uint8_t)(one < other ? other : one)};
}

static void round_robin(struct vq_pairs *p, uint64_t seed)
{
    uint32_t places = p->models + p->models % 2, at[VQ_MODELS_MAX + 1];
    struct vq_hasher hasher;
    struct vq_hash hash;
    struct vq_rng rng;
    vq_hasher_init(&hasher, "vq-pairs");
    vq_hasher_u64(&hasher, seed);
    vq_hasher_final(&hasher, &hash);
    vq_rng_seed(&rng, vq_hash_u64(&hash));
    for (uint32_t i = 0; i < places; i++) {
        at[i] = i; /* for an odd number of models, the last is the empty place */
    }
    vq_rng_shuffle_u32(&rng, at, places);
    for (uint32_t round = 0; round + 1 < places; round++) {
        for (uint32_t i = 0; i < places / 2; i++) {
            uint32_t one = at[i], other = at[places - 1 - i];
            if (one < p->models && other < p->models) {
                add(p, one, other);
            }
        }
        uint32_t last = at[places - 1];
        memmove(at + 2, at + 1, (places - 2) * sizeof(*at));
        at[1] = last;
    }
}

static void every_pair(struct vq_pairs *p, uint32_t baseline)
{
    for (uint32_t i = 0; i < p->models; i++) {
        for (uint32_t j = i + 1; j < p->models; j++) {
            if (baseline >= p->models || i == baseline || j == baseline) {
                add(p, i, j);
            }
        }
    }
}

static uint32_t number_of(const char *const *models, uint32_t count, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(models[i], name) != 0) {
        i++;
    }
    return i;
}

static enum vq_status incomplete(const struct vq_conf_pairs *conf, uint32_t records,
                                 uint64_t calls_each, struct vq_pairs *p, struct vq_error *err)
{
    double comparisons = conf->per_prompt > 0 ? (double)conf->per_prompt * records
                         : calls_each == 0    ? 0.0
                                              : floor((double)conf->calls / (double)calls_each);
    p->share = records == 0 ? 0.0 : fmin(comparisons / records, p->count);
    if (comparisons < p->count) {
        return vq_fail(err, VQ_INVALID,
                       "pairs: %.0f comparisons are less than one for each of the %u pairs of %u "
                       "models; raise pairs.%s, or compare fewer models",
                       comparisons, p->count, p->models,
                       conf->per_prompt > 0 ? "per_prompt" : "calls");
    }
    return VQ_OK;
}

enum vq_status vq_pairs_plan(const struct vq_conf_pairs *pairs, const char *const *models,
                             uint32_t models_count, uint64_t seed, uint32_t records,
                             uint64_t calls_each, struct vq_pairs *ret_pairs, struct vq_error *err)
{
    struct vq_pairs p = {.models = models_count};
    enum vq_pairs_design design = pairs == NULL ? VQ_PAIRS_ALL : pairs->design;
    enum vq_status status = VQ_OK;
    if (design == VQ_PAIRS_INCOMPLETE) {
        round_robin(&p, seed);
        status = incomplete(pairs, records, calls_each, &p, err);
    } else {
        every_pair(&p, design == VQ_PAIRS_BASELINE
                           ? number_of(models, models_count, pairs->baseline)
                           : models_count);
        p.share = p.count;
    }
    if (status == VQ_OK) {
        *ret_pairs = p;
    }
    return status;
}

void vq_pairs_of(const struct vq_pairs *pairs, uint32_t n, uint64_t *ret_from, uint64_t *ret_until)
{
    *ret_from = (uint64_t)floor((double)n * pairs->share);
    *ret_until = (uint64_t)floor(((double)n + 1.0) * pairs->share);
}
