/* What responses say that a call took: every row of usage_fields.def is read and stands in
 * docs/use/providers.md; parts beside or in their whole; strings; dollars; and nothing at all. */

#include "tests/unit/test.h"

#include "worker/provider/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(const char *body, struct vq_reply *reply)
{
    json_t *root = NULL;
    vq_reply_init(reply);
    assert_int_equal(vq_body_load(vq_span_str(body), VQ_BODY_VALUES_MAX, NULL, &root), VQ_OK);
    vq_usage_take(root, reply);
    json_decref(root);
}

/* -1 where nothing is expected to be said. */
struct expected {
    const char *usage;
    int64_t in, cached, written, written_long, out;
    double cost_usd;
};

static void check(const struct expected *e)
{
    char body[1024];
    struct vq_reply reply;
    (void)snprintf(body, sizeof(body), "{\"usage\":%s}", e->usage);
    take(body, &reply);
    bool same = reply.tokens_in == e->in && reply.tokens_cached == e->cached &&
                reply.tokens_cache_written == e->written &&
                reply.tokens_cache_written_long == e->written_long && reply.tokens_out == e->out;
    if (!same) {
        fail_msg("%s: in %lld cached %lld written %lld long %lld out %lld", e->usage,
                 (long long)reply.tokens_in, (long long)reply.tokens_cached,
                 (long long)reply.tokens_cache_written, (long long)reply.tokens_cache_written_long,
                 (long long)reply.tokens_out);
    }
    assert_float_equal(reply.cost_usd, e->cost_usd, 1e-12);
}

