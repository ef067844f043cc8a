/* The heap of nodes that live in their owners. */
#include "tests/unit/test.h"

#include "common/base/heap.h"
#include "common/base/rng.h"

TEST(the_least_comes_first_as_in_a_plain_list)
{
    enum {
        NODES = 300
    };
    static struct vq_heap_node nodes[NODES];
    struct vq_heap heap = {0};
    struct vq_rng rng;
    vq_rng_seed(&rng, 2);
    assert_int_equal(vq_heap_reserve(&heap, NODES, NODES), VQ_OK);
    for (int step = 0; step < 30000; step++) {
        struct vq_heap_node *node = &nodes[vq_rng_below(&rng, NODES)];
        if (node->place == 0) {
            node->first = (int64_t)vq_rng_below(&rng, 20);
            node->second = vq_rng_below(&rng, 1000);
            vq_heap_push(&heap, node);
        } else {
            vq_heap_remove(&heap, node);
        }
        const struct vq_heap_node *least = NULL;
        for (int i = 0; i < NODES; i++) {
            const struct vq_heap_node *n = &nodes[i];
            if (n->place != 0 && (least == NULL || n->first < least->first ||
                                  (n->first == least->first && n->second < least->second))) {
                least = n;
            }
        }
        const struct vq_heap_node *top = vq_heap_peek(&heap);
        assert_true((top == NULL) == (least == NULL));
        assert_true(top == NULL || (top->first == least->first && top->second == least->second));
    }
    vq_heap_free(&heap);
}
