/* The hash table against an array that says which keys are in it. */
#include "tests/unit/test.h"

#include "common/base/index.h"
#include "common/base/rng.h"

#define KEYS 700

struct item {
    struct vq_index_node node;
    uint64_t key;
    bool there;
};

/* Three keys share each hash. */
static uint64_t hash_of(uint64_t key)
{
    return vq_index_mix(key / 3);
}

static struct item *find(const struct vq_index *table, uint64_t key)
{
    struct vq_index_node *node = vq_index_find(table, hash_of(key));
    for (; node != NULL; node = vq_index_again(node)) {
        struct item *item = VQ_CONTAINER_OF(node, struct item, node);
        if (item->key == key) {
            return item;
        }
    }
    return NULL;
}

TEST(test_against_a_plain_list)
{
    static struct item items[KEYS];
    struct vq_index table = {0};
    struct vq_rng rng;
    size_t count = 0;
    vq_rng_seed(&rng, 1);
    for (int step = 0; step < 60000; step++) {
        struct item *item = &items[vq_rng_below(&rng, KEYS)];
        item->key = (uint64_t)(item - items);
        assert_ptr_equal(find(&table, item->key), item->there ? item : NULL);
        if (item->there) {
            vq_index_remove(&table, &item->node);
        } else {
            assert_int_equal(vq_index_add(&table, &item->node, hash_of(item->key)), VQ_OK);
        }
        item->there = !item->there;
        count += item->there ? 1 : (size_t)-1;
        assert_int_equal(table.count, count);
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        assert_ptr_equal(find(&table, k), items[k].there ? &items[k] : NULL);
    }
    vq_index_free(&table);
    assert_null(find(&table, 1));
}
