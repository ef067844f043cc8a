/* Lives of a core in which one allocation fails, for the tests of both: who includes this names the
 * core's fuzz target in LIVES_OF, whose events the bytes of a seed choose. Each event says
 * VQ_NOMEM, or the core's status does, and the core can be taken apart. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "tests/unit/heap.h"

static jmp_buf stopped;
static enum vq_status said;

static void take_said(enum vq_status status)
{
    heap.paused = true;
    said = status;
    if (status != VQ_OK) {
        longjmp(stopped, 1);
    }
}

/* Only the core meets failed allocations. */
#define core(call)                                                                                 \
    __extension__({                                                                                \
        heap.paused = false;                                                                       \
        __typeof__(call) got_ = (call);                                                            \
        heap.paused = true;                                                                        \
        got_;                                                                                      \
    })
#define must(call) (heap.paused = false, take_said(call))
#include LIVES_OF

#define SEEDS 12
#define BYTES 2500

/* One life; how the core ended it. */
static enum vq_status live(uint64_t seed)
{
    static uint8_t bytes[BYTES];
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)vq_rng_below(&rng, vq_rng_below(&rng, 3) == 0 ? 200 : 256);
    }
    said = VQ_OK;
    heap.paused = true;
    if (setjmp(stopped) == 0) {
        (void)LLVMFuzzerTestOneInput(bytes, sizeof(bytes));
    } else {
        world_end(&world);
    }
    heap.paused = true;
    return said;
}

/* Each allocation fails, of the first lives one after the other, of the longer ones some. */
static void no_memory_at_any_point(void **state)
{
    (void)state;
    uint64_t failed = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        heap_fail_at(0);
        assert_int_equal(live(seed), VQ_OK);
        uint64_t all = heap.calls;
        for (uint64_t at = 1; at <= all; at += 1 + all / 400) {
            int64_t before = heap.live;
            heap_fail_at(at);
            enum vq_status status = live(seed);
            if (!heap.hit || (status != VQ_NOMEM && status != VQ_OK)) {
                fail_msg("seed %llu, allocation %llu of %llu: %s", (unsigned long long)seed,
                         (unsigned long long)at, (unsigned long long)all, vq_status_name(status));
            }
            failed += status == VQ_NOMEM ? 1 : 0; /* else a line for the log was left out */
            heap_fail_at(0);
            assert_true(!HEAP_KNOWS_LEAKS || heap.live == before);
        }
    }
    heap.paused = false;
    assert_true(failed > 500);
}

/* The same lives with all the memory they want: what must hold is looked at after each event. */
static void lives_that_go_well(void **state)
{
    (void)state;
    heap_fail_at(0);
    for (uint64_t seed = 1; seed <= 400; seed++) {
        assert_int_equal(live(seed), VQ_OK);
    }
    heap.paused = false;
}

static int run_lives(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives_that_go_well),
        cmocka_unit_test(no_memory_at_any_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
