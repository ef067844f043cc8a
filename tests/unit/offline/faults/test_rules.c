

#include "tests/unit/test.h"

#include "offline/faults/pools.h"
#include "offline/faults/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void add(struct vq_fault_rules *rules, const char *line)
{
    struct vq_error err = {0};
    if (vq_fault_rules_add_line(rules, vq_span_str(line), &err) != VQ_OK) {
        fail_msg("%s: %s", line, err.text);
    }
}

static struct vq_fault_query query(const char *body, struct vq_hash *hash)
{
    vq_hash_of("test", vq_span_str(body), hash);
    return (struct vq_fault_query){.model = "m",
                                   .pool = "",
                                   .key_hex = "0123",
                                   .body = vq_span_str(body),
                                   .hash = hash,
                                   .nth_try = 1};
}

static enum vq_fault meet(struct vq_fault_rules *rules, const struct vq_fault_query *q)
{
    const struct vq_fault_rule *rule = vq_fault_rules_match(rules, q);
    return rule == NULL ? VQ_FAULT_NONE : rule->fault;
}

TEST(every_fault_has_a_name_and_its_own_row)
{
    for (int i = 1; i < VQ_FAULT__COUNT; i++) {
        enum vq_fault found = VQ_FAULT_NONE;
        assert_int_equal(vq_fault_find(vq_fault_info((enum vq_fault)i)->name, &found), VQ_OK);
        assert_int_equal(found, i);
    }
    enum vq_fault found;
    assert_int_equal(vq_fault_find("none", &found), VQ_NOT_FOUND);
}

TEST(filters_choose_the_requests)
{
    struct vq_hash hash;
    static const struct {
        const char *line;
        bool met;
    } cases[] = {
        {"{\"fault\":\"reset\"}", true},
        {"{\"fault\":\"reset\",\"model\":\"m\",\"key\":\"0123\"}", true},
        {"{\"fault\":\"reset\",\"model\":\"n\"}", false},
        {"{\"fault\":\"reset\",\"key\":\"01234\"}", false},
        {"{\"fault\":\"reset\",\"contains\":\"[S1]\"}", true},
        {"{\"fault\":\"reset\",\"contains\":\"[S2]\"}", false},
        {"{\"fault\":\"reset\",\"after_ms\":500,\"until_ms\":1000}", true},
        {"{\"fault\":\"reset\",\"after_ms\":501}", false},
        {"{\"fault\":\"reset\",\"until_ms\":500}", false},
        {"{\"fault\":\"reset\",\"p\":0}", false},
        {"{\"fault\":\"reset\",\"tries\":1}", true},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_fault_rules rules = {.seed = 1};
        add(&rules, cases[i].line);
        struct vq_fault_query q = query("a body with [S1]", &hash);
        q.since_start_ms = 500;
        assert_int_equal(meet(&rules, &q), cases[i].met ? VQ_FAULT_RESET : VQ_FAULT_NONE);
        vq_fault_rules_free(&rules);
    }
}

/* A key by its variable, and a pool by its name; without a pool in the rule, those of all. */
TEST(keys_and_pools_choose_the_requests)
{
    struct vq_hash hash;
    struct vq_error err = {0};
    char print[VQ_FINGERPRINT_HEX];
    assert_int_equal(setenv("VQ_TEST_RULE_KEY", "sk-canary-9", 1), 0);
    assert_int_equal(vq_pool_key_of("env:VQ_TEST_RULE_KEY", print, NULL), VQ_OK);
    struct vq_fault_rules rules = {.seed = 1};
    add(&rules, "{\"fault\":\"bad_key\",\"key\":\"env:VQ_TEST_RULE_KEY\"}");
    assert_int_equal(vq_fault_rules_add(&rules, "quota=1,pool=acme", &err), VQ_OK);
    assert_string_equal(rules.rules[0].key, print);
    static const struct {
        bool has_key;
        const char *pool;
        enum vq_fault fault;
    } cases[] = {{true, "acme", VQ_FAULT_BAD_KEY},
                 {false, "acme", VQ_FAULT_QUOTA},
                 {false, "", VQ_FAULT_NONE},
                 {true, "", VQ_FAULT_BAD_KEY}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_fault_query q = query("body", &hash);
        q.key_hex = cases[i].has_key ? print : "0123";
        q.pool = cases[i].pool;
        assert_int_equal(meet(&rules, &q), cases[i].fault);
    }
    assert_true(vq_fault_rules_add(&rules, "bad_key=1,key=env:VQ_NO_SUCH_VARIABLE", &err) != VQ_OK);
    assert_int_equal(rules.n, 2);
    vq_fault_rules_free(&rules);
    (void)unsetenv("VQ_TEST_RULE_KEY");
}

