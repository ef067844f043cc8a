

#include "tests/unit/test.h"

#include "offline/judge/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64];

static void write_file(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct vq_oracle *load(const char *text)
{
    write_file(text);
    struct vq_oracle *oracle = NULL;
    struct vq_error err = {0};
    if (vq_oracle_load(path, 5, &oracle, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return oracle;
}

static struct vq_oracle_answer ask(const struct vq_oracle *oracle, const char *axis,
                                   const char *prompt, bool swapped, uint64_t nth_try)
{
    struct vq_sections q = {.prompt = vq_span_str(prompt),
                            .output_a = vq_span_str(swapped ? "[B] text" : "[A] text"),
                            .output_b = vq_span_str(swapped ? "[A] text" : "[B] text"),
                            .axis_name = vq_span_str(axis),
                            .has_axis = axis != NULL};
    struct vq_oracle_answer answer = {0};
    struct vq_error err = {0};
    if (vq_oracle_ask(oracle, "m", &q, nth_try, &answer, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return answer;
}

TEST(tells_the_truth_in_both_orders)
{
    struct vq_oracle *oracle = load("# truths\n"
                                    "{\"axis\":\"V1\",\"sample\":\"S1\",\"score\":1}\n\n"
                                    "{\"axis\":\"V1\",\"sample\":\"S2\",\"score\":-1}\n"
                                    "{\"axis\":\"V1\",\"sample\":\"S3\",\"score\":0}\n"
                                    "{\"axis\":\"V1\",\"sample\":\"S4\",\"score\":\"N/A\"}\n"
                                    "{\"axis\":\"preference\",\"sample\":\"S1\",\"score\":-1}\n");
    static const enum vq_opinion want[] = {VQ_OPINION_A, VQ_OPINION_B, VQ_OPINION_EQUAL,
                                           VQ_OPINION_NA};
    for (size_t i = 0; i < VQ_COUNT(want); i++) {
        char prompt[64];
        (void)snprintf(prompt, sizeof(prompt), "[x] Explain [S%zu] please", i + 1);
        assert_int_equal(ask(oracle, "V1", prompt, false, 1).opinion, want[i]);
        assert_int_equal(ask(oracle, "V1", prompt, true, 1).opinion, vq_opinion_mirrored(want[i]));
    }
    assert_int_equal(ask(oracle, NULL, "[S1]", false, 1).opinion, VQ_OPINION_B);
    vq_oracle_destroy(&oracle);
}

TEST(says_when_it_does_not_know)
{
    struct vq_oracle *oracle = load("{\"axis\":\"V1\",\"sample\":\"S1\",\"score\":1}\n");
    struct vq_oracle_answer answer;
    struct vq_error err = {0};
    struct vq_sections q = {.prompt = vq_span_str("[S2]"),
                            .output_a = vq_span_str("[A]"),
                            .output_b = vq_span_str("[B]"),
                            .axis_name = vq_span_str("V1"),
                            .has_axis = true};
    assert_int_equal(vq_oracle_ask(oracle, "m", &q, 1, &answer, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "V1"));
    q.prompt = vq_span_str("[S1] [");
    q.axis_name = vq_span_str("V2");
    assert_int_equal(vq_oracle_ask(oracle, "m", &q, 1, &answer, &err), VQ_NOT_FOUND);
    q.axis_name = vq_span_str("V1");
    q.output_a = q.output_b = vq_span_str("no mark");
    assert_int_equal(vq_oracle_ask(oracle, "m", &q, 1, &answer, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "marked"));
    vq_oracle_destroy(&oracle);
}

TEST(names_file_and_line_of_what_is_wrong)
{
    static const char *const bad[] = {
        "{\"axis\":\"V1\",\"sample\":\"S1\",\"score\":2}",
        "{\"axis\":\"V1\",\"sample\":\"S1\"}",
        "{\"axis\":\"V1\",\"sample\":\"S1\",\"score\":1,\"more\":1}",
        "[1]",
        "{\"rates\":{\"error\":1.5}}",
        "{\"rates\":{\"eror\":0.5}}",
        "{\"rates\":{\"model\":7}}",
        "nonsense",
    };
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "# first\n%s\n", bad[i]);
        write_file(text);
        struct vq_oracle *oracle = NULL;
        struct vq_error err = {0};
        assert_true(vq_oracle_load(path, 1, &oracle, &err) != VQ_OK);
        assert_null(oracle);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "line 2"));
    }
    write_file("{\"axis\":\"V1\",\"sample\":\"S1\",\"score\":1}\n{\"axis\":\"V1\",\"sample\":"
               "\"S1\",\"score\":0}\n");
    struct vq_oracle *oracle = NULL;
    struct vq_error err = {0};
    assert_int_equal(vq_oracle_load(path, 1, &oracle, &err), VQ_INVALID);
    assert_int_equal(vq_oracle_load("/nowhere/truth", 1, &oracle, &err), VQ_NOT_FOUND);
}

#define SAMPLES 4000

/* All truths are +1; what comes out is counted against the stated rate, within five standard
 * deviations. */
struct tally {
    size_t right, wrong, equal, na, both_first, refused, unparseable, truncated, contradicted;
};

static struct tally run(const char *rates)
{
    static char text[SAMPLES * 64];
    size_t at = (size_t)snprintf(text, sizeof(text), "{\"rates\":{%s}}\n", rates);
    for (int i = 0; i < SAMPLES; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "{\"axis\":\"V\",\"sample\":\"S%d\",\"score\":1}\n", i);
    }
    struct vq_oracle *oracle = load(text);
    struct tally tally = {0};
    for (int i = 0; i < SAMPLES; i++) {
        char prompt[32];
        (void)snprintf(prompt, sizeof(prompt), "[S%d]", i);
        struct vq_oracle_answer first = ask(oracle, "V", prompt, false, 1);
        struct vq_oracle_answer second = ask(oracle, "V", prompt, true, 1);
        tally.right += first.opinion == VQ_OPINION_A;
        tally.wrong += first.opinion == VQ_OPINION_B;
        tally.equal += first.opinion == VQ_OPINION_EQUAL;
        tally.na += first.opinion == VQ_OPINION_NA;
        tally.both_first += first.opinion == VQ_OPINION_A && second.opinion == VQ_OPINION_A;
        tally.contradicted += second.opinion != vq_opinion_mirrored(first.opinion);
        tally.refused += first.failure == VQ_ORACLE_REFUSED;
        tally.unparseable += first.failure == VQ_ORACLE_UNPARSEABLE;
        tally.truncated += first.failure == VQ_ORACLE_TRUNCATED;
    }
    vq_oracle_destroy(&oracle);
    return tally;
}

