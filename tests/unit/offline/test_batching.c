/* Batches through the service, with a clock of the test's own, and with every allocation failing in
 * turn. */

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/text/json_load.h"
#include "offline/dialect.h"
#include "offline/service.h"
#include "tests/unit/heap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MS VQ_NS_PER_MS

static char log_path[64];

struct http {
    const char *type; /* Content-Type */
    const char *command;
};

static const char *header_of(const void *peer, const char *name)
{
    const struct http *http = peer;
    if (strcmp(name, "Content-Type") == 0) {
        return http->type;
    }
    if (strcmp(name, "X-Goog-Upload-Command") == 0) {
        return http->command;
    }
    return strcmp(name, "Host") == 0 ? "h:1" : NULL;
}

/* The reply's body; NULL with the status of our own failure. */
static json_t *ask(struct vq_service *service, const char *method, const char *path,
                   const char *body, int64_t ms, unsigned *ret_http, enum vq_status *ret_status)
{
    const struct http peer = {.type = "multipart/form-data; boundary=b"};
    struct vq_call call = {.method = method,
                           .path = path,
                           .authorization =
                               strncmp(path, "/v1/b", 5) == 0 || strncmp(path, "/v1/f", 5) == 0
                                   ? "Bearer sk-1"
                                   : "sk-1",
                           .body = vq_span_str(body),
                           .header = header_of,
                           .peer = &peer};
    struct vq_offline_reply reply;
    *ret_status = vq_service_take(service, &call, ms * MS, &reply, NULL);
    if (*ret_status != VQ_OK) {
        return NULL;
    }
    *ret_http = reply.status;
    *ret_status = vq_service_answered(service, &reply, ms * MS, ms * MS, NULL);
    json_t *root = NULL;
    if (*ret_status == VQ_OK) {
        *ret_status = vq_json_load(vq_buf_span(&reply.body), JSON_DISABLE_EOF_CHECK, &root, NULL);
    }
    vq_offline_reply_free(&reply);
    return root;
}

static enum vq_status turns(struct vq_service *service, int64_t until_ms)
{
    int64_t now_ns = 0;
    for (;;) {
        now_ns = vq_service_next_ns(service, now_ns);
        if (now_ns > until_ms * MS) {
            return VQ_OK;
        }
        VQ_TRY(vq_service_turn(service, now_ns, NULL));
    }
}

static enum vq_status create(const char *rules, struct vq_service **ret_service)
{
    struct vq_service_config config = {.seed = 1, .log_path = log_path};
    VQ_TRY(vq_offline_batch_rules_add(&config.batches, rules, NULL));
    return vq_service_create(&config, 0, ret_service, NULL);
}

/* A text of the reply, which is dropped; "" where there is none. */
static const char *take_text(json_t *root, const char *name, char *room, size_t bytes)
{
    const char *text = json_string_value(json_object_get(root, name));
    (void)snprintf(room, bytes, "%s", text == NULL ? "" : text);
    json_decref(root);
    return room;
}

