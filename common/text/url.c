/* A small, strict parser of addresses: it refuses unknown forms. Invariant: errors never repeat a
 * text that may be a password. Not its job: percent-decoding, international names (users write them
 * as xn--), name lookups. */
#include "common/text/url.h"

#include <ctype.h>
#include <strings.h>

static bool read_ipv4(struct vq_span host, unsigned octets[4])
{
    size_t at = 0;
    for (int i = 0; i < 4; i++) {
        size_t digits = 0;
        octets[i] = 0;
        while (at < host.bytes && isdigit((unsigned char)host.at[at]) && digits < 3) {
            octets[i] = octets[i] * 10 + (unsigned)(host.at[at++] - '0');
            digits++;
        }
        bool dot = at < host.bytes && host.at[at] == '.';
        if (digits == 0 || octets[i] > 255 || (i < 3 && !dot)) {
            return false;
        }
        at += i < 3;
    }
    return at == host.bytes;
}

static bool is_ipv4_loopback(struct vq_span host)
{
    unsigned octets[4];
    return read_ipv4(host, octets) && octets[0] == 127;
}

/* Whether the host is a numeric address outside the ranges for private networks, documentation and
 * benchmarks (RFC 1918, 2544, 3927, 4193, 4291, 5737, 6598). */
static bool is_global(struct vq_span host)
{
    static const struct {
        uint32_t net;
        unsigned bits;
    } private[] = {{0x0a000000, 8},  {0x7f000000, 8},  {0xac100000, 12}, {0xc0a80000, 16},
                   {0x64400000, 10}, {0xa9fe0000, 16}, {0xc0000200, 24}, {0xc6336400, 24},
                   {0xcb007100, 24}, {0xc6120000, 15}};
    unsigned o[4], high = 0;
    if (read_ipv4(host, o)) {
        uint32_t address = (uint32_t)(o[0] << 24 | o[1] << 16 | o[2] << 8 | o[3]);
        bool global = true;
        for (size_t i = 0; i < VQ_COUNT(private); i++) {
            global = global && ((address ^ private[i].net) >> (32 - private[i].bits)) != 0;
        }
        return global;
    }
    if (host.bytes == 0 || memchr(host.at, ':', host.bytes) == NULL || host.at[0] == ':') {
        return false;
    }
    for (size_t i = 0; i < host.bytes && isxdigit((unsigned char)host.at[i]) && i < 4; i++) {
        char c = (char)(host.at[i] | 0x20);
        high = high * 16 + (unsigned)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
    }
    return (high & 0xfe00u) != 0xfc00u && (high & 0xffc0u) != 0xfe80u;
}

static bool is_local(struct vq_span host)
{
    return (host.bytes == 9 && strncasecmp(host.at, "localhost", 9) == 0) ||
           (host.bytes == 3 && memcmp(host.at, "::1", 3) == 0) || is_ipv4_loopback(host);
}

static bool parse_port(struct vq_span text, uint16_t *ret_port)
{
    unsigned long port = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (!isdigit((unsigned char)text.at[i]) || i >= 5) {
            return false;
        }
        port = port * 10 + (unsigned long)(text.at[i] - '0');
    }
    if (port == 0 || port > 65535) {
        return false;
    }
    *ret_port = (uint16_t)port;
    return true;
}

/* Parses HOST[:PORT] or [IPv6][:PORT]. */
static bool parse_authority(struct vq_span text, struct vq_url *url)
{
    const char *colon;
    if (text.bytes > 0 && text.at[0] == '[') {
        const char *close = memchr(text.at, ']', text.bytes);
        if (close == NULL) {
            return false;
        }
        url->host = vq_span(text.at + 1, (size_t)(close - text.at) - 1);
        colon = close + 1 < text.at + text.bytes ? close + 1 : NULL;
        if (colon != NULL && *colon != ':') {
            return false;
        }
    } else {
        colon = memchr(text.at, ':', text.bytes);
        url->host = vq_span(text.at, colon == NULL ? text.bytes : (size_t)(colon - text.at));
        for (size_t i = 0; i < url->host.bytes; i++) {
            char c = url->host.at[i];
            if (!isalnum((unsigned char)c) && c != '.' && c != '-' && c != '_') {
                return false;
            }
        }
    }
    if (url->host.bytes == 0) {
        return false;
    }
    const char *end = text.at + text.bytes;
    return colon == NULL || parse_port(vq_span(colon + 1, (size_t)(end - colon) - 1), &url->port);
}

static const char *why_not(const char *text)
{
    if (strlen(text) > VQ_URL_BYTES_MAX) {
        return "is too long";
    }
    for (const char *at = text; *at != '\0'; at++) {
        if (*at <= ' ' || (unsigned char)*at >= 0x7F) {
            return "holds a blank, a control character or a letter outside ASCII";
        }
    }
    if (strncasecmp(text, "http://", 7) != 0 && strncasecmp(text, "https://", 8) != 0) {
        return "must begin with https:// (or http:// for this machine)";
    }
    if (strchr(text, '@') != NULL) {
        return "must not hold a user or password; a key is named with key: env:NAME";
    }
    if (strpbrk(text, "?#") != NULL) {
        return "must end before any ? or #";
    }
    return NULL;
}

enum vq_status vq_url_parse(const char *text, struct vq_url *ret_url, struct vq_error *err)
{
    const char *reason = why_not(text);
    if (reason != NULL) {
        return vq_fail(err, VQ_INVALID, "the address %s", reason);
    }
    struct vq_url url = {.https = strncasecmp(text, "https", 5) == 0};
    url.port = url.https ? 443 : 80;
    const char *rest = text + (url.https ? 8 : 7);
    size_t authority = strcspn(rest, "/");
    if (!parse_authority(vq_span(rest, authority), &url)) {
        return vq_fail(err, VQ_INVALID, "the address \"%.80s\" has no valid host and port", text);
    }
    url.path = vq_span_str(rest + authority);
    url.local = is_local(url.host);
    url.global = is_global(url.host);
    *ret_url = url;
    return VQ_OK;
}