static void assert_rate(size_t count, double p)
{
    double mean = SAMPLES * p;
    double slack = 5 * sqrt(SAMPLES * p * (1 - p)) + 0.5;
    if (fabs((double)count - mean) > slack) {
        fail_msg("%zu, want %.0f", count, mean);
    }
}

TEST(errs_at_the_stated_rates)
{
    struct tally t = run("\"error\":0.2");
    assert_rate(t.wrong, 0.2);
    assert_int_equal(t.contradicted, 0);
    t = run("\"order_error\":0.2");
    assert_rate(t.wrong, 0.2);
    assert_rate(t.contradicted, 2 * 0.2 * 0.8);
    t = run("\"tie\":0.3");
    assert_rate(t.equal, 0.3);
    assert_int_equal(t.contradicted, 0);
    t = run("\"na\":0.1");
    assert_rate(t.na, 0.1);
    t = run("\"position_bias\":0.25");
    assert_rate(t.both_first, 0.25);
    assert_rate(t.contradicted, 0.25);
    t = run("\"refused\":0.1,\"unparseable\":0.1,\"truncated\":0.1");
    assert_rate(t.refused, 0.1);
    assert_rate(t.unparseable, 0.9 * 0.1);
    assert_rate(t.truncated, 0.9 * 0.9 * 0.1);
    assert_int_equal(t.right, SAMPLES);
    t = run("\"model\":\"another\",\"error\":1");
    assert_int_equal(t.right, SAMPLES);
    t = run("\"axis\":\"W\",\"error\":1");
    assert_int_equal(t.right, SAMPLES);
}

TEST(failures_can_end_after_some_tries)
{
    struct vq_oracle *oracle = load("{\"rates\":{\"refused\":1,\"fail_tries\":2,\"model\":\"m\"}}\n"
                                    "{\"axis\":\"V\",\"sample\":\"S\",\"score\":1}\n");
    assert_int_equal(ask(oracle, "V", "[S]", false, 1).failure, VQ_ORACLE_REFUSED);
    assert_int_equal(ask(oracle, "V", "[S]", false, 2).failure, VQ_ORACLE_REFUSED);
    assert_int_equal(ask(oracle, "V", "[S]", false, 3).failure, VQ_ORACLE_ANSWERED);
    assert_true(vq_oracle_names_model(oracle, "m"));
    assert_false(vq_oracle_names_model(oracle, "n"));
    assert_string_equal(vq_oracle_model(oracle, 0), "m");
    assert_null(vq_oracle_model(oracle, 1));
    vq_oracle_destroy(&oracle);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/vq-oracle-XXXXXX");
    int fd = mkstemp(path);
    return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

TEST_GROUP(set_up, tear_down)