TEST(test_hidden_reasoning_is_billed)
{
    static const struct expected cases[] = {
        /* in the total alone */
        {"{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":610}", 100, -1, -1, -1,
         510, 0},
        /* apart, with and without a total; in it, as OpenAI counts */
        {"{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":610,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":500}}",
         100, -1, -1, -1, 510, 0},
        {"{\"prompt_tokens\":100,\"completion_tokens\":10,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":500}}",
         100, -1, -1, -1, 510, 0},
        {"{\"prompt_tokens\":100,\"completion_tokens\":510,\"total_tokens\":610,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":500}}",
         100, -1, -1, -1, 510, 0},
        {"{\"prompt_tokens\":100,\"completion_tokens\":400,\"total_tokens\":800,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":300}}",
         100, -1, -1, -1, 700, 0},
        {"{\"input_tokens\":100,\"output_tokens\":10,"
         "\"output_tokens_details\":{\"reasoning_tokens\":90}}",
         100, -1, -1, -1, 100, 0},
        {"{\"prompt_tokens\":100,\"completion_tokens\":10,\"reasoning_tokens\":90}", 100, -1, -1,
         -1, 100, 0},
        /* a total below its parts says nothing; one that is said alone is input */
        {"{\"prompt_tokens\":100,\"completion_tokens\":10,\"total_tokens\":90}", 100, -1, -1, -1,
         10, 0},
        {"{\"prompt_tokens\":100,\"completion_tokens\":0,\"total_tokens\":150}", 100, -1, -1, -1,
         50, 0},
        {"{\"completion_tokens\":40,\"total_tokens\":150}", 110, -1, -1, -1, 40, 0},
        {"{\"total_tokens\":150}", 150, -1, -1, -1, -1, 0},
        {"{\"promptTokenCount\":90,\"candidatesTokenCount\":8,\"thoughtsTokenCount\":20,"
         "\"totalTokenCount\":118}",
         90, -1, -1, -1, 28, 0},
        {"{\"promptTokenCount\":90,\"candidatesTokenCount\":8,\"totalTokenCount\":118}", 90, -1, -1,
         -1, 28, 0},
        {"{\"promptTokenCount\":90,\"toolUsePromptTokenCount\":10,\"candidatesTokenCount\":8,"
         "\"totalTokenCount\":108}",
         100, -1, -1, -1, 8, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

TEST(test_caches_are_in_the_input_or_beside_it)
{
    static const struct expected cases[] = {
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,\"total_tokens\":1005,"
         "\"prompt_tokens_details\":{\"cached_tokens\":900}}",
         1000, 900, -1, -1, 5, 0},
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,\"prompt_cache_hit_tokens\":900,"
         "\"prompt_cache_miss_tokens\":100}",
         1000, 900, -1, -1, 5, 0},
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,\"cached_tokens\":900}", 1000, 900, -1,
         -1, 5, 0},
        /* a gateway that counts them in, and one that does not */
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,\"total_tokens\":1005,"
         "\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":50}",
         1000, 900, 50, -1, 5, 0},
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,\"total_tokens\":1905,"
         "\"cache_read_input_tokens\":900}",
         1900, 900, -1, -1, 5, 0},
        {"{\"prompt_tokens\":50,\"completion_tokens\":5,\"cached_tokens\":900}", 950, 900, -1, -1,
         5, 0},
        {"{\"prompt_tokens\":0,\"completion_tokens\":5,\"cached_tokens\":900}", 900, 900, -1, -1, 5,
         0},
        {"{\"input_tokens\":1000,\"output_tokens\":5,\"cache_read_input_tokens\":100,"
         "\"cache_creation_input_tokens\":30}",
         1130, 100, 30, -1, 5, 0},
        {"{\"input_tokens\":1000,\"output_tokens\":5,"
         "\"input_tokens_details\":{\"cached_tokens\":900}}",
         1000, 900, -1, -1, 5, 0},
        /* written for minutes and for an hour */
        {"{\"input_tokens\":10,\"output_tokens\":5,\"cache_creation_input_tokens\":300,"
         "\"cache_creation\":{\"ephemeral_5m_input_tokens\":100,\"ephemeral_1h_input_tokens\":200}"
         "}",
         310, -1, 300, 200, 5, 0},
        {"{\"input_tokens\":10,\"output_tokens\":5,\"cache_creation\":{"
         "\"ephemeral_5m_input_tokens\":100,\"ephemeral_1h_input_tokens\":200}}",
         310, -1, 300, 200, 5, 0},
        {"{\"prompt_tokens\":1000,\"completion_tokens\":5,"
         "\"prompt_tokens_details\":{\"cached_tokens\":0,\"cache_write_tokens\":700}}",
         1000, 0, 700, -1, 5, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

TEST(test_strings_are_read_and_nonsense_is_not)
{
    static const struct expected cases[] = {
        {"{\"prompt_tokens\":\"100\",\"completion_tokens\":\" 7 \",\"total_tokens\":\"107\"}", 100,
         -1, -1, -1, 7, 0},
        {"{\"prompt_tokens\":\"0\",\"completion_tokens\":0}", 0, -1, -1, -1, 0, 0},
        {"{\"prompt_tokens\":\"many\",\"completion_tokens\":\"\"}", -1, -1, -1, -1, -1, 0},
        {"{\"prompt_tokens\":\"12 or so\",\"completion_tokens\":null}", -1, -1, -1, -1, -1, 0},
        {"{\"prompt_tokens\":-5,\"completion_tokens\":\"nan\",\"total_tokens\":\"inf\"}", -1, -1,
         -1, -1, -1, 0},
        {"{\"prompt_tokens\":1e300,\"completion_tokens\":true}", -1, -1, -1, -1, -1, 0},
        {"{\"prompt_tokens\":{\"n\":1},\"prompt_tokens_details\":7}", -1, -1, -1, -1, -1, 0},
        {"null", -1, -1, -1, -1, -1, 0},
        {"[]", -1, -1, -1, -1, -1, 0},
        {"{}", -1, -1, -1, -1, -1, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

TEST(test_dollars)
{
    static const struct expected cases[] = {
        {"{\"cost\":0.0125}", -1, -1, -1, -1, -1, 0.0125},
        {"{\"cost\":\"1.25e-2\"}", -1, -1, -1, -1, -1, 0.0125},
        {"{\"cost\":{\"total_cost\":0.5}}", -1, -1, -1, -1, -1, 0.5},
        {"{\"cost\":0.001,\"is_byok\":true,\"cost_details\":{\"upstream_inference_cost\":0.02}}",
         -1, -1, -1, -1, -1, 0.021},
        {"{\"cost\":0.001,\"is_byok\":false,\"cost_details\":{\"upstream_inference_cost\":0.02}}",
         -1, -1, -1, -1, -1, 0.001},
        {"{\"cost\":-1}", -1, -1, -1, -1, -1, 0},
        {"{\"cost\":0}", -1, -1, -1, -1, -1, 0},
        {"{\"cost\":1e9}", -1, -1, -1, -1, -1, 0},
        {"{\"cost\":null}", -1, -1, -1, -1, -1, 0},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        check(&cases[i]);
    }
}

TEST(test_a_gateway_names_dollars_in_a_header)
{
    static const struct {
        const char *value;
        double cost_usd;
    } cases[] = {{"0.00042", 0.00042}, {"4.2e-04", 0.00042}, {"0.0", 0}, {"None", 0}, {"-1", 0}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        vq_reply_headers_add(&headers, vq_span_str("X-LiteLLM-Response-Cost"),
                             vq_span_str(cases[i].value));
        struct vq_response response = {
            .status = 200,
            .headers = &headers,
            .body = vq_span_str("{\"choices\":[{\"message\":{\"content\":\"x\"}}]}"),
            .now_unix_s = 1};
        struct vq_reply reply;
        vq_reply_init(&reply);
        assert_int_equal(vq_provider_find("openai")->read(&response, &reply), VQ_OK);
        assert_float_equal(reply.cost_usd, cases[i].cost_usd, 1e-12);
        vq_reply_free(&reply);
    }
}

TEST(test_usage_is_found_in_all_places)
{
    static const char *const places[] = {
#define VQ_USAGE_PLACE(path) path,
#define VQ_USAGE_FIELD(kind, path, meaning)
#include "worker/provider/usage_fields.def"
#undef VQ_USAGE_PLACE
#undef VQ_USAGE_FIELD
    };
    assert_string_equal(places[0], "usage");
    static const char *const bodies[] = {
        "{\"usage\":{\"prompt_tokens\":9}}",
        "{\"usage\":null,\"usageMetadata\":{\"prompt_tokens\":9}}",
        "{\"choices\":[{\"usage\":{\"prompt_tokens\":9}}]}",
        "{\"x_groq\":{\"usage\":{\"prompt_tokens\":9}}}",
    };
    for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
        struct vq_reply reply;
        take(bodies[i], &reply);
        assert_int_equal(reply.tokens_in, 9);
    }
}

/* ---- the table ---- */

static const struct {
    const char *kind, *path, *meaning;
} rows[] = {
#define VQ_USAGE_PLACE(path)
#define VQ_USAGE_FIELD(kind, path, meaning) {#kind, path, meaning},
#include "worker/provider/usage_fields.def"
#undef VQ_USAGE_PLACE
#undef VQ_USAGE_FIELD
};

TEST(test_documentation_has_the_same_rows_in_the_same_order)
{
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/use/providers.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0, n = 0;
    bool in_table = false;
    while (getline(&line, &cap, file) > 0) {
        bool is_head = strncmp(line, "| kind | field |", 16) == 0;
        in_table = line[0] == '|' && (in_table || is_head);
        if (!in_table || is_head || strncmp(line, "| ---", 5) == 0) {
            continue;
        }
        char expected[256];
        assert_true(n < VQ_COUNT(rows));
        (void)snprintf(expected, sizeof(expected), "| %s | `%s` | %s |\n", rows[n].kind,
                       rows[n].path, rows[n].meaning);
        assert_string_equal(line, expected);
        n++;
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(n, VQ_COUNT(rows));
}

/* {"a":{"b":VALUE}} for "a.b". */
static void write_nested(char *to, size_t cap, const char *path, const char *value)
{
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    size_t depth = 0;
    for (const char *at = path; *at != '\0'; depth++) {
        size_t n = strcspn(at, ".");
        vq_buf_printf(&out, "{\"%.*s\":", (int)n, at);
        at += at[n] == '.' ? n + 1 : n;
    }
    vq_buf_puts(&out, value);
    for (; depth > 0; depth--) {
        vq_buf_putc(&out, '}');
    }
    (void)snprintf(to, cap, "%s", out.at);
    vq_buf_free(&out);
}

TEST(test_each_row_is_read)
{
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char usage[300], body[400];
        struct vq_reply r;
        write_nested(usage, sizeof(usage), rows[i].path, "42");
        (void)snprintf(body, sizeof(body), "{\"usage\":%s}", usage);
        take(body, &r);
        const char *kind = rows[i].kind;
        bool said =
            strncmp(kind, "INPUT", 5) == 0 && strcmp(kind, "INPUT_MORE") != 0 ? r.tokens_in == 42
            : strncmp(kind, "CACHED", 6) == 0  ? r.tokens_cached == 42 && r.tokens_in == 42
            : strncmp(kind, "WRITTEN", 7) == 0 ? r.tokens_cache_written == 42 && r.tokens_in == 42
            : strcmp(kind, "OUTPUT") == 0 || strncmp(kind, "REASONING", 9) == 0 ? r.tokens_out == 42
            : strcmp(kind, "TOTAL") == 0                                        ? r.tokens_in == 42
            : strcmp(kind, "COST") == 0                                         ? r.cost_usd > 41
                                                                                : true;
        if (!said) {
            fail_msg("%s %s is not read", kind, rows[i].path);
        }
    }
}
