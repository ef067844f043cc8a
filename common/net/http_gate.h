/* Who may speak to an HTTP server of ours: the address that it listens on, and the checks of a
 * request's Host and Origin headers. Pure text. */
#pragma once

#include "common/base/buf.h"

#define VQ_HTTP_HOST_BYTES_MAX 253 /* of a host name, RFC 1035 */
#define VQ_HTTP_HOSTS_MAX      16
#define VQ_HTTP_NUMBERS_BYTES  46 /* an IPv6 address as text, with its end */

struct vq_http_listen {
    char address[VQ_HTTP_NUMBERS_BYTES]; /* without brackets */
    uint16_t port;                       /* 0: a free one */
    bool is_v6;
    bool is_loopback;
};

/* `text`: ADDRESS:PORT; the address in numbers, an IPv6 address in brackets. VQ_INVALID with a
 * sentence that begins with `option`. */
enum vq_status vq_http_listen_parse(const char *option, const char *text,
                                    struct vq_http_listen *ret_listen,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* The name of a Host header that the server may answer to: letters, digits, "-" and ".". */
bool vq_http_host_is_name(const char *name);

/* Whether a request with this Host header may be answered. A browser sends the name that its page
 * was loaded from; a page elsewhere can make its own name lead here (DNS rebinding), but it cannot
 * take one of `names`, and not an address in numbers. `numbers`: any address in numbers is allowed,
 * for a server beyond the loopback; otherwise only 127.0.0.1 and ::1. "localhost" is always
 * allowed. `host` NULL: no header; refused. */
bool vq_http_host_may(const char *host, bool numbers, const char *const *names, uint32_t count);

/* Whether a request that changes something may come from this Origin header: none (`origin` NULL,
 * a program), or the page of this server itself, "http://HOST" or "https://HOST". */
bool vq_http_origin_may(const char *origin, const char *host);
