/* Which chains begin alike: every turn has one chain that asks it, the first of those that have the
 * turn in common. */

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "common/judge/alike.h"

#define CHAINS 24
#define TURNS  6

struct fx { /* chains of one-letter queries; "" has none */
    struct vq_buf packed[CHAINS];
    struct vq_chain_asked chains[CHAINS];
    struct vq_chain_alike alike[CHAINS];
    const char *systems[CHAINS];
    char queries[CHAINS][TURNS + 1];
    uint32_t count;
};

static void add(struct fx *f, uint32_t asker, const char *system, const char *queries)
{
    uint32_t i = f->count++;
    vq_buf_init(&f->packed[i], 1024);
    for (const char *q = queries; *q != '\0'; q++) {
        vq_chain_pack(&f->packed[i], vq_span(q, 1));
    }
    f->systems[i] = system;
    memcpy(f->queries[i], queries, strlen(queries) + 1);
    f->chains[i] = (struct vq_chain_asked){vq_span_str(system), vq_buf_span(&f->packed[i]), asker};
}

static bool look(struct fx *f)
{
    bool any = false;
    assert_int_equal(vq_chains_alike(f->chains, f->count, f->alike, &any), VQ_OK);
    return any;
}

static void clear(struct fx *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        vq_buf_free(&f->packed[i]);
    }
    f->count = 0;
}

static void expect(const struct fx *f, uint32_t chain, uint32_t of, uint32_t turns)
{
    assert_int_equal(f->alike[chain].turns, turns);
    assert_int_equal(f->alike[chain].of, of);
}

TEST(test_one_that_differs_from_the_first_word_is_alone)
{
    struct fx f = {0};
    add(&f, 0, "a king", "xyz");
    add(&f, 0, "a beggar", "xyz");
    add(&f, 0, "a king", "yyz");
    add(&f, 1, "a king", "xyz"); /* somebody else is asked */
    add(&f, 0, "a king", "");    /* asks nothing */
    add(&f, 0, "a king", "");
    assert_false(look(&f));
    for (uint32_t i = 0; i < f.count; i++) {
        expect(&f, i, 0, 0);
    }
    clear(&f);
}

TEST(test_a_tree_of_beginnings)
{
    struct fx f = {0};
    add(&f, 0, "", "abc");
    add(&f, 0, "", "xyz");
    add(&f, 0, "", "abd");
    add(&f, 0, "", "abde");
    add(&f, 0, "", "ab");
    add(&f, 0, "", "abc");
    add(&f, 0, "", "az");
    add(&f, 0, "", "azb");
    assert_true(look(&f));
    expect(&f, 1, 0, 0);
    expect(&f, 2, 0, 2); /* it asks d, */
    expect(&f, 3, 2, 3); /* which this one has in common with it */
    expect(&f, 4, 0, 2);
    expect(&f, 5, 0, 3); /* all of it */
    expect(&f, 6, 0, 1);
    expect(&f, 7, 6, 2);
    clear(&f);
}

/* The first chain that has asked the same up to this turn. */
static uint32_t first_like(const struct fx *f, uint32_t chain, uint32_t turn)
{
    uint32_t i = 0;
    while (f->chains[i].asker != f->chains[chain].asker ||
           strcmp(f->systems[i], f->systems[chain]) != 0 ||
           strncmp(f->queries[i], f->queries[chain], turn + 1) != 0) {
        i++;
    }
    return i;
}

TEST(test_against_comparing_each_with_each)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    uint32_t common = 0;
    for (int round = 0; round < 300; round++) {
        struct fx f = {0};
        for (uint32_t i = 0; i < CHAINS; i++) {
            char queries[TURNS + 1] = "";
            uint64_t turns = vq_rng_below(&rng, TURNS + 1);
            for (uint64_t k = 0; k < turns; k++) {
                queries[k] = (char)('a' + vq_rng_below(&rng, 2));
                queries[k + 1] = '\0';
            }
            add(&f, (uint32_t)vq_rng_below(&rng, 2), vq_rng_below(&rng, 2) == 0 ? "" : "s",
                queries);
        }
        (void)look(&f);
        for (uint32_t i = 0; i < CHAINS; i++) {
            for (uint32_t k = 0; k < strlen(f.queries[i]); k++) {
                uint32_t at = i;
                while (k < f.alike[at].turns) {
                    assert_true(f.alike[at].of < at);
                    at = f.alike[at].of;
                }
                assert_int_equal(at, first_like(&f, i, k));
                common += at != i;
            }
        }
        clear(&f);
    }
    assert_true(common > 1000);
}
