/* Addresses to listen on, Host headers and Origin headers. */
#include "net_test.h"

#include "common/net/http_gate.h"

TEST(test_listen)
{
    struct vq_http_listen l;
    assert_ok(vq_http_listen_parse("--http", "127.0.0.1:7420", &l, NULL));
    assert_string_equal(l.address, "127.0.0.1");
    assert_int_equal(l.port, 7420);
    assert_true(l.is_loopback && !l.is_v6);
    assert_ok(vq_http_listen_parse("--http", "127.9.0.1:0", &l, NULL));
    assert_true(l.is_loopback);
    assert_ok(vq_http_listen_parse("--http", "0.0.0.0:80", &l, NULL));
    assert_false(l.is_loopback);
    assert_ok(vq_http_listen_parse("--http", "[::1]:65535", &l, NULL));
    assert_string_equal(l.address, "::1");
    assert_true(l.is_loopback && l.is_v6);
    assert_ok(vq_http_listen_parse("--http", "[2001:db8::1]:1", &l, NULL));
    assert_false(l.is_loopback);
    static const char *const wrong[] = {"",
                                        ":80",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "1.2.3:80",
                                        "::1:80",
                                        "localhost:80",
                                        "[127.0.0.1]:80",
                                        "[::1:80",
                                        "[]:80",
                                        "127.0.0.1:x",
                                        "127.0.0.1:+1",
                                        "127.0.0.1:000080",
                                        "[::1]80",
                                        "[fe80::1%eth0]:80"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        struct vq_error err = {""};
        assert_status(vq_http_listen_parse("--http", wrong[i], &l, &err), VQ_INVALID);
        assert_contains(err.text, "--http ");
        assert_contains(err.text, "ADDRESS:PORT");
    }
}

TEST(test_hosts)
{
    static const char *const names[] = {"queue.example.org", "lab"};
    static const char *const local[] = {"localhost",   "LOCALHOST:80", "127.0.0.1",
                                        "127.0.0.1:1", "[::1]",        "[::1]:65535"};
    for (size_t i = 0; i < VQ_COUNT(local); i++) {
        assert_true(vq_http_host_may(local[i], false, NULL, 0));
        assert_true(vq_http_host_may(local[i], true, names, VQ_COUNT(names)));
    }
    assert_true(vq_http_host_may("Queue.Example.org:8080", false, names, VQ_COUNT(names)));
    assert_true(vq_http_host_may("lab", false, names, VQ_COUNT(names)));
    assert_true(vq_http_host_may("192.0.2.10:80", true, NULL, 0));
    assert_true(vq_http_host_may("[2001:db8::1]:80", true, NULL, 0));
    assert_false(vq_http_host_may("192.0.2.10:80", false, NULL, 0));
    static const char *const wrong[] = {"",
                                        "evil.example",
                                        "lab.evil.example",
                                        "evil.lab",
                                        "labs",
                                        "la",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "127.0.0.1:x",
                                        "lab:",
                                        "lab:80:80",
                                        "[::1",
                                        "[::1]x",
                                        "::1",
                                        "[lab]",
                                        "2130706433",
                                        "0x7f.1"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        assert_false(vq_http_host_may(wrong[i], false, names, VQ_COUNT(names)));
        assert_false(vq_http_host_may(wrong[i], true, names, VQ_COUNT(names)));
    }
    assert_false(vq_http_host_may(NULL, true, names, VQ_COUNT(names)));
}

TEST(test_names)
{
    char longest[VQ_HTTP_HOST_BYTES_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[VQ_HTTP_HOST_BYTES_MAX + 1] = '\0';
    assert_false(vq_http_host_is_name(longest));
    longest[VQ_HTTP_HOST_BYTES_MAX] = '\0';
    assert_true(vq_http_host_is_name(longest));
    assert_true(vq_http_host_is_name("queue-1.example.org"));
    static const char *const wrong[] = {"", "a:80", "http://a", "a/b", "a b", ".a", "-a", "*"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        assert_false(vq_http_host_is_name(wrong[i]));
    }
}

TEST(test_origins)
{
    assert_true(vq_http_origin_may(NULL, "lab:80"));
    assert_true(vq_http_origin_may("http://lab:80", "lab:80"));
    assert_true(vq_http_origin_may("https://LAB", "lab"));
    static const char *const wrong[] = {"",
                                        "null",
                                        "http://lab",
                                        "http://lab:81",
                                        "lab:80",
                                        "http://evil",
                                        "ftp://lab:80",
                                        "http://lab:80/",
                                        "http://lab:80.evil.example"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        assert_false(vq_http_origin_may(wrong[i], "lab:80"));
    }
    assert_false(vq_http_origin_may("http://lab", NULL));
}
