/* A response for which there is no memory: the call ends once, as one that was sent, and says
 * why. */
#include "net_test.h"

#include "common/base/alloc.h"
#include "common/net/http.h"
#include "toy_server.h"

struct ended {
    bool done;
    int times;
    enum vq_transport transport;
    bool sent;
    char error[256];
};

static void on_done(void *ctx, const struct vq_http_response *response)
{
    struct ended *e = ctx;
    e->done = true;
    e->times++;
    e->transport = response->transport;
    e->sent = response->sent;
    (void)snprintf(e->error, sizeof(e->error), "%s", response->error);
}

TEST_WITH(each_allocation_of_receiving_fails, loop_setup, loop_teardown)
{
    struct vq_loop *loop = *state;
    static struct toy_server server;
    char url[64];
    toy_start(&server);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/echo", server.port);
    bool hit = true;
    int named = 0;
    uint64_t waiting = vq_alloc_count(); /* takes some itself, before anything comes */
    wait_flag(loop, &hit);
    waiting = vq_alloc_count() - waiting;
    for (uint64_t n = waiting + 1; hit; n++) {
        struct vq_http *http = NULL;
        struct ended e = {.error = ""};
        struct vq_http_request request = {
            .url = url, .body = vq_span_str("{}"), .done = on_done, .ctx = &e};
        assert_ok(vq_http_create(loop, NULL, &http, NULL));
        assert_ok(vq_http_start(http, &request, NULL, NULL));
        uint64_t before = vq_alloc_count();
        vq_alloc_fail_at(n);
        wait_flag(loop, &e.done);
        hit = vq_alloc_count() - before >= n;
        vq_alloc_fail_at(0);
        if (e.transport != VQ_TRANSPORT_OK) {
            assert_int_equal(e.transport, VQ_TRANSPORT_PARTIAL);
            assert_true(e.sent);
            assert_string_equal(e.error, "no memory for the response");
            named++;
        }
        vq_http_destroy(&http);
        assert_int_equal(e.times, 1);
    }
    assert_true(named > 0);
    toy_stop(&server);
}
