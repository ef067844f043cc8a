/* Batches of every dialect: names, documents, the requests of each step, and what responses say of
 * a batch and of the list. Shapes as on the pages that docs/use/providers.md names. */
#include "tests/unit/test.h"

#include "tests/unit/heap.h"

#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include "worker/provider/batch.h"

#include <stdio.h>
#include <string.h>

#define NAME "run-1.abc"

static struct vq_batch_at at_of(const char *dialect, const char *base_url)
{
    struct vq_batch_at at = {vq_batch_find(dialect), base_url, "m 1"};
    assert_non_null(at.dialect);
    return at;
}

TEST(test_names)
{
    assert_true(vq_batch_name_ok(NAME));
    assert_false(vq_batch_name_ok(""));
    assert_false(vq_batch_name_ok("a b"));
    assert_false(vq_batch_name_ok("a\"b"));
    char name[VQ_BATCH_NAME_BYTES_MAX + 2];
    memset(name, 'a', sizeof(name));
    name[VQ_BATCH_NAME_BYTES_MAX] = '\0';
    assert_true(vq_batch_name_ok(name));
    name[VQ_BATCH_NAME_BYTES_MAX] = 'a';
    name[VQ_BATCH_NAME_BYTES_MAX + 1] = '\0';
    assert_false(vq_batch_name_ok(name));
    assert_null(vq_batch_find("cohere"));
}

/* The configuration knows the limits of the dialects without the worker. */
TEST(test_limits_are_those_of_the_configuration)
{
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    for (size_t i = 0; i < VQ_COUNT(dialects); i++) {
        const struct vq_batch_dialect *d = vq_batch_find(dialects[i]);
        struct vq_conf_batch_limits limits;
        assert_true(vq_conf_batch_provider(dialects[i], &limits));
        assert_int_equal(limits.requests, d->calls_max);
        assert_in_range(d->document_bytes_max, limits.bytes - VQ_BATCH_FRAME_BYTES_MAX,
                        limits.bytes);
    }
    struct vq_conf_batch_limits none;
    assert_false(vq_conf_batch_provider("cohere", &none));
    assert_int_equal(none.requests, 0);
}

static void check_id(const char *id, enum vq_batch_call_id_kind kind, uint32_t call)
{
    uint32_t found = 77;
    assert_int_equal(vq_batch_call_id_parse(NAME, 1000, vq_span_str(id), &found), kind);
    assert_int_equal(found, kind == VQ_BATCH_ID_OURS ? call : 77);
}

TEST(test_call_ids)
{
    static const uint32_t calls[] = {0, 1, 9, 10, 999};
    char id[VQ_BATCH_CALL_ID_BYTES], other[VQ_BATCH_CALL_ID_BYTES], text[64];
    for (size_t i = 0; i < VQ_COUNT(calls); i++) {
        vq_batch_call_id(NAME, calls[i], id);
        assert_true(strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(id));
        check_id(id, VQ_BATCH_ID_OURS, calls[i]);
    }
    vq_batch_call_id(NAME, VQ_BATCH_CALLS_MAX - 1, id);
    assert_true(strlen(id) < 64);
    check_id(id, VQ_BATCH_ID_OUT_OF_RANGE, 0);
    vq_batch_call_id("another", 1, other);
    check_id(other, VQ_BATCH_ID_OTHER_BATCH, 0);
    vq_batch_call_id(NAME, 1, id);
    size_t n = strlen(id);
    static const char *const tails[] = {"", "01", "1 ", "x", "-1", "1234567890", "4294967297"};
    for (size_t i = 0; i < VQ_COUNT(tails); i++) {
        (void)snprintf(text, sizeof(text), "%.*s%s", (int)(n - 1), id, tails[i]);
        check_id(text, VQ_BATCH_ID_FOREIGN, 0);
    }
    (void)snprintf(text, sizeof(text), " %s", id);
    check_id(text, VQ_BATCH_ID_FOREIGN, 0);
    check_id("", VQ_BATCH_ID_FOREIGN, 0);
    check_id("request-1", VQ_BATCH_ID_FOREIGN, 0);
}

