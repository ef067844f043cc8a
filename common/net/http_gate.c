/* Checks Host, Origin and addresses. Invariant: an unknown form is refused. */
#include "common/net/http_gate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PORT_DIGITS_MAX 5
#define TEXT_MAX        200 /* of the given text, in an error */

static bool parse_port(const char *digits, uint16_t *ret_port)
{
    size_t n = strspn(digits, "0123456789");
    unsigned long port = n >= 1 && n <= PORT_DIGITS_MAX ? strtoul(digits, NULL, 10) : UINT32_MAX;
    if (digits[n] != '\0' || port > UINT16_MAX) {
        return false;
    }
    *ret_port = (uint16_t)port;
    return true;
}

/* "HOST", "HOST:PORT", "[V6]" or "[V6]:PORT": splits the host from the rest. */
static bool split(const char *text, struct vq_span *ret_host, const char **ret_rest, bool *ret_v6)
{
    *ret_v6 = text[0] == '[';
    const char *end = *ret_v6 ? strchr(text, ']') : text + strcspn(text, ":");
    if (end == NULL) {
        return false;
    }
    *ret_host = vq_span(text + *ret_v6, (size_t)(end - text) - *ret_v6);
    *ret_rest = end + *ret_v6;
    return ret_host->bytes > 0 && ret_host->bytes <= VQ_HTTP_HOST_BYTES_MAX;
}

/* 4 or 6 if the host is a numeric address of that version, else 0. */
static int numbers_of(struct vq_span host, bool v6, char ret_text[VQ_HTTP_NUMBERS_BYTES],
                      bool *ret_loopback)
{
    struct in6_addr in6;
    struct in_addr in;
    if (host.bytes >= VQ_HTTP_NUMBERS_BYTES) {
        return 0;
    }
    memcpy(ret_text, host.at, host.bytes);
    ret_text[host.bytes] = '\0';
    if (v6 && inet_pton(AF_INET6, ret_text, &in6) == 1) {
        *ret_loopback = IN6_IS_ADDR_LOOPBACK(&in6);
        return 6;
    }
    if (!v6 && inet_pton(AF_INET, ret_text, &in) == 1) {
        *ret_loopback = (ntohl(in.s_addr) >> 24) == 127;
        return 4;
    }
    return 0;
}

enum vq_status vq_http_listen_parse(const char *option, const char *text,
                                    struct vq_http_listen *ret_listen, struct vq_error *err)
{
    struct vq_http_listen made = {.port = 0};
    struct vq_span host;
    const char *rest;
    int family = 0;
    if (split(text, &host, &rest, &made.is_v6)) {
        family = numbers_of(host, made.is_v6, made.address, &made.is_loopback);
    }
    if (family == 0 || rest[0] != ':' || !parse_port(rest + 1, &made.port)) {
        return vq_fail(err, VQ_INVALID,
                       "%s %.*s: name ADDRESS:PORT, for example 127.0.0.1:7420 or [::1]:7420; the "
                       "address is in numbers, and the port is at most 65535 (0: a free one)",
                       option, TEXT_MAX, text);
    }
    *ret_listen = made;
    return VQ_OK;
}

bool vq_http_host_is_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= VQ_HTTP_HOST_BYTES_MAX && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == n;
}

static bool is(struct vq_span host, const char *name)
{
    return host.bytes == strlen(name) && strncasecmp(host.at, name, host.bytes) == 0;
}

bool vq_http_host_may(const char *host, bool numbers, const char *const *names, uint32_t count)
{
    struct vq_span name;
    const char *rest;
    bool v6;
    uint16_t port;
    if (host == NULL || !split(host, &name, &rest, &v6) ||
        (rest[0] != '\0' && (rest[0] != ':' || !parse_port(rest + 1, &port)))) {
        return false;
    }
    char text[VQ_HTTP_NUMBERS_BYTES];
    bool loopback;
    if (numbers_of(name, v6, text, &loopback) != 0) {
        return numbers || strcmp(text, v6 ? "::1" : "127.0.0.1") == 0;
    }
    bool may = !v6 && is(name, "localhost");
    for (uint32_t i = 0; !v6 && !may && i < count; i++) {
        may = is(name, names[i]);
    }
    return may;
}

bool vq_http_origin_may(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};
    if (origin == NULL) {
        return true;
    }
    for (size_t i = 0; host != NULL && i < VQ_COUNT(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], n) == 0 && strcasecmp(origin + n, host) == 0) {
            return true;
        }
    }
    return false;
}
