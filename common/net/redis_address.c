/* Reads redis://, rediss:// and unix:// addresses. Never repeats a password in an error. */
#include "common/net/redis.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_PORT 6379u

static enum vq_status parse_number(struct vq_span text, unsigned long max, unsigned long *ret)
{
    char digits[12];
    if (text.bytes == 0 || text.bytes >= sizeof(digits)) {
        return VQ_INVALID;
    }
    memcpy(digits, text.at, text.bytes);
    digits[text.bytes] = '\0';
    char *end;
    unsigned long value = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || value > max) {
        return VQ_INVALID;
    }
    *ret = value;
    return VQ_OK;
}

static enum vq_status parse_path(const char *path, struct vq_redis_address *a, struct vq_error *err)
{
    if (path[0] != '/') {
        return vq_fail(err, VQ_INVALID,
                       "a Redis socket is named by its full path: unix:///run/redis.sock");
    }
    if (strlen(path) > VQ_REDIS_PATH_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "the Redis socket's path is longer than %d bytes",
                       VQ_REDIS_PATH_BYTES_MAX);
    }
    (void)snprintf(a->unix_path, sizeof(a->unix_path), "%s", path);
    return VQ_OK;
}

static enum vq_status parse_host(struct vq_span text, struct vq_redis_address *a,
                                 struct vq_error *err)
{
    struct vq_span host = text, port = {NULL, 0};
    if (text.bytes > 0 && text.at[0] == '[') {
        const char *close = memchr(text.at, ']', text.bytes);
        if (close == NULL) {
            return vq_fail(err, VQ_INVALID, "an IPv6 address of Redis ends with ]");
        }
        host = vq_span(text.at + 1, (size_t)(close - text.at) - 1);
        port = vq_span(close + 1, text.bytes - host.bytes - 2);
    } else {
        const char *colon = memchr(text.at, ':', text.bytes);
        if (colon != NULL) {
            host.bytes = (size_t)(colon - text.at);
            port = vq_span(colon, text.bytes - host.bytes);
        }
    }
    if (host.bytes == 0 || host.bytes >= sizeof(a->host)) {
        return vq_fail(
            err, VQ_INVALID,
            "the Redis address names no host: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]");
    }
    unsigned long number = DEFAULT_PORT;
    if (port.bytes > 0 &&
        (port.at[0] != ':' ||
         parse_number(vq_span(port.at + 1, port.bytes - 1), 65535, &number) != VQ_OK ||
         number == 0)) {
        return vq_fail(err, VQ_INVALID, "the port of the Redis address must be 1 to 65535");
    }
    memcpy(a->host, host.at, host.bytes);
    a->host[host.bytes] = '\0';
    a->port = (uint16_t)number;
    return VQ_OK;
}

static enum vq_status parse_tcp(const char *rest, struct vq_redis_address *a, struct vq_error *err)
{
    const char *at = strrchr(rest, '@');
    if (at != NULL) {
        const char *colon = memchr(rest, ':', (size_t)(at - rest));
        size_t user = colon == NULL ? 0 : (size_t)(colon - rest);
        if (colon == NULL || user >= sizeof(a->user)) {
            return vq_fail(err, VQ_INVALID,
                           "before the @ of a Redis address comes USER:PASSWORD or :PASSWORD; USER "
                           "has at most %d bytes",
                           VQ_REDIS_USER_BYTES_MAX);
        }
        memcpy(a->user, rest, user);
        enum vq_status status =
            vq_secret_from_bytes(vq_span(colon + 1, (size_t)(at - colon) - 1), &a->password);
        if (status != VQ_OK) {
            return vq_fail(err, status, "the password of the Redis address is empty or too long");
        }
        rest = at + 1;
    }
    size_t bytes = strcspn(rest, "/?#");
    VQ_TRY(parse_host(vq_span(rest, bytes), a, err));
    if (rest[bytes] == '\0' || strcmp(rest + bytes, "/") == 0) {
        return VQ_OK;
    }
    unsigned long db;
    if (rest[bytes] != '/' || parse_number(vq_span_str(rest + bytes + 1), 1000000, &db) != VQ_OK) {
        return vq_fail(err, VQ_INVALID,
                       "after the host of the Redis address comes at most /DB, a number");
    }
    a->db = (uint32_t)db;
    return VQ_OK;
}

enum vq_status vq_redis_address_parse(const char *url, const char *ca_file,
                                      struct vq_redis_address *ret_address, struct vq_error *err)
{
    struct vq_redis_address a = {.ca_file = ca_file};
    enum vq_status status;
    if (url[0] == '/') {
        status = parse_path(url, &a, err);
    } else if (strncmp(url, "unix://", 7) == 0) {
        status = parse_path(url + 7, &a, err);
    } else if (strncmp(url, "redis://", 8) == 0) {
        status = parse_tcp(url + 8, &a, err);
    } else if (strncmp(url, "rediss://", 9) == 0) {
        a.tls = true;
        status = parse_tcp(url + 9, &a, err);
    } else {
        status =
            vq_fail(err, VQ_INVALID, "a Redis address begins with redis://, rediss:// or unix://");
    }
    if (status != VQ_OK) {
        vq_redis_address_destroy(&a);
        return status;
    }
    *ret_address = a;
    return VQ_OK;
}

void vq_redis_address_destroy(struct vq_redis_address *address)
{
    vq_secret_destroy(&address->password);
}
