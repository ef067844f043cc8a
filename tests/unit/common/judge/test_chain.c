/* Dialogues as chains: packing, and that a request is all that was said before it and nothing
 * else. */

#include "tests/unit/test.h"

#include "common/judge/chain.h"
#include "common/judge/template.h"

static struct vq_span s(const char *text)
{
    return vq_span_str(text);
}

TEST(test_packed_texts_come_back)
{
    struct vq_buf packed;
    vq_buf_init(&packed, 1u << 20);
    const struct vq_span texts[] = {s("a"), s(""), vq_span("\0\xff{{x}}", 7), s("the last")};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        vq_chain_pack(&packed, texts[i]);
    }
    assert_int_equal(packed.status, VQ_OK);
    struct vq_span rest = vq_buf_span(&packed);
    assert_int_equal(vq_chain_count(rest), 4);
    struct vq_span text;
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        assert_true(vq_chain_unpack(&rest, &text));
        assert_true(vq_span_eq(text, texts[i]));
    }
    assert_false(vq_chain_unpack(&rest, &text));
    for (size_t cut = 1; cut < packed.bytes;
         cut++) { /* any front of it is right, short, or broken */
        uint32_t count = vq_chain_count(vq_span(packed.at, cut));
        assert_true(count <= 3 || count == UINT32_MAX);
    }
    vq_buf_free(&packed);
    assert_int_equal(vq_chain_count(vq_span("", 0)), 0);
    assert_int_equal(vq_chain_count(vq_span("\xff\xff\xff\xff", 4)), UINT32_MAX);
}

TEST(test_too_many_are_none)
{
    struct vq_buf packed;
    vq_buf_init(&packed, 1u << 20);
    for (uint32_t i = 0; i < 2 * VQ_CHAIN_TURNS_MAX; i++) {
        vq_chain_pack(&packed, s("x"));
    }
    assert_int_equal(vq_chain_count(vq_buf_span(&packed)), 2 * VQ_CHAIN_TURNS_MAX);
    vq_chain_pack(&packed, s("x"));
    assert_int_equal(vq_chain_count(vq_buf_span(&packed)), UINT32_MAX);
    vq_buf_free(&packed);
}

struct fx {
    struct vq_template *as_is;
    struct vq_judge judge;
    struct vq_asker asker;
};

static struct fx fixture(void)
{
    struct fx fx = {.judge = {.name = "m",
                              .model = "m",
                              .dialect = "openai",
                              .identity = "here/v1",
                              .max_tokens = 100,
                              .max_tokens_field = "max_tokens",
                              .seed = -1}};
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_AS_IS, vq_template_builtin(VQ_TEMPLATE_AS_IS),
                                       "as it is", &fx.as_is, NULL),
                     VQ_OK);
    return fx;
}

/* The request behind system, q0, a0, q1 ... */
static struct vq_hash request(struct fx *fx, const char *system, const char *const *said,
                              size_t count, uint32_t repeat)
{
    struct vq_chain_state state;
    struct vq_hash hash;
    vq_asker_init(&fx->asker, &fx->judge, fx->as_is, NULL);
    vq_chain_begin(s(system), s(said[0]), &state);
    for (size_t i = 2; i < count; i += 2) {
        vq_chain_go_on(&state, s(said[i - 1]), s(said[i]));
    }
    vq_chain_request(&fx->asker, &state, repeat, &hash);
    return hash;
}

TEST(test_a_request_is_its_whole_prefix)
{
    struct fx fx = fixture();
    const char *const said[] = {"q0", "a0", "q1", "a1", "q2"};
    struct vq_hash base = request(&fx, "sys", said, 5, 0);
    struct vq_hash again = request(&fx, "sys", said, 5, 0);
    assert_true(vq_hash_eq(&base, &again));
    static const char *const others[][5] = {
        {"q0 ", "a0", "q1", "a1", "q2"}, {"q0", "A0", "q1", "a1", "q2"},
        {"q0", "a0", "q1a", "1", "q2"},  {"q0", "a0", "q1", "a1q", "2"},
        {"q0", "a1", "q1", "a0", "q2"},  {"q0a", "0", "q1", "a1", "q2"},
    };
    for (size_t i = 0; i < VQ_COUNT(others); i++) {
        struct vq_hash other = request(&fx, "sys", others[i], 5, 0);
        assert_false(vq_hash_eq(&base, &other));
    }
    struct vq_hash other = request(&fx, "", said, 5, 0);
    assert_false(vq_hash_eq(&base, &other));
    other = request(&fx, "sys", said, 3, 0);
    assert_false(vq_hash_eq(&base, &other));
    other = request(&fx, "sys", said, 5, 1);
    assert_false(vq_hash_eq(&base, &other));
    fx.judge.system_role = VQ_SYSTEM_ROLE_DEVELOPER;
    struct vq_hash developer = request(&fx, "sys", said, 5, 0);
    assert_false(vq_hash_eq(&base, &developer));
    fx.judge.system_role = VQ_SYSTEM_ROLE_NONE;
    other = request(&fx, "sys", said, 5, 0);
    assert_false(vq_hash_eq(&base, &other));
    assert_false(vq_hash_eq(&developer, &other));
    vq_template_destroy(&fx.as_is);
}

/* The store keeps a chain's records together by the first bytes of their keys. */
TEST(test_a_chains_requests_begin_alike)
{
    struct fx fx = fixture();
    const char *const said[] = {"q0", "a0", "q1"};
    struct vq_buf packed;
    vq_buf_init(&packed, 100);
    vq_chain_pack(&packed, s("q0"));
    vq_chain_pack(&packed, s("q1"));
    struct vq_sample sample = {.prompt = vq_buf_span(&packed), .a = s("sys")};
    struct vq_sample_id id;
    vq_chain_identify(&sample, &id);
    for (size_t count = 1; count <= 3; count += 2) {
        struct vq_hash hash = request(&fx, "sys", said, count, 0);
        assert_memory_equal(hash.b, id.id.b, VQ_REQUEST_PREFIX_BYTES);
    }
    vq_buf_free(&packed);
    vq_template_destroy(&fx.as_is);
}