#define LINE(id)                                                                                   \
    "{\"custom_id\":\"" id "\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":"     \
    "{\"model\":\"offline-a\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}}\n"
#define UPLOAD                                                                                     \
    "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b\r\n"              \
    "Content-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" LINE("a")              \
        LINE("b") "\r\n--b--\r\n"

static enum vq_status play_openai(struct vq_service *service)
{
    char id[64];
    char body[256];
    char path[128];
    unsigned http = 0;
    enum vq_status status = VQ_OK;
    json_t *root = ask(service, "POST", "/v1/files", UPLOAD, 0, &http, &status);
    VQ_TRY(status);
    (void)snprintf(body, sizeof(body),
                   "{\"input_file_id\":\"%s\",\"endpoint\":\"/v1/chat/completions\","
                   "\"completion_window\":\"24h\",\"metadata\":{\"a\":\"b\"}}",
                   take_text(root, "id", id, sizeof(id)));
    root = ask(service, "POST", "/v1/batches", body, 0, &http, &status);
    VQ_TRY(status);
    assert_int_equal(http, 200);
    (void)snprintf(path, sizeof(path), "/v1/batches/%s", take_text(root, "id", id, sizeof(id)));
    VQ_TRY(turns(service, 200));
    root = ask(service, "GET", path, "", 201, &http, &status);
    VQ_TRY(status);
    char file[64];
    (void)snprintf(file, sizeof(file), "%s",
                   json_string_value(json_object_get(root, "output_file_id")));
    assert_string_equal(take_text(root, "status", id, sizeof(id)), "completed");
    (void)snprintf(path, sizeof(path), "/v1/files/%s/content", file);
    root = ask(service, "GET", path, "", 201, &http, &status);
    VQ_TRY(status);
    assert_string_equal(take_text(root, "custom_id", id, sizeof(id)), "a");
    return VQ_OK;
}

static enum vq_status play_anthropic(struct vq_service *service)
{
    char id[64];
    char path[160];
    unsigned http = 0;
    enum vq_status status = VQ_OK;
    json_t *root = ask(
        service, "POST", "/v1/messages/batches",
        "{\"requests\":[{\"custom_id\":\"a\",\"params\":{\"model\":\"offline-a\",\"max_tokens\":"
        "9,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}}]}",
        0, &http, &status);
    VQ_TRY(status);
    assert_int_equal(http, 200);
    (void)take_text(root, "id", id, sizeof(id));
    VQ_TRY(turns(service, 200));
    (void)snprintf(path, sizeof(path), "/v1/messages/batches/%s/results", id);
    root = ask(service, "GET", path, "", 201, &http, &status);
    VQ_TRY(status);
    assert_int_equal(http, 200);
    assert_string_equal(take_text(root, "custom_id", id, sizeof(id)), "a");
    return VQ_OK;
}

static enum vq_status play_gemini(struct vq_service *service)
{
    char name[64];
    char path[128];
    unsigned http = 0;
    enum vq_status status = VQ_OK;
    json_t *root = ask(service, "POST", "/v1beta/models/offline-a:batchGenerateContent",
                       "{\"batch\":{\"inputConfig\":{\"requests\":{\"requests\":[{\"request\":"
                       "{\"contents\":[{\"parts\":[{\"text\":\"Hi\"}]}]}}]}}}}",
                       0, &http, &status);
    VQ_TRY(status);
    assert_int_equal(http, 200);
    (void)snprintf(path, sizeof(path), "/v1beta/%s", take_text(root, "name", name, sizeof(name)));
    VQ_TRY(turns(service, 200));
    root = ask(service, "GET", path, "", 201, &http, &status);
    VQ_TRY(status);
    bool has_response = json_object_get(root, "response") != NULL;
    json_decref(root);
    assert_true(has_response);
    return VQ_OK;
}

typedef enum vq_status play_fn(struct vq_service *service);

static enum vq_status play(void *ctx)
{
    play_fn *const *plays = ctx;
    struct vq_service *service = NULL;
    enum vq_status status = create("duration=100ms,validate_ms=10", &service);
    if (status == VQ_OK) {
        status = (*plays)(service);
    }
    vq_service_destroy(&service);
    return status;
}

TEST(every_dialect_without_memory)
{
    play_fn *plays[] = {play_openai, play_anthropic, play_gemini};
    for (size_t i = 0; i < VQ_COUNT(plays); i++) {
        assert_true(heap_torture("batches", play, &plays[i], true) > 20);
    }
}

/* The lines of the log with this event. */
static size_t logged(const char *event)
{
    char wanted[64];
    char line[4096];
    size_t n = 0;
    (void)snprintf(wanted, sizeof(wanted), "{\"event\":\"%s\",", event);
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        n += strncmp(line, wanted, strlen(wanted)) == 0;
    }
    assert_int_equal(fclose(file), 0);
    return n;
}

TEST(lines_are_bought_in_their_time)
{
    struct vq_service *service = NULL;
    unsigned http = 0;
    enum vq_status status = VQ_OK;
    assert_int_equal(truncate(log_path, 0), 0);
    assert_int_equal(create("duration=100ms", &service), VQ_OK);
    json_decref(ask(service, "POST", "/v1/messages/batches",
                    "{\"requests\":[{\"custom_id\":\"a\",\"params\":{\"model\":\"offline-a\"}},"
                    "{\"custom_id\":\"b\",\"params\":{\"model\":\"offline-a\"}}]}",
                    0, &http, &status));
    assert_int_equal(status, VQ_OK);
    assert_int_equal(vq_service_next_ns(service, 0), 50 * MS);
    assert_int_equal(turns(service, 49), VQ_OK);
    assert_int_equal(logged("batch_line"), 0);
    assert_int_equal(turns(service, 50), VQ_OK);
    assert_int_equal(logged("batch_line"), 1);
    assert_int_equal(logged("batch"), 1);
    assert_int_equal(turns(service, 100), VQ_OK);
    assert_int_equal(logged("batch_line"), 2);
    assert_int_equal(logged("batch"), 2);
    assert_int_equal(vq_service_next_ns(service, 100 * MS), INT64_MAX);
    vq_service_destroy(&service);
}

TEST(paths_of_batches_have_a_dialect)
{
    static const struct {
        const char *path;
        enum vq_dialect dialect;
    } rows[] = {{"/v1/files", VQ_DIALECT_OPENAI},
                {"/v1/batches/b/cancel", VQ_DIALECT_OPENAI},
                {"/openai/v1/batches", VQ_DIALECT_AZURE},
                {"/openai/files/f/content", VQ_DIALECT_AZURE},
                {"/v1/messages/batches/m/results", VQ_DIALECT_ANTHROPIC},
                {"/v1beta/models/m:batchGenerateContent", VQ_DIALECT_GEMINI},
                {"/v1beta/batches/b:cancel", VQ_DIALECT_GEMINI},
                {"/upload/v1beta/files", VQ_DIALECT_GEMINI}};
    struct vq_route route;
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        vq_route_of(rows[i].path, &route);
        assert_int_equal(route.kind, VQ_ROUTE_BATCH);
        assert_int_equal(route.dialect, rows[i].dialect);
    }
    vq_route_of("/v1/filesystem", &route);
    assert_int_equal(route.kind, VQ_ROUTE_NONE);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(log_path, sizeof(log_path), "/tmp/vq-offline-log-XXXXXX");
    int fd = mkstemp(log_path);
    return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(log_path);
}

TEST_GROUP(set_up, tear_down)
