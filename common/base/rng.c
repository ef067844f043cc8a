/* xoshiro256** with splitmix64 seeding; bounded draws by Lemire's rejection, so that they are
 * unbiased. */
#include "common/base/rng.h"

#include "common/base/status.h"

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void vq_rng_seed(struct vq_rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < VQ_COUNT(rng->s); i++) {
        rng->s[i] = splitmix64(&seed);
    }
}

uint64_t vq_rng_u64(struct vq_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t vq_rng_below(struct vq_rng *rng, uint64_t bound)
{
    VQ_ASSERT(bound > 0);
    unsigned __int128 m = (unsigned __int128)vq_rng_u64(rng) * bound;
    if ((uint64_t)m < bound) {
        uint64_t threshold = (0 - bound) % bound;
        while ((uint64_t)m < threshold) {
            m = (unsigned __int128)vq_rng_u64(rng) * bound;
        }
    }
    return (uint64_t)(m >> 64);
}

double vq_rng_unit(struct vq_rng *rng)
{
    return (double)(vq_rng_u64(rng) >> 11) * 0x1.0p-53;
}

void vq_rng_shuffle_u32(struct vq_rng *rng, uint32_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)vq_rng_below(rng, i);
        uint32_t kept = items[i - 1];
        items[i - 1] = items[j];
        items[j] = kept;
    }
}
