/* Which address is bound, and which one a certificate names. */
#include "tests/unit/test.h"

#include "coordinator/run/listen.h"

static void check(const char *given, const char *before, const char *endpoint, const char *other)
{
    struct vq_listen listen;
    assert_int_equal(vq_listen_of(given, before, &listen, NULL), VQ_OK);
    assert_string_equal(listen.endpoint, endpoint);
    assert_string_equal(listen.other, other);
}

TEST(a_port_that_is_not_named_is_that_of_last_time)
{
    check("192.0.2.1", "", "tcp://192.0.2.1:0", "");
    check("192.0.2.1", "tcp://192.0.2.1:39317", "tcp://192.0.2.1:39317", "tcp://192.0.2.1:0");
    check("192.0.2.7", "tcp://192.0.2.1:39317", "tcp://192.0.2.7:39317", "tcp://192.0.2.7:0");
    check("[::1]", "tcp://[::1]:5000", "tcp://[::1]:5000", "tcp://[::1]:0");
    check("192.0.2.1:6000", "tcp://192.0.2.1:39317", "tcp://192.0.2.1:6000", "");
    check(NULL, "", "tcp://127.0.0.1:0", "");
    check(NULL, "tcp://127.0.0.1:5000", "tcp://127.0.0.1:5000", "tcp://127.0.0.1:0");
    check(NULL, "tcp://192.0.2.1:5000", "tcp://192.0.2.1:5000", "");
}

TEST(what_is_no_address_is_refused)
{
    static const char *const bad[] = {"",          ":5000", "::1",     "[::1",
                                      "[::1]5000", "h:",    "h:65536", "h:5x"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_listen listen;
        struct vq_error err = {""};
        assert_int_equal(vq_listen_of(bad[i], "", &listen, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, "name an address of this machine"));
    }
}

TEST(every_address_is_none_for_a_certificate)
{
    char addresses[2][VQ_LISTEN_ADDRESS_BYTES] = {"192.0.2.1", "198.51.100.7"};
    char got[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    static const char *const any[] = {"tcp://0.0.0.0:5000", "tcp://[::]:5000", "tcp://*:5000"};
    for (size_t i = 0; i < VQ_COUNT(any); i++) {
        for (size_t count = 0; count <= 2; count++) {
            vq_listen_pick(any[i], addresses, count, got);
            assert_string_equal(got, count == 0 ? "tcp://127.0.0.1:5000" : "tcp://192.0.2.1:5000");
        }
    }
    vq_listen_pick("tcp://192.0.2.9:5", addresses, 2, got);
    assert_string_equal(got, "tcp://192.0.2.9:5");
    assert_int_equal(vq_listen_reachable("tcp://127.0.0.1:7", got), 0);
    assert_string_equal(got, "tcp://127.0.0.1:7");
}

static enum vq_status advertised(const char *advertise,
                                 char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX])
{
    struct vq_error err = {""};
    enum vq_status status =
        vq_listen_advertised(advertise, "tcp://0.0.0.0:5000", ret_endpoint, &err);
    assert_true(status == VQ_OK || strstr(err.text, "--advertise") != NULL);
    return status;
}

TEST(a_name_or_an_address_is_advertised)
{
    static const char *const good[][2] = {
        {"lab.example", "tcp://lab.example:5000"},    {"lab.example:7", "tcp://lab.example:7"},
        {"192.0.2.1:65535", "tcp://192.0.2.1:65535"}, {"[2001:db8::1]", "tcp://[2001:db8::1]:5000"},
        {"[2001:db8::1]:7", "tcp://[2001:db8::1]:7"}, {"vibeq-0.vibeq", "tcp://vibeq-0.vibeq:5000"},
    };
    static const char *const bad[] = {"",       ":7",          "0.0.0.0", "0.0.0.0:7", "*:7",
                                      "[::]:7", "h:0",         "h:x",     "h:65536",   "a b:7",
                                      "h\":7",  "2001:db8::1", "[]:7",    "h/../:7"};
    char got[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    for (size_t i = 0; i < VQ_COUNT(good); i++) {
        assert_int_equal(advertised(good[i][0], got), VQ_OK);
        assert_string_equal(got, good[i][1]);
    }
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(advertised(bad[i], got), VQ_INVALID);
    }
    struct vq_error err = {""};
    assert_int_equal(vq_listen_advertised("h", "", got, &err), VQ_INVALID); /* no port to take */
}

TEST(local_workers_use_the_loopback_of_every_address)
{
    char got[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    vq_listen_local("tcp://0.0.0.0:5000", got);
    assert_string_equal(got, "tcp://127.0.0.1:5000");
    vq_listen_local("tcp://192.0.2.1:5000", got);
    assert_string_equal(got, "tcp://192.0.2.1:5000");
}
