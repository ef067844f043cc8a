/* Verdicts by a schema and their log-probabilities: what each dialect sends, and only where it is
 * wanted. */

#include "tests/unit/test.h"

#include "worker/provider/provider.h"

#include <jansson.h>
#include <string.h>

static json_t *body_of(const char *dialect, bool structured, bool logprobs,
                       enum vq_prompt_asks asks)
{
    const struct vq_judge judge = {.model = "m",
                                   .max_tokens = 60,
                                   .max_tokens_field = "max_tokens",
                                   .seed = -1,
                                   .structured = structured,
                                   .logprobs = logprobs};
    const struct vq_prompt prompt = {.user = vq_span_str("u"), .asks = asks};
    struct vq_buf body;
    vq_buf_init(&body, VQ_REQUEST_BODY_BYTES_MAX);
    assert_int_equal(vq_provider_find(dialect)->body(&judge, &prompt, &body), VQ_OK);
    json_t *root = json_loadb(body.at, body.bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    vq_buf_free(&body);
    return root;
}

/* The value at "a.b.c". */
static json_t *at(json_t *root, const char *path)
{
    char key[64];
    while (*path != '\0' && root != NULL) {
        size_t n = strcspn(path, ".");
        assert_true(n < sizeof(key));
        memcpy(key, path, n);
        key[n] = '\0';
        root = json_object_get(root, key);
        path += n + (path[n] == '.' ? 1 : 0);
    }
    return root;
}

#define LABELS "\"A\",\"B\",\"equal\",\"N/A\",\"unsure\""

static void check_schema(json_t *schema, const char *member, const char *labels, const char *order)
{
    char text[1024];
    (void)snprintf(
        text, sizeof(text),
        "{\"type\":\"object\",\"properties\":{\"analysis\":{\"type\":\"string\"},\"%s\":{"
        "\"type\":\"string\",\"enum\":[%s]}},\"required\":[\"analysis\",\"%s\"],%s}",
        member, labels, member, order);
    json_t *expected = json_loads(text, 0, NULL);
    assert_non_null(expected);
    assert_true(json_equal(schema, expected));
    json_t *properties = at(schema, "properties");
    assert_string_equal(json_object_iter_key(json_object_iter(properties)), "analysis"); /* first */
    json_decref(expected);
}

TEST(test_each_dialect_has_its_place_for_it)
{
    static const struct {
        const char *dialect, *path, *sign, *said, *order;
    } cases[] = {
        {"openai", "response_format.json_schema.schema", "response_format.type", "json_schema",
         "\"additionalProperties\":false"},
        {"azure", "response_format.json_schema.schema", "response_format.type", "json_schema",
         "\"additionalProperties\":false"},
        {"anthropic", "output_config.format.schema", "output_config.format.type", "json_schema",
         "\"additionalProperties\":false"},
        {"gemini", "generationConfig.responseSchema", "generationConfig.responseMimeType",
         "application/json", "\"propertyOrdering\":[\"analysis\",\"model\"]"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        json_t *body = body_of(cases[i].dialect, true, false, VQ_PROMPT_ASKS_VERDICT);
        check_schema(at(body, cases[i].path), "model", LABELS, cases[i].order);
        assert_string_equal(json_string_value(at(body, cases[i].sign)), cases[i].said);
        json_decref(body);
        for (int way = 0; way < 2; way++) { /* off, or no verdict is asked for */
            body = body_of(cases[i].dialect, way == 1, false,
                           way == 0 ? VQ_PROMPT_ASKS_VERDICT : VQ_PROMPT_ASKS_TEXT);
            assert_null(at(body, cases[i].path));
            assert_null(at(body, cases[i].sign));
            json_decref(body);
        }
    }
    json_t *body = body_of("openai", true, false, VQ_PROMPT_ASKS_PREFERENCE);
    check_schema(at(body, "response_format.json_schema.schema"), "preference",
                 "\"A\",\"B\",\"tie\"", "\"additionalProperties\":false");
    assert_true(json_is_true(at(body, "response_format.json_schema.strict")));
    json_decref(body);
}

TEST(test_logprobs_are_asked_for)
{
    for (int asks = 0; asks < 3; asks++) {
        json_t *body = body_of("openai", false, true, (enum vq_prompt_asks)asks);
        assert_int_equal(json_is_true(at(body, "logprobs")), asks > 0);
        assert_int_equal(json_integer_value(at(body, "top_logprobs")), asks > 0 ? 5 : 0);
        json_decref(body);
        body = body_of("gemini", false, true, (enum vq_prompt_asks)asks);
        assert_int_equal(json_is_true(at(body, "generationConfig.responseLogprobs")), asks > 0);
        assert_int_equal(json_integer_value(at(body, "generationConfig.logprobs")),
                         asks > 0 ? 5 : 0);
        json_decref(body);
    }
}
