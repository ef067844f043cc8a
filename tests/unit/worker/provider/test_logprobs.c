/* Where a verdict's label stands among tokens, and what their alternatives say of it; also when
 * they are nonsense. */

#include "tests/unit/test.h"

#include "worker/provider/provider.h"

#include <stdio.h>
#include <string.h>

#define T(token, top) "{\"token\":\"" token "\",\"logprob\":-0.1,\"top_logprobs\":[" top "]}"
#define ALT(token, n) "{\"token\":\"" token "\",\"logprob\":" n "}"

static void read_logprobs(const char *dialect, const char *body, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {.status = 200, .headers = &headers, .body = vq_span_str(body)};
    vq_reply_init(reply);
    assert_int_equal(vq_provider_find(dialect)->read(&response, reply), VQ_OK);
    assert_int_equal(reply->class, VQ_REPLY_ANSWER);
}

static void check_openai(const char *content, const char *expected)
{
    char body[4096];
    (void)snprintf(
        body, sizeof(body),
        "{\"choices\":[{\"message\":{\"content\":\"x\"},\"logprobs\":%s,\"finish_reason\":"
        "\"stop\"}]}",
        content);
    struct vq_reply reply;
    read_logprobs("openai", body, &reply);
    assert_string_equal(reply.label_logprobs, expected);
    vq_reply_free(&reply);
}

TEST(test_the_last_label_counts)
{
    static const char *const rows[][2] = {
        {"{\"content\":[" T("Model", "") "," T(":", "") "," T(
             " A", ALT(" A", "-0.25") "," ALT(" B", "-1.5") "," ALT(" The", "-4")) "]}",
         "A=-0.25 B=-1.5"},
        /* an earlier one is only spoken of */
        {"{\"content\":[" T("Model: ", "") "," T("B", ALT("B", "-1")) "," T("\\nModel: ", "") "," T(
             "A", ALT("A", "-2")) "]}",
         "A=-2"},
        /* as JSON; the label begins inside a token; equal spellings are added: ln(2 e^-2) */
        {"{\"content\":[" T("{\\\"analysis\\\":\\\"x\\\",\\\"model", "") "," T(
             "\\\":\\\"A", ALT("\\\":\\\"A", "-2") "," ALT("A", "-2") "," ALT(
                               "\\\":\\\"N", "-3") "," ALT("\\\":\\\"eq", "-4")) "," T("\\\"}",
                                                                                       "") "]}",
         "A=-1.30685 equal=-4 N/A=-3"},
        {"{\"content\":[" T("**Preference:** ",
                            "") "," T("tie", ALT("tie", "-0.5") "," ALT("B", "0")) "]}",
         "B=0 equal=-0.5"},
        {"{\"content\":[" T("Model: ", "") "," T("uns", ALT("uns", "-1")) "," T("ure", "") "]}",
         "unsure=-1"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        check_openai(rows[i][0], rows[i][1]);
    }
}

TEST(test_nonsense_says_nothing)
{
    static const char *const rows[] = {
        "null",
        "1",
        "[]",
        "{}",
        "{\"content\":null}",
        "{\"content\":{}}",
        "{\"content\":[]}",
        "{\"content\":[null,1,\"x\",[],{}]}",
        "{\"content\":[" T("no keyword A", ALT("A", "-1")) "]}",
        "{\"content\":[" T("Model A", ALT("A", "-1")) "]}",
        "{\"content\":[" T("Model:", ALT("A", "-1")) "]}", /* nothing behind it */
        "{\"content\":[" T("Model: ", "") "," T("A", "") "]}",
        "{\"content\":[" T("Model: ", "") "," T("A", ALT("A", "\"-1\"")) "]}",
        "{\"content\":[" T("Model: ", "") "," T("A", ALT("A", "0.5")) "]}", /* no probability */
        "{\"content\":[" T("Model: ", "") "," T("A", ALT("A", "-1e300")) "]}",
        "{\"content\":[" T("Model: ", "") "," T("A", ALT("Apple", "-1") "," ALT("", "-1")) "]}",
        "{\"content\":[" T("Model: ", "") ",{\"token\":\"A\",\"top_logprobs\":7}]}",
        "{\"content\":[" T("Model: ",
                           "") ",{\"token\":\"A\",\"top_logprobs\":[null,1,{\"token\":1}]}]}",
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        check_openai(rows[i], "");
    }
}

TEST(test_gemini_has_two_lists)
{
    struct vq_reply reply;
    static const char front[] = "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Model: "
                                "A\"}]},\"finishReason\":\"STOP\","
                                "\"logprobsResult\":{\"chosenCandidates\":[{\"token\":\"Model\"},{"
                                "\"token\":\": \"},{\"token\":"
                                "\"A\"}],\"topCandidates\":[";
    static const struct {
        const char *top, *expected;
    } cases[] = {
        {"{},{},{\"candidates\":[{\"token\":\"A\",\"logProbability\":-0.1},{\"token\":\"B\","
         "\"logProbability\":-2.4}]}",
         "A=-0.1 B=-2.4"},
        {"{},{}", ""}, /* shorter than the other */
        {"{},{},{\"candidates\":null}", ""},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char body[1024];
        (void)snprintf(body, sizeof(body), "%s%s]}}]}", front, cases[i].top);
        read_logprobs("gemini", body, &reply);
        assert_string_equal(reply.label_logprobs, cases[i].expected);
        vq_reply_free(&reply);
    }
}