TEST(counts_choose_the_nth)
{
    struct vq_hash hash;
    static const struct {
        const char *line;
        const char *met; /* of ten requests */
    } cases[] = {
        {"{\"fault\":\"reset\",\"nth\":3}", "..#......."},
        {"{\"fault\":\"reset\",\"from\":3,\"to\":5}", "..###....."},
        {"{\"fault\":\"reset\",\"every\":4}", "...#...#.."},
        {"{\"fault\":\"reset\",\"count\":2}", "##........"},
        {"{\"fault\":\"reset\",\"from\":8,\"count\":1}", ".......#.."},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_fault_rules rules = {.seed = 1};
        add(&rules, cases[i].line);
        for (int n = 0; n < 10; n++) {
            struct vq_fault_query q = query("body", &hash);
            assert_int_equal(meet(&rules, &q),
                             cases[i].met[n] == '#' ? VQ_FAULT_RESET : VQ_FAULT_NONE);
        }
        vq_fault_rules_free(&rules);
    }
}

TEST(the_first_rule_that_fires_wins)
{
    struct vq_hash hash;
    struct vq_fault_rules rules = {.seed = 1};
    add(&rules, "{\"fault\":\"quota\",\"nth\":2}");
    add(&rules, "{\"fault\":\"server_error\"}");
    struct vq_fault_query q = query("body", &hash);
    assert_int_equal(meet(&rules, &q), VQ_FAULT_SERVER_ERROR);
    assert_int_equal(meet(&rules, &q), VQ_FAULT_QUOTA);
    assert_int_equal(meet(&rules, &q), VQ_FAULT_SERVER_ERROR);
    vq_fault_rules_free(&rules);
}

#define BODIES 2000

/* Which bodies meet a fault is the same in any order of arrival, and near the stated share. */
TEST(chances_do_not_depend_on_the_order)
{
    static bool forward[BODIES];
    struct vq_fault_rules rules = {.seed = 9};
    add(&rules, "{\"fault\":\"reset\",\"p\":0.2}");
    struct vq_hash hash;
    char body[32];
    size_t met = 0;
    size_t again = 0;
    for (int i = 0; i < BODIES; i++) {
        (void)snprintf(body, sizeof(body), "body %d", i);
        struct vq_fault_query q = query(body, &hash);
        forward[i] = meet(&rules, &q) != VQ_FAULT_NONE;
        met += forward[i];
        q.nth_try = 2;
        again += meet(&rules, &q) != VQ_FAULT_NONE && forward[i];
    }
    assert_in_range(met, 310, 490);  /* 400, five standard deviations */
    assert_in_range(again, 35, 125); /* a second try draws anew */
    for (int i = BODIES; i > 0; i--) {
        (void)snprintf(body, sizeof(body), "body %d", i - 1);
        struct vq_fault_query q = query(body, &hash);
        assert_int_equal(meet(&rules, &q) != VQ_FAULT_NONE, forward[i - 1]);
    }
    vq_fault_rules_free(&rules);
}

TEST(a_sticky_chance_is_drawn_once_for_a_body)
{
    struct vq_fault_rules rules = {.seed = 9};
    add(&rules, "{\"fault\":\"reset\",\"p\":0.5,\"sticky\":true}");
    struct vq_hash hash;
    for (int i = 0; i < 50; i++) {
        char body[32];
        (void)snprintf(body, sizeof(body), "body %d", i);
        struct vq_fault_query q = query(body, &hash);
        enum vq_fault first = meet(&rules, &q);
        for (q.nth_try = 2; q.nth_try < 6; q.nth_try++) {
            assert_int_equal(meet(&rules, &q), first);
        }
    }
    vq_fault_rules_free(&rules);
}

TEST(options_say_the_same_as_lines)
{
    struct vq_fault_rules rules = {.seed = 1};
    struct vq_error err = {0};
    assert_int_equal(vq_fault_rules_add(
                         &rules, "rate_limit=0.25,retry_after=2,model=m,tries=3,sticky=true", &err),
                     VQ_OK);
    const struct vq_fault_rule *rule = &rules.rules[0];
    assert_int_equal(rule->fault, VQ_FAULT_RATE_LIMIT);
    assert_true(rule->p > 0.249 && rule->p < 0.251);
    assert_string_equal(rule->retry_after, "2");
    assert_string_equal(rule->model, "m");
    assert_int_equal(rule->tries, 3);
    assert_true(rule->sticky);
    static const char *const bad[] = {
        "reset",         "reset=2",       "reset=x",          "wrong=1",
        "reset=1,tries", "reset=1,foo=2", "reset=1,tries=-1", "reset=1,sticky=perhaps",
        "reset=nan"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        err.text[0] = '\0';
        assert_true(vq_fault_rules_add(&rules, bad[i], &err) != VQ_OK);
        assert_non_null(strstr(err.text, "--fault"));
    }
    assert_int_equal(rules.n, 1);
    vq_fault_rules_free(&rules);
}

TEST(a_script_names_its_bad_line)
{
    char path[] = "/tmp/vq-rules-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char *text = "# storms\n{\"fault\":\"reset\"}\n\n{\"fault\":\"reset\",\"p\":\"many\"}\n";
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    struct vq_fault_rules rules = {0};
    struct vq_error err = {0};
    assert_int_equal(vq_fault_rules_load(&rules, path, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "line 4"));
    assert_non_null(strstr(err.text, "field p"));
    assert_int_equal(vq_fault_rules_load(&rules, "/nowhere/script", &err), VQ_NOT_FOUND);
    vq_fault_rules_free(&rules);
    (void)unlink(path);
}
