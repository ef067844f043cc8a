/* Results of every dialect, fed in pieces of every size: outcomes, replies that the chat dialect
 * reads, damaged results with their numbers. */
#include "tests/unit/test.h"

#include "worker/provider/batch_lines.h"

#include <stdio.h>
#include <string.h>

/* "number:outcome:status:custom_id:reply;" or "number:damaged(why);" of each result, then the end
 * status. */
static void read_all(const char *dialect, enum vq_batch_layout layout, struct vq_span text,
                     size_t piece, struct vq_buf *log)
{
    struct vq_batch_lines lines;
    struct vq_batch_line line;
    vq_batch_lines_init(&lines, vq_batch_find(dialect), layout);
    vq_buf_clear(log);
    bool last = false;
    enum vq_status status = VQ_AGAIN;
    for (size_t from = 0; !last;) {
        size_t n = text.bytes - from < piece ? text.bytes - from : piece;
        last = n == 0;
        struct vq_span bytes = vq_span(text.at + from, n);
        from += n;
        while ((status = last ? vq_batch_lines_end(&lines, &line)
                              : vq_batch_lines_next(&lines, &bytes, &line)) == VQ_OK) {
            if (line.damaged) {
                vq_buf_printf(log, "%d:damaged(%s);", (int)line.number, line.why);
            } else {
                vq_buf_printf(log, "%d:%s:%d:%s:%.*s;", (int)line.number,
                              vq_batch_outcome_name(line.outcome), line.status, line.custom_id,
                              (int)line.reply.bytes, line.reply.bytes > 0 ? line.reply.at : "");
            }
        }
    }
    vq_buf_puts(log, vq_status_name(status));
    vq_batch_lines_free(&lines);
}

static void check(const char *dialect, enum vq_batch_layout layout, const char *text,
                  const char *expected)
{
    static const size_t pieces[] = {1, 2, 3, 7, 64, 100000};
    struct vq_buf log;
    vq_buf_init(&log, 1 << 16);
    for (size_t i = 0; i < VQ_COUNT(pieces); i++) {
        read_all(dialect, layout, vq_span_str(text), pieces[i], &log);
        assert_string_equal(log.at, expected);
    }
    vq_buf_free(&log);
}

TEST(test_openai)
{
    check("openai", VQ_BATCH_JSONL,
          "{\"id\":\"r1\",\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"request_id\":"
          "\"q\",\"body\":{\"choices\":[1]}},\"error\":null}\n"
          "\r\n"
          "{\"custom_id\":\"b\",\"response\":{\"status_code\":429,\"body\":{\"error\":{\"code\":"
          "\"x\"}}},\"error\":null}\r\n"
          "{\"custom_id\":\"c\",\"response\":null,\"error\":{\"code\":\"batch_expired\"}}\n"
          "{\"custom_id\":\"d\",\"response\":null,\"error\":{\"code\":\"batch_cancelled\"}}\n"
          "{\"custom_id\":\"e\",\"response\":null,\"error\":{\"code\":\"y\",\"message\":\"m\"}}",
          "1:succeeded:200:a:{\"choices\":[1.0]};"
          "3:errored:429:b:{\"error\":{\"code\":\"x\"}};"
          "4:expired:0:c:;5:cancelled:0:d:;"
          "6:errored:500:e:{\"error\":{\"code\":\"y\",\"message\":\"m\"}};AGAIN");
}

TEST(test_damaged_lines)
{
    check("openai", VQ_BATCH_JSONL,
          "{\"custom_id\":\"a\",\"respo\n"
          "7\n"
          "{\"response\":{\"status_code\":200,\"body\":{}}}\n"
          "{\"custom_id\":\"a b\",\"response\":{\"status_code\":200,\"body\":{}}}\n"
          "{\"custom_id\":\"a\",\"response\":{\"body\":{}}}\n"
          "{\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":\"x\"}}\n"
          "{\"custom_id\":\"a\"}\n"
          "{\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{}}}\n",
          "1:damaged(it is not JSON);2:damaged(it is not JSON);"
          "3:damaged(it has no usable custom_id);4:damaged(it has no usable custom_id);"
          "5:damaged(its response has no HTTP status);"
          "6:damaged(its reply is not a JSON object);"
          "7:damaged(it has neither a response nor an error);8:succeeded:200:a:{};AGAIN");
}

TEST(test_anthropic)
{
    check("anthropic", VQ_BATCH_JSONL,
          "{\"custom_id\":\"a\",\"result\":{\"type\":\"succeeded\",\"message\":{\"id\":\"m\"}}}\n"
          "{\"custom_id\":\"b\",\"result\":{\"type\":\"errored\",\"error\":{\"type\":\"error\","
          "\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"}}}}\n"
          "{\"custom_id\":\"c\",\"result\":{\"type\":\"canceled\"}}\n"
          "{\"custom_id\":\"d\",\"result\":{\"type\":\"expired\"}}\n"
          "{\"custom_id\":\"e\",\"result\":{\"type\":\"dropped\"}}\n",
          "1:succeeded:200:a:{\"id\":\"m\"};"
          "2:errored:400:b:{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
          "\"message\":\"no\"}};"
          "3:cancelled:0:c:;4:expired:0:d:;5:damaged(its result has no type that is known);AGAIN");
}

#define INLINE(elements)                                                                           \
    "{\"name\":\"batches/b\", \"metadata\":{\"displayName\":\"inlinedResponses\","                 \
    "\"output\":{\"inlinedResponses\" : {\"inlinedResponses\" : [" elements "]}}},"                \
    "\"response\":{\"inlinedResponses\":{\"inlinedResponses\":[{\"again\":1}]}}}"

