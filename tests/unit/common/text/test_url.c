/* Which hosts are this machine, and which numeric addresses the whole internet reaches. */

#include "tests/unit/test.h"

#include "common/text/url.h"

#include <stdio.h>

TEST(test_where_hosts_are)
{
    static const struct {
        const char *host;
        bool local, global;
    } cases[] = {
        {"localhost", true, false},        {"127.0.0.1", true, false},
        {"127.255.0.9", true, false},      {"[::1]", true, false},
        {"10.1.2.3", false, false},        {"172.16.0.1", false, false},
        {"172.31.255.1", false, false},    {"172.32.0.1", false, true},
        {"192.168.1.1", false, false},     {"100.64.0.1", false, false},
        {"100.128.0.1", false, true},      {"169.254.1.1", false, false},
        {"192.0.2.2", false, false},       {"8.8.8.8", false, true},
        {"[fd00::2]", false, false},       {"[fe80::1]", false, false},
        {"[2606:4700::1]", false, true},   {"gpu-1", false, false},
        {"gpu.example.org", false, false},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char text[64];
        struct vq_url url;
        struct vq_error err = {""};
        (void)snprintf(text, sizeof(text), "http://%s:8000/v1", cases[i].host);
        assert_int_equal(vq_url_parse(text, &url, &err), VQ_OK);
        if (url.local != cases[i].local || url.global != cases[i].global) {
            fail_msg("%s: local %d, global %d", cases[i].host, url.local, url.global);
        }
    }
}
