/* The parts of an http address, and whether its host is this machine. */
#pragma once

#include "common/base/buf.h"

#define VQ_URL_BYTES_MAX 2048

struct vq_url { /* spans of the text that was parsed */
    bool https;
    bool local;          /* localhost, 127.0.0.0/8 or ::1 */
    bool global;         /* the host is a numeric address that is public on the internet */
    struct vq_span host; /* without the brackets of IPv6 */
    uint16_t port;       /* 80 or 443 if not given */
    struct vq_span path; /* from the first '/'; may be empty */
};

/* VQ_INVALID unless the text is http(s)://HOST[:PORT][/PATH] in printable ASCII. User, password,
 * query and fragment are refused; the error never repeats a text that may hold a password. */
enum vq_status vq_url_parse(const char *text, struct vq_url *ret_url,
                            struct vq_error *err) VQ_WARN_UNUSED;