/* A call in a document: the texts around its id. */
struct form {
    const char *before_id, *after_id;
};

static void put_expected(const struct form *form, uint32_t call, const char *body,
                         struct vq_buf *out)
{
    char id[VQ_BATCH_CALL_ID_BYTES];
    vq_batch_call_id(NAME, call, id);
    vq_buf_printf(out, "%s%s%s%s}", form->before_id, id, form->after_id, body);
}

static void check_document(const char *dialect, const char *base_url, struct form form)
{
    struct vq_batch_at at = at_of(dialect, base_url);
    struct vq_buf document, expected;
    vq_buf_init(&document, 4096);
    vq_buf_init(&expected, 4096);
    for (uint32_t call = 0; call < 2; call++) {
        const char *body = call == 0 ? "{\"a\":1}" : "{\"b\":2}";
        assert_int_equal(vq_batch_add(&at, NAME, call, vq_span_str(body), &document), VQ_OK);
        vq_buf_puts(&expected, call == 0 ? "" : at.dialect->separator);
        put_expected(&form, call, body, &expected);
    }
    assert_string_equal(document.at, expected.at);
    assert_int_equal(vq_batch_add(&at, NAME, 2, vq_span_str("{\n}"), &document), VQ_INVALID);
    assert_int_equal(vq_batch_add(&at, NAME, 2, vq_span_str(""), &document), VQ_INVALID);
    assert_int_equal(vq_batch_add(&at, NAME, at.dialect->calls_max, vq_span_str("{}"), &document),
                     VQ_LIMIT);
    document.bytes_max = document.bytes + 10; /* a call that does not fit leaves no trace */
    assert_int_equal(vq_batch_add(&at, NAME, 2, vq_span_str("{\"c\":3}"), &document), VQ_LIMIT);
    assert_string_equal(document.at, expected.at);
    assert_int_equal(document.status, VQ_OK);
    vq_buf_free(&document);
    vq_buf_free(&expected);
}

