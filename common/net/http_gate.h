/* Access rules of vibeq's HTTP servers: the address to listen on, and the checks of a request's
 * Host and Origin headers. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_HTTP_HOST_BYTES_MAX 253 /* of a host name, RFC 1035 */
#define VQ_HTTP_HOSTS_MAX      16
#define VQ_HTTP_NUMBERS_BYTES  46 /* an IPv6 address as text, with its NUL */

struct vq_http_listen {
    char address[VQ_HTTP_NUMBERS_BYTES]; /* without brackets */
    uint16_t port;                       /* 0: a free port */
    bool is_v6;
    bool is_loopback;
};

/* `text`: ADDRESS:PORT with a numeric address, an IPv6 address in brackets. VQ_INVALID: the error
 * begins with `option`. */
enum vq_status vq_http_listen_parse(const char *option, const char *text,
                                    struct vq_http_listen *ret_listen,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* Whether `name` can be a host name: letters, digits, "-" and ".". */
bool vq_http_host_is_name(const char *name);

/* Whether a request with this Host header is allowed. A browser sends the host name of its page. A
 * foreign page can make its own name resolve to this server (DNS rebinding), but it cannot use one
 * of `names` or a numeric address. `numbers`: all numeric addresses are allowed (for a server
 * beyond the loopback); else only 127.0.0.1 and ::1. "localhost" is always allowed. `host` NULL: no
 * header; refused. */
bool vq_http_host_may(const char *host, bool numbers, const char *const *names, uint32_t count);

/* Whether a request with this Origin header may change something. Allowed: no header (`origin`
 * NULL, from a program), or the origin of this server, "http://HOST" or "https://HOST". */
bool vq_http_origin_may(const char *origin, const char *host);
