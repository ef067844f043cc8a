/* Refusals of parameters: the tables are those of docs/use/providers.md, each row is found, and
 * real spellings are read as what they are. */

#include "tests/unit/test.h"

#include "worker/provider/params.h"
#include "worker/provider/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(the_page_has_the_same_rows)
{
    size_t names_count = 0, refusals_count = 0, n = 0, r = 0;
    const struct vq_param_name *names = vq_param_names(&names_count);
    const char *const *refusals = vq_param_refusals(&refusals_count);
    FILE *file = fopen(VQ_SOURCE_DIR "/docs/use/providers.md", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0;
    int table = 0; /* 1: names, 2: refusals */
    while (getline(&line, &cap, file) > 0) {
        bool head = strncmp(line, "| dialect | parameter |", 23) == 0;
        bool words = strncmp(line, "| it says that something is refused |", 37) == 0;
        table = head ? 1 : words ? 2 : line[0] == '|' ? table : 0;
        char expected[256];
        if (table == 0 || head || words || strncmp(line, "| ---", 5) == 0) {
            continue;
        }
        if (table == 1) {
            assert_true(n < names_count);
            (void)snprintf(expected, sizeof(expected), "| %s | %s | `%s` |\n", names[n].dialects,
                           vq_param_word(names[n].param), names[n].text);
            n++;
        } else {
            assert_true(r < refusals_count);
            (void)snprintf(expected, sizeof(expected), "| `%s` |\n", refusals[r++]);
        }
        assert_string_equal(line, expected);
    }
    free(line);
    (void)fclose(file);
    assert_int_equal(n, names_count);
    assert_int_equal(r, refusals_count);
}

TEST(each_name_is_found)
{
    size_t count = 0;
    const struct vq_param_name *names = vq_param_names(&count);
    for (size_t i = 0; i < count; i++) {
        char dialect[32], message[128];
        (void)snprintf(dialect, sizeof(dialect), "%.*s", (int)strcspn(names[i].dialects, " "),
                       names[i].dialects);
        const char *as = dialect[0] == '*' ? "openai" : dialect;
        (void)snprintf(message, sizeof(message), "Sorry: %s is not supported", names[i].text);
        assert_true((vq_params_refused(as, "", "", message) & names[i].param) != 0);
        assert_int_equal(vq_params_refused(as, names[i].text, "unsupported_parameter", "m"),
                         names[i].param);
    }
}

TEST(each_refusal_is_read)
{
    size_t count = 0;
    const char *const *refusals = vq_param_refusals(&count);
    for (size_t i = 0; i < count; i++) {
        char message[128];
        (void)snprintf(message, sizeof(message), "seed: %s here", refusals[i]);
        assert_int_equal(vq_params_refused("openai", "", "", message), VQ_PARAM_SEED);
    }
}

/* As servers have been seen to write it. */
TEST(spellings)
{
    static const struct {
        const char *dialect;
        int status;
        uint32_t sent, refused;
        const char *body;
    } rows[] = {
        {"openai", 400, VQ_PARAMS_ALL, VQ_PARAM_MAX_TOKENS,
         "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this "
         "model. Use 'max_completion_tokens' instead.\",\"type\":\"invalid_request_error\","
         "\"param\":\"max_tokens\",\"code\":\"unsupported_parameter\"}}"},
        {"openai", 400, VQ_PARAM_MAX_TOKENS | VQ_PARAM_SEED, VQ_PARAM_MAX_TOKENS,
         "{\"error\":\"max_tokens is not supported, use max_completion_tokens\"}"},
        {"openai", 400, VQ_PARAM_MAX_COMPLETION_TOKENS, VQ_PARAM_MAX_COMPLETION_TOKENS,
         "{\"error\":{\"message\":\"Unrecognized request argument supplied: "
         "max_completion_tokens\",\"type\":\"invalid_request_error\",\"param\":null}}"},
        {"openai", 400, VQ_PARAMS_ALL, VQ_PARAM_TEMPERATURE,
         "{\"error\":{\"message\":\"Unsupported value: 'temperature' does not support 0 with this "
         "model. Only the default (1) value is supported.\",\"param\":\"temperature\","
         "\"code\":\"unsupported_value\"}}"},
        {"anthropic", 400, VQ_PARAMS_ALL, VQ_PARAM_TEMPERATURE,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
         "\"`temperature` is deprecated for this model.\"}}"},
        {"openai", 422, VQ_PARAMS_ALL, VQ_PARAM_SEED,
         "{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":"
         "[\"body\",\"seed\"],\"msg\":\"Extra inputs are not permitted\",\"input\":7}]}}"},
        {"openai", 422, VQ_PARAMS_ALL, VQ_PARAM_SEED,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"seed\"],\"msg\":\"Extra "
         "inputs are not permitted\"}]}"},
        {"azure", 400, VQ_PARAMS_ALL, VQ_PARAM_LOGPROBS,
         "{\"error\":{\"message\":\"logprobs are not supported with this model.\"}}"},
        {"openai", 400, VQ_PARAMS_ALL, VQ_PARAM_SCHEMA,
         "{\"error\":{\"message\":\"This model does not support response format `json_schema`\"}}"},
        {"openai", 400, VQ_PARAMS_ALL, VQ_PARAM_SCHEMA,
         "{\"error\":{\"message\":\"This response_format type is unavailable now\"}}"},
        {"openai", 400, VQ_PARAM_SYSTEM, VQ_PARAM_SYSTEM,
         "{\"error\":{\"message\":\"Unsupported value: 'messages[0].role' does not support "
         "'system' with this model.\",\"param\":\"messages[0].role\"}}"},
        {"openai", 400, VQ_PARAM_SYSTEM, VQ_PARAM_SYSTEM,
         "{\"object\":\"error\",\"message\":\"System role not supported\",\"code\":400}"},
        {"openai", 400, VQ_PARAM_DEVELOPER, VQ_PARAM_DEVELOPER,
         "{\"error\":{\"message\":\"'developer' is not one of ['system', 'assistant', 'user'] - "
         "'messages.0.role'\"}}"},
        {"gemini", 400, VQ_PARAMS_ALL, VQ_PARAM_SYSTEM,
         "{\"error\":{\"code\":400,\"message\":\"Developer instruction is not enabled for "
         "models/gemma\",\"status\":\"INVALID_ARGUMENT\"}}"},
        /* a value, a length, another thing: nothing is learned */
        {"openai", 400, VQ_PARAMS_ALL, 0,
         "{\"error\":{\"message\":\"max_tokens is too large: 100000. This model supports at most "
         "16384 completion tokens.\",\"param\":\"max_tokens\",\"code\":\"invalid_value\"}}"},
        {"openai", 400, VQ_PARAMS_ALL, 0, "{\"error\":{\"message\":\"top_k is not supported\"}}"},
        {"openai", 400, VQ_PARAMS_ALL, 0, "{\"error\":{\"message\":\"reseeding is unsupported\"}}"},
        {"openai", 500, VQ_PARAMS_ALL, 0, "{\"error\":{\"message\":\"seed is not supported\"}}"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_reply reply;
        struct vq_reply_headers headers;
        vq_reply_headers_init(&headers);
        struct vq_response response = {
            .status = rows[i].status, .headers = &headers, .body = vq_span_str(rows[i].body)};
        vq_reply_init(&reply);
        assert_int_equal(vq_provider_find(rows[i].dialect)->read(&response, &reply), VQ_OK);
        if ((reply.params_refused & rows[i].sent) != rows[i].refused) {
            fail_msg("row %zu: %x, not %x: %s", i, reply.params_refused, rows[i].refused,
                     reply.error_message);
        }
        vq_reply_free(&reply);
    }
}
