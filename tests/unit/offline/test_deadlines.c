

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "offline/deadlines.h"

#define N 500

/* Random adding, removing and taking, against a plain search. */
TEST(the_earliest_comes_first)
{
    static struct vq_deadline deadlines[N];
    struct vq_deadlines heap = {0};
    struct vq_rng rng;
    vq_rng_seed(&rng, 1);
    for (int step = 0; step < 20000; step++) {
        struct vq_deadline *d = &deadlines[vq_rng_below(&rng, N)];
        uint64_t what = vq_rng_below(&rng, 4);
        if (what == 0) {
            vq_deadlines_remove(&heap, d);
            assert_int_equal(d->place, 0);
        } else if (what < 3 && d->place == 0) {
            assert_int_equal(vq_deadlines_add(&heap, d, (int64_t)vq_rng_below(&rng, 1000)), VQ_OK);
        } else {
            int64_t earliest = INT64_MAX;
            size_t waiting = 0;
            for (size_t i = 0; i < N; i++) {
                waiting += deadlines[i].place != 0;
                if (deadlines[i].place != 0 && deadlines[i].at_ns < earliest) {
                    earliest = deadlines[i].at_ns;
                }
            }
            assert_int_equal(heap.n, waiting);
            assert_int_equal(vq_deadlines_next_ns(&heap), earliest);
            int64_t now_ns = (int64_t)vq_rng_below(&rng, 1000);
            struct vq_deadline *due = vq_deadlines_due(&heap, now_ns);
            assert_int_equal(due != NULL, earliest <= now_ns);
            if (due != NULL) {
                assert_int_equal(due->at_ns, earliest);
                assert_int_equal(due->place, 0);
            }
        }
    }
    vq_deadlines_free(&heap);
}