TEST(test_documents)
{
    static const char id[] = "{\"custom_id\":\"";
    struct form openai = {id, "\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":"};
    struct form azure = {id, "\",\"method\":\"POST\",\"url\":\"/chat/completions\",\"body\":"};
    struct form anthropic = {id, "\",\"params\":"};
    struct form gemini = {"{\"key\":\"", "\",\"request\":"};
    check_document("openai", "https://h/v1", openai);
    check_document("azure", "https://h?api-version=1", azure);
    check_document("azure", "https://h/openai/v1", openai);
    check_document("anthropic", "https://h/v1", anthropic);
    check_document("gemini", "https://h/v1beta", gemini);
    assert_string_equal(vq_batch_find("openai")->separator, "\n");
    assert_string_equal(vq_batch_find("gemini")->separator, "\n");
    assert_string_equal(vq_batch_find("anthropic")->separator, ",");
}

static struct vq_batch_request request;

static void check_request(enum vq_status status, enum vq_batch_method method, const char *url,
                          const char *body)
{
    assert_int_equal(status, VQ_OK);
    assert_int_equal(request.method, method);
    assert_string_equal(request.url.at, url);
    char text[2048];
    (void)snprintf(text, sizeof(text), "%.*s%.*s%.*s", (int)request.head.bytes,
                   request.head.bytes > 0 ? request.head.at : "", (int)request.document.bytes,
                   request.document.bytes > 0 ? request.document.at : "", (int)request.tail.bytes,
                   request.tail.bytes > 0 ? request.tail.at : "");
    assert_string_equal(text, body);
    assert_int_equal(request.content_type[0] != '\0', body[0] != '\0');
}

static void check_openai_like(const struct vq_batch_at *at, const char *base, const char *query,
                              const char *endpoint)
{
    const struct vq_batch_dialect *d = at->dialect;
    char url[256], body[512];
    char more = query[0] == '\0' ? '?' : '&';
#define URL(...) ((void)snprintf(url, sizeof(url), __VA_ARGS__), url)
    struct vq_batch_view view = {.output_file = "f-out", .error_file = ""};
    vq_batch_request_init(&request);
    assert_null(d->open);
    check_request(d->upload(at, NAME, "", vq_span_str("DOC"), &request), VQ_BATCH_POST,
                  URL("%s/files%s", base, query),
                  "--vibeq-batch-document\r\n"
                  "Content-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n"
                  "--vibeq-batch-document\r\n"
                  "Content-Disposition: form-data; name=\"file\"; filename=\"run-1.abc.jsonl\"\r\n"
                  "Content-Type: application/jsonl\r\n\r\nDOC\n\r\n--vibeq-batch-document--\r\n");
    assert_string_equal(request.content_type, "multipart/form-data; boundary=vibeq-batch-document");
    (void)snprintf(body, sizeof(body),
                   "{\"input_file_id\":\"f-1\",\"endpoint\":\"%s\",\"completion_window\":\"24h\","
                   "\"metadata\":{\"vibeq\":\"run-1.abc\"}}",
                   endpoint);
    check_request(d->create(at, NAME, "f-1", vq_span(NULL, 0), &request), VQ_BATCH_POST,
                  URL("%s/batches%s", base, query), body);
    assert_string_equal(request.content_type, "application/json");
    check_request(d->get(at, "b/1", &request), VQ_BATCH_GET,
                  URL("%s/batches/b%%2F1%s", base, query), "");
    check_request(d->list(at, "", &request), VQ_BATCH_GET,
                  URL("%s/batches%s%climit=100", base, query, more), "");
    check_request(d->list(at, "b&1", &request), VQ_BATCH_GET,
                  URL("%s/batches%s%climit=100&after=b%%261", base, query, more), "");
    check_request(d->cancel(at, "b", &request), VQ_BATCH_POST,
                  URL("%s/batches/b/cancel%s", base, query), "");
    check_request(d->results(at, &view, VQ_BATCH_OUTPUT, &request), VQ_BATCH_GET,
                  URL("%s/files/f-out/content%s", base, query), "");
    assert_int_equal(d->results(at, &view, VQ_BATCH_ERRORS, &request), VQ_NOT_FOUND);
    check_request(d->drop(at, "f-1", &request), VQ_BATCH_DELETE, URL("%s/files/f-1%s", base, query),
                  "");
    vq_batch_request_free(&request);
#undef URL
}

TEST(test_openai_and_azure_requests)
{
    static const struct {
        const char *dialect, *base_url, *base, *query, *endpoint;
    } rows[] = {
        {"openai", "https://h/v1/", "https://h/v1", "", "/v1/chat/completions"},
        {"azure", "https://h?api-version=1", "https://h/openai", "?api-version=1",
         "/chat/completions"},
        {"azure", "https://h/openai?api-version=1", "https://h/openai", "?api-version=1",
         "/chat/completions"},
        {"azure", "https://h/openai/deployments/d?api-version=1", "https://h/openai",
         "?api-version=1", "/chat/completions"},
        {"azure", "https://h/openai/v1", "https://h/openai/v1", "", "/v1/chat/completions"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_batch_at at = at_of(rows[i].dialect, rows[i].base_url);
        check_openai_like(&at, rows[i].base, rows[i].query, rows[i].endpoint);
    }
}

TEST(test_anthropic_requests)
{
    struct vq_batch_at at = at_of("anthropic", "https://h/v1");
    const struct vq_batch_dialect *d = at.dialect;
    struct vq_batch_view view = {.id = "b", .has_results = true};
    vq_batch_request_init(&request);
    assert_null(d->upload);
    assert_int_equal(d->inline_bytes_max, d->document_bytes_max);
    check_request(d->create(&at, NAME, "", vq_span_str("DOC"), &request), VQ_BATCH_POST,
                  "https://h/v1/messages/batches", "{\"requests\":[DOC]}");
    check_request(d->get(&at, "b?", &request), VQ_BATCH_GET, "https://h/v1/messages/batches/b%3F",
                  "");
    check_request(d->list(&at, "", &request), VQ_BATCH_GET,
                  "https://h/v1/messages/batches?limit=100", "");
    check_request(d->list(&at, "b", &request), VQ_BATCH_GET,
                  "https://h/v1/messages/batches?limit=100&after_id=b", "");
    check_request(d->cancel(&at, "b", &request), VQ_BATCH_POST,
                  "https://h/v1/messages/batches/b/cancel", "");
    check_request(d->results(&at, &view, VQ_BATCH_OUTPUT, &request), VQ_BATCH_GET,
                  "https://h/v1/messages/batches/b/results", "");
    view.has_results = false;
    assert_int_equal(d->results(&at, &view, VQ_BATCH_OUTPUT, &request), VQ_NOT_FOUND);
    assert_string_equal(d->headers[1].name, "anthropic-version");
    vq_batch_request_free(&request);
}

TEST(test_gemini_requests)
{
    struct vq_batch_at at = at_of("gemini", "https://h/v1beta");
    const struct vq_batch_dialect *d = at.dialect;
    struct vq_batch_view view = {.id = "batches/b", .has_results = true};
    vq_batch_request_init(&request);
    static const char document[] = "{\"key\":\"k-0\",\"request\":{\"a\":[1,2]}}\n"
                                   "{\"key\":\"k-1\",\"request\":{}}";
    check_request(d->create(&at, NAME, "", vq_span_str(document), &request), VQ_BATCH_POST,
                  "https://h/v1beta/models/m%201:batchGenerateContent",
                  "{\"batch\":{\"displayName\":\"run-1.abc\",\"inputConfig\":{\"requests\":{"
                  "\"requests\":[{\"metadata\":{\"key\":\"k-0\"},\"request\":{\"a\":[1,2]}},"
                  "{\"metadata\":{\"key\":\"k-1\"},\"request\":{}}]}}}}");
    check_request(d->create(&at, NAME, "files/f", vq_span_str(document), &request), VQ_BATCH_POST,
                  "https://h/v1beta/models/m%201:batchGenerateContent",
                  "{\"batch\":{\"displayName\":\"run-1.abc\",\"inputConfig\":{\"fileName\":"
                  "\"files/f\"}}}");
    check_request(d->get(&at, "batches/b/c", &request), VQ_BATCH_GET,
                  "https://h/v1beta/batches/b%2Fc", "");
    check_request(d->list(&at, "", &request), VQ_BATCH_GET, "https://h/v1beta/batches?pageSize=5",
                  "");
    check_request(d->list(&at, "a=", &request), VQ_BATCH_GET,
                  "https://h/v1beta/batches?pageSize=5&pageToken=a%3D", "");
    check_request(d->cancel(&at, "batches/b", &request), VQ_BATCH_POST,
                  "https://h/v1beta/batches/b:cancel", "");
    check_request(d->results(&at, &view, VQ_BATCH_OUTPUT, &request), VQ_BATCH_GET,
                  "https://h/v1beta/batches/b", "");
    assert_int_equal(d->layout(&view), VQ_BATCH_INLINE);
    (void)snprintf(view.output_file, sizeof(view.output_file), "files/f");
    check_request(d->results(&at, &view, VQ_BATCH_OUTPUT, &request), VQ_BATCH_GET,
                  "https://h/download/v1beta/files/f:download?alt=media", "");
    assert_int_equal(d->layout(&view), VQ_BATCH_JSONL);
    vq_batch_request_free(&request);
}

static void check_header(size_t at, const char *name, const char *value)
{
    assert_true(at < request.headers_count);
    assert_string_equal(request.headers[at].name, name);
    assert_string_equal(request.headers[at].value, value);
}

TEST(test_gemini_files)
{
    struct vq_batch_at at = at_of("gemini", "https://h/v1beta?k=1");
    const struct vq_batch_dialect *d = at.dialect;
    vq_batch_request_init(&request);
    check_request(d->open(&at, NAME, 200000000, &request), VQ_BATCH_POST,
                  "https://h/upload/v1beta/files?k=1",
                  "{\"file\":{\"displayName\":\"run-1.abc\"}}");
    check_header(0, "X-Goog-Upload-Protocol", "resumable");
    check_header(1, "X-Goog-Upload-Command", "start");
    check_header(2, "X-Goog-Upload-Header-Content-Length", "200000000");
    check_header(3, "X-Goog-Upload-Header-Content-Type", "application/jsonl");
    check_request(d->upload(&at, NAME, "s_1", vq_span_str("DOC"), &request), VQ_BATCH_POST,
                  "https://h/upload/v1beta/files?k=1&upload_id=s_1&upload_protocol=resumable",
                  "DOC");
    assert_string_equal(request.content_type, "application/jsonl");
    assert_int_equal(request.headers_count, 2);
    check_header(0, "X-Goog-Upload-Command", "upload, finalize");
    check_header(1, "X-Goog-Upload-Offset", "0");
    check_request(d->drop(&at, "files/f", &request), VQ_BATCH_DELETE,
                  "https://h/v1beta/files/f?k=1", "");
    assert_int_equal(request.headers_count, 0);
    vq_batch_request_free(&request);
    char file[VQ_BATCH_ID_BYTES_MAX];
    assert_int_equal(d->read_upload(vq_span_str("{\"file\":{\"name\":\"files/f\"}}"), file), VQ_OK);
    assert_string_equal(file, "files/f");
    assert_int_equal(d->read_upload(vq_span_str("{\"name\":\"files/f\"}"), file), VQ_INVALID);
}

/* A batch of this size goes inline whatever its calls are. */
TEST(test_gemini_inline_fits)
{
    struct vq_batch_at at = at_of("gemini", "https://h/v1beta");
    struct vq_buf document;
    vq_buf_init(&document, (size_t)at.dialect->inline_bytes_max);
    uint32_t call = 0;
    while (vq_batch_add(&at, NAME, call % VQ_BATCH_CALLS_MAX, vq_span_str("{}"), &document) ==
           VQ_OK) {
        call++;
    }
    assert_true(document.bytes > at.dialect->inline_bytes_max - 64);
    vq_batch_request_init(&request);
    assert_int_equal(at.dialect->create(&at, NAME, "", vq_buf_span(&document), &request), VQ_OK);
    assert_true(request.head.bytes + request.document.bytes + request.tail.bytes < 20000000);
    vq_batch_request_free(&request);
    vq_buf_free(&document);
}

/* The session is all that is taken from the URL. */
TEST(test_gemini_sessions)
{
    static const struct {
        const char *url, *session;
    } rows[] = {
        {"https://h/upload/v1beta/files?upload_id=AB-c_1&upload_protocol=resumable", "AB-c_1"},
        {"https://evil/?key=x&upload_id=s.1~", "s.1~"},
        {"/f?a=upload_id=no&upload_id=yes#here", "yes"},
        {"/f?upload_id=a%2Fb", NULL},
        {"/f?upload_id=a b", NULL},
        {"/f?upload_id=&upload_id=b", NULL},
        {"/f?my_upload_id=a", NULL},
        {"/f?upload_id", NULL},
        {"/upload_id=a", NULL},
        {"?", NULL},
        {"", NULL},
    };
    const struct vq_batch_dialect *d = vq_batch_find("gemini");
    assert_string_equal(d->session_header, "x-goog-upload-url");
    char session[VQ_BATCH_SESSION_BYTES_MAX], url[VQ_BATCH_SESSION_BYTES_MAX + 16];
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        enum vq_status status = d->read_open(vq_span_str(rows[i].url), session);
        assert_int_equal(status, rows[i].session == NULL ? VQ_INVALID : VQ_OK);
        if (status == VQ_OK) {
            assert_string_equal(session, rows[i].session);
        }
    }
    (void)snprintf(url, sizeof(url), "?upload_id=%0*d", VQ_BATCH_SESSION_BYTES_MAX, 0);
    assert_int_equal(d->read_open(vq_span_str(url), session), VQ_INVALID);
    url[strlen(url) - 1] = '\0';
    assert_int_equal(d->read_open(vq_span_str(url), session), VQ_OK);
}

/* ---- responses ---- */

static struct vq_batch_view read_view(const char *dialect, const char *body)
{
    struct vq_batch_view view;
    assert_int_equal(vq_batch_read(vq_batch_find(dialect), vq_span_str(body), &view), VQ_OK);
    return view;
}

TEST(test_openai_view)
{
    struct vq_batch_view view = read_view(
        "openai",
        "{\"id\":\"batch_1\",\"object\":\"batch\",\"endpoint\":\"/v1/chat/completions\","
        "\"errors\":null,\"input_file_id\":\"file-in\",\"completion_window\":\"24h\","
        "\"status\":\"completed\",\"output_file_id\":\"file-out\",\"error_file_id\":\"file-err\","
        "\"created_at\":1711471533,\"expires_at\":1711557933,"
        "\"request_counts\":{\"total\":100,\"completed\":95,\"failed\":5},"
        "\"metadata\":{\"vibeq\":\"run-1.abc\",\"x\":\"y\"}}");
    assert_string_equal(view.id, "batch_1");
    assert_string_equal(view.name, NAME);
    assert_int_equal(view.state, VQ_BATCH_ENDED);
    assert_string_equal(view.said, "completed");
    assert_int_equal(view.total, 100);
    assert_int_equal(view.succeeded, 95);
    assert_int_equal(view.errored, 5);
    assert_int_equal(view.pending, -1);
    assert_string_equal(view.input_file, "file-in");
    assert_string_equal(view.output_file, "file-out");
    assert_string_equal(view.error_file, "file-err");
    assert_true(view.has_results);
    assert_int_equal(view.created_unix_s, 1711471533);
    assert_int_equal(view.expires_unix_s, 1711557933);
    assert_string_equal(view.error, "");
    view = read_view("azure", "{\"id\":\"b\",\"status\":\"failed\",\"errors\":{\"data\":[{\"code\":"
                              "\"token_limit_exceeded\",\"message\":\"Enqueued\\ntoken limit\","
                              "\"line\":3}]},\"metadata\":null}");
    assert_int_equal(view.state, VQ_BATCH_FAILED);
    assert_string_equal(view.error, "Enqueued token limit (line 3)");
    assert_true(view.is_limited);
    assert_string_equal(view.name, "");
    assert_false(view.has_results);
}

TEST(test_anthropic_view)
{
    struct vq_batch_view view = read_view(
        "anthropic", "{\"id\":\"msgbatch_1\",\"type\":\"message_batch\",\"processing_status\":"
                     "\"ended\",\"request_counts\":{\"processing\":0,\"succeeded\":95,\"errored\":"
                     "2,\"canceled\":1,\"expired\":2},\"created_at\":\"2024-09-24T18:37:24.1Z\","
                     "\"expires_at\":\"2024-09-25T18:37:24.1Z\",\"results_url\":"
                     "\"https://elsewhere/results\"}");
    assert_int_equal(view.state, VQ_BATCH_ENDED);
    assert_int_equal(view.total, 100);
    assert_int_equal(view.expired, 2);
    assert_int_equal(view.cancelled, 1);
    assert_true(view.has_results);
    assert_int_equal(view.created_unix_s, 1727203044);
    assert_int_equal(view.expires_unix_s - view.created_unix_s, 86400);
}

TEST(test_gemini_view)
{
    struct vq_batch_view view = read_view(
        "gemini",
        "{\"name\":\"batches/b1\",\"metadata\":{\"@type\":\"t\",\"displayName\":\"run-1.abc\","
        "\"state\":\"BATCH_STATE_SUCCEEDED\",\"createTime\":\"2025-07-10T22:41:41.4Z\","
        "\"batchStats\":{\"requestCount\":\"3\",\"successfulRequestCount\":\"2\","
        "\"failedRequestCount\":\"1\"},\"output\":{\"inlinedResponses\":{\"inlinedResponses\":["
        "{\"response\":{\"x\":[1,[2]]}},{\"name\":\"batches/no\"}]}}},\"done\":true}");
    assert_string_equal(view.id, "batches/b1");
    assert_string_equal(view.name, NAME);
    assert_int_equal(view.state, VQ_BATCH_ENDED);
    assert_int_equal(view.total, 3);
    assert_int_equal(view.succeeded, 2);
    assert_int_equal(view.errored, 1);
    assert_true(view.has_results);
    view = read_view("gemini", "{\"name\":\"batches/b\",\"metadata\":{\"state\":"
                               "\"BATCH_STATE_FAILED\"},\"done\":true,\"error\":{\"code\":3,"
                               "\"message\":\"bad input\"}}");
    assert_int_equal(view.state, VQ_BATCH_FAILED);
    assert_string_equal(view.error, "bad input");
    view = read_view("gemini", "{\"name\":\"batches/b\",\"metadata\":{\"state\":"
                               "\"BATCH_STATE_SUCCEEDED\"},\"response\":{\"responsesFile\":"
                               "\"files/f\"}}");
    assert_string_equal(view.output_file, "files/f");
}

TEST(test_states)
{
    static const struct {
        const char *dialect, *front, *back, *said;
        enum vq_batch_state state;
    } rows[] = {
#define OPENAI    "openai", "{\"id\":\"b\",\"status\":\"", "\"}"
#define ANTHROPIC "anthropic", "{\"id\":\"b\",\"processing_status\":\"", "\"}"
#define GEMINI    "gemini", "{\"name\":\"b\",\"metadata\":{\"state\":\"", "\"}}"
        {OPENAI, "validating", VQ_BATCH_VALIDATING},
        {OPENAI, "in_progress", VQ_BATCH_RUNNING},
        {OPENAI, "finalizing", VQ_BATCH_FINISHING},
        {OPENAI, "expired", VQ_BATCH_EXPIRED},
        {OPENAI, "cancelling", VQ_BATCH_CANCELLING},
        {OPENAI, "cancelled", VQ_BATCH_CANCELLED},
        {OPENAI, "resting", VQ_BATCH_UNKNOWN},
        {ANTHROPIC, "in_progress", VQ_BATCH_RUNNING},
        {ANTHROPIC, "canceling", VQ_BATCH_CANCELLING},
        {ANTHROPIC, "completed", VQ_BATCH_UNKNOWN},
        {GEMINI, "BATCH_STATE_PENDING", VQ_BATCH_VALIDATING},
        {GEMINI, "BATCH_STATE_RUNNING", VQ_BATCH_RUNNING},
        {GEMINI, "JOB_STATE_SUCCEEDED", VQ_BATCH_ENDED},
        {GEMINI, "BATCH_STATE_CANCELLED", VQ_BATCH_CANCELLED},
        {GEMINI, "BATCH_STATE_EXPIRED", VQ_BATCH_EXPIRED},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char body[256];
        (void)snprintf(body, sizeof(body), "%s%s%s", rows[i].front, rows[i].said, rows[i].back);
        struct vq_batch_view view = read_view(rows[i].dialect, body);
        assert_int_equal(view.state, rows[i].state);
        assert_string_equal(view.said, rows[i].said);
    }
}

TEST(test_responses_that_are_no_batch)
{
    static const char *const bodies[] = {
        "", "[]", "{}", "{\"id\":7}", "{\"id\":\"a b\"}", "<html>", "{\"name\":\"\"}"};
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    for (size_t d = 0; d < VQ_COUNT(dialects); d++) {
        for (size_t i = 0; i < VQ_COUNT(bodies); i++) {
            struct vq_batch_view view;
            assert_int_equal(
                vq_batch_read(vq_batch_find(dialects[d]), vq_span_str(bodies[i]), &view),
                VQ_INVALID);
        }
    }
    char file[VQ_BATCH_ID_BYTES_MAX];
    const struct vq_batch_dialect *openai = vq_batch_find("openai");
    assert_int_equal(openai->read_upload(vq_span_str("{\"id\":\"file-1\"}"), file), VQ_OK);
    assert_string_equal(file, "file-1");
    assert_int_equal(openai->read_upload(vq_span_str("{\"error\":1}"), file), VQ_INVALID);
}

static void check_page(const char *dialect, const char *body, size_t count, const char *next)
{
    struct vq_batch_page page = {.at = NULL};
    assert_int_equal(vq_batch_read_page(vq_batch_find(dialect), vq_span_str(body), &page), VQ_OK);
    assert_int_equal(page.count, count);
    assert_string_equal(page.next, next);
    if (count > 0) {
        assert_string_equal(page.at[count - 1].id, "z");
    }
    vq_batch_page_free(&page);
}

TEST(test_pages)
{
    check_page("openai",
               "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"z\"}],"
               "\"has_more\":true}",
               2, "z");
    check_page("openai",
               "{\"data\":[{\"id\":\"a\"},{\"id\":\"z\"}],\"last_id\":\"l\","
               "\"has_more\":true}",
               2, "l");
    check_page("azure", "{\"data\":[],\"has_more\":false,\"last_id\":\"l\"}", 0, "");
    check_page("azure", "{\"data\":[],\"has_more\":true}", 0, "");
    check_page("anthropic", "{\"data\":[{\"id\":\"z\"}],\"has_more\":true,\"last_id\":\"l\"}", 1,
               "l");
    check_page("gemini",
               "{\"operations\":[{\"name\":\"a\",\"response\":{\"inlinedResponses\":{"
               "\"inlinedResponses\":[{\"name\":\"x\"}]}}},{\"name\":\"z\"}],"
               "\"nextPageToken\":\"t\"}",
               2, "t");
    check_page("gemini", "{}", 0, "");
    struct vq_batch_page page = {.at = NULL};
    static const char *const bad[] = {"", "[]", "{\"data\":{}}"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(vq_batch_read_page(vq_batch_find("openai"), vq_span_str(bad[i]), &page),
                         VQ_INVALID);
        assert_null(page.at);
    }
}

static enum vq_status read_page_once(void *ctx)
{
    const char *text = ctx;
    struct vq_batch_page page = {.at = NULL};
    enum vq_status status = vq_batch_read_page(vq_batch_find("openai"), vq_span_str(text), &page);
    assert_true(status != VQ_OK || page.count == 1);
    vq_batch_page_free(&page);
    return status;
}

static enum vq_status build_once(void *ctx)
{
    struct vq_batch_at *at = ctx;
    struct vq_batch_request upload;
    vq_batch_request_init(&upload);
    enum vq_status status = at->dialect->upload(at, NAME, "", vq_span_str("DOC"), &upload);
    vq_batch_request_free(&upload);
    return status;
}

TEST(test_no_memory)
{
    char text[] = "{\"data\":[{\"id\":\"a\",\"status\":\"completed\"}],\"has_more\":false}";
    struct vq_batch_at at = at_of("azure", "https://h?api-version=1");
    assert_true(heap_torture("page", read_page_once, text, false) > 0);
    assert_true(heap_torture("upload", build_once, &at, false) > 0);
}