TEST(test_gemini_inline)
{
    check("gemini", VQ_BATCH_INLINE,
          INLINE(" {\"response\":{\"t\":\"a ],}{\\\"[ \\\\\"},\"metadata\":{\"key\":\"a\"}} ,\n"
                 "{\"metadata\":{\"key\":\"b\"},\"error\":{\"code\":3,\"message\":\"m\"}},"
                 "{\"metadata\":{\"key\":\"c\"},\"error\":{\"code\":4}},"
                 "{\"response\":{\"inlinedResponses\":[1,[2]]}},null"),
          "1:succeeded:200:a:{\"t\":\"a ],}{\\\"[ \\\\\"};"
          "2:errored:400:b:{\"error\":{\"code\":3.0,\"message\":\"m\"}};"
          "3:expired:0:c:;4:damaged(it has no usable key);5:damaged(it is not JSON);AGAIN");
    check("gemini", VQ_BATCH_INLINE, INLINE(""), "AGAIN");
    check("gemini", VQ_BATCH_INLINE, "{\"name\":\"b\"}", "AGAIN");
    check("gemini", VQ_BATCH_INLINE, "", "INVALID");
    check("gemini", VQ_BATCH_INLINE, "{\"name\":{\"b\":1}", "INVALID");
    check("gemini", VQ_BATCH_INLINE, "{\"inlinedResponses\":[{\"key\":\"a\",\"response\":{}},{",
          "1:succeeded:200:a:{};INVALID");
    check("gemini", VQ_BATCH_JSONL, "{\"key\":\"a\",\"response\":{}}\n{\"key\":\"b\",\"error\":{}}",
          "1:succeeded:200:a:{};2:errored:500:b:{\"error\":{}};AGAIN");
}

TEST(test_a_long_line_is_damaged_and_the_next_one_is_read)
{
    static const char good[] = "\n{\"custom_id\":\"a\",\"response\":{\"status_code\":200,"
                               "\"body\":{}}}\n";
    struct vq_buf text, log;
    vq_buf_init(&text, 2 * VQ_BATCH_LINE_BYTES_MAX);
    vq_buf_init(&log, 1 << 16);
    char *at = vq_buf_reserve(&text, VQ_BATCH_LINE_BYTES_MAX + 1);
    assert_non_null(at);
    memset(at, 'x', VQ_BATCH_LINE_BYTES_MAX + 1);
    text.bytes += VQ_BATCH_LINE_BYTES_MAX + 1;
    vq_buf_puts(&text, good);
    read_all("openai", VQ_BATCH_JSONL, vq_buf_span(&text), 65536, &log);
    assert_string_equal(log.at,
                        "1:damaged(it is over the size limit of 8 MB);2:succeeded:200:a:{};AGAIN");
    vq_buf_free(&text);
    vq_buf_free(&log);
}

/* What a batch returns is read as the response of a call of its own. */
TEST(test_replies_are_read_by_the_chat_dialect)
{
    static const struct {
        const char *dialect, *text;
        enum vq_reply_class class;
        const char *says;
    } rows[] = {
        {"openai",
         "{\"custom_id\":\"a\",\"response\":{\"status_code\":200,\"body\":{\"model\":\"m\","
         "\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"content\":\"Model: A\"}}],"
         "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3}}}}",
         VQ_REPLY_ANSWER, "Model: A"},
        {"azure",
         "{\"custom_id\":\"a\",\"response\":{\"status_code\":429,\"body\":{\"error\":{\"code\":"
         "\"insufficient_quota\",\"message\":\"no money\"}}}}",
         VQ_REPLY_MONEY, "no money"},
        {"anthropic",
         "{\"custom_id\":\"a\",\"result\":{\"type\":\"succeeded\",\"message\":{\"content\":[{"
         "\"type\":\"text\",\"text\":\"Model: A\"}],\"stop_reason\":\"end_turn\",\"usage\":{"
         "\"input_tokens\":12,\"output_tokens\":3}}}}",
         VQ_REPLY_ANSWER, "Model: A"},
        {"anthropic",
         "{\"custom_id\":\"a\",\"result\":{\"type\":\"errored\",\"error\":{\"type\":\"error\","
         "\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}}}",
         VQ_REPLY_BAD_REQUEST, "bad"},
        {"gemini",
         "{\"key\":\"a\",\"response\":{\"candidates\":[{\"content\":{\"parts\":[{\"text\":"
         "\"Model: A\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":12,"
         "\"candidatesTokenCount\":3}}}",
         VQ_REPLY_ANSWER, "Model: A"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_batch_lines lines;
        struct vq_batch_line line;
        struct vq_reply reply;
        struct vq_span bytes = vq_span_str(rows[i].text);
        const struct vq_batch_dialect *dialect = vq_batch_find(rows[i].dialect);
        vq_batch_lines_init(&lines, dialect, VQ_BATCH_JSONL);
        vq_reply_init(&reply);
        assert_int_equal(vq_batch_lines_next(&lines, &bytes, &line), VQ_AGAIN);
        assert_int_equal(vq_batch_lines_end(&lines, &line), VQ_OK);
        assert_int_equal(vq_batch_reply(dialect, &line, 1000, NULL, &reply), VQ_OK);
        assert_int_equal(reply.class, rows[i].class);
        if (reply.class == VQ_REPLY_ANSWER) {
            assert_string_equal(reply.content.at, rows[i].says);
            assert_int_equal(reply.tokens_in, 12);
            assert_int_equal(reply.tokens_out, 3);
        } else {
            assert_string_equal(reply.error_message, rows[i].says);
        }
        vq_reply_free(&reply);
        vq_batch_lines_free(&lines);
    }
}
