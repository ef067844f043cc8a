

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "offline/tries.h"

#define BODIES 50000

static struct vq_hash hash_of(uint64_t i)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "test");
    vq_hasher_u64(&h, i);
    vq_hasher_final(&h, &hash);
    return hash;
}

TEST(every_body_is_counted_by_itself)
{
    struct vq_index tries = {0};
    for (uint64_t round = 1; round <= 3; round++) {
        for (uint64_t i = 0; i < BODIES; i++) {
            struct vq_hash hash = hash_of(i);
            assert_int_equal(vq_tries_count(&tries, &hash), round);
        }
    }
    vq_tries_free(&tries);
}

TEST(without_memory_a_body_counts_as_new)
{
    struct vq_index tries = {0};
    struct vq_hash hash = hash_of(1);
    vq_alloc_fail_at(1);
    assert_int_equal(vq_tries_count(&tries, &hash), 1);
    vq_alloc_fail_at(0);
    assert_int_equal(vq_tries_count(&tries, &hash), 1);
    assert_int_equal(vq_tries_count(&tries, &hash), 2);
    vq_tries_free(&tries);
}
