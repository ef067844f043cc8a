/* Addresses of the coordinator's socket. Not its job: binding. */
#include "coordinator/run/listen.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOPBACK "tcp://127.0.0.1:"
#define TEXT_MAX 200 /* of the given value, in a message */

/* libzmq would use the lowest 16 bits of a port over 65535. */
static bool is_port(const char *text)
{
    size_t digits = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
    return digits >= 1 && digits <= 5 && text[1 + digits] == '\0' &&
           strtoul(text + 1, NULL, 10) <= UINT16_MAX;
}

enum vq_status vq_listen_of(const char *listen, const char *before, struct vq_listen *ret_listen,
                            struct vq_error *err)
{
    struct vq_listen made = {.endpoint = "", .other = ""};
    const char *last = strrchr(before, ':');
    if (listen == NULL) {
        bool again = before[0] != '\0';
        (void)snprintf(made.endpoint, sizeof(made.endpoint), "%s", again ? before : LOOPBACK "0");
        if (again && strncmp(before, LOOPBACK, strlen(LOOPBACK)) == 0) {
            (void)snprintf(made.other, sizeof(made.other), LOOPBACK "0");
        }
        *ret_listen = made;
        return VQ_OK;
    }
    const char *end = listen[0] == '[' ? strchr(listen, ']') : NULL;
    size_t host = end != NULL ? (size_t)(end - listen) + 1 : strcspn(listen, ":");
    const char *port = listen + host;
    if (host == 0 || (port[0] != '\0' && !is_port(port))) {
        return vq_fail(err, VQ_INVALID,
                       "--listen %.*s: name an address of this machine, or ADDRESS:PORT with a "
                       "port up to 65535; write an IPv6 address in brackets",
                       TEXT_MAX, listen);
    }
    bool keep = port[0] == '\0' && last != NULL && is_port(last);
    (void)snprintf(made.endpoint, sizeof(made.endpoint), "tcp://%.*s%s", TEXT_MAX, listen,
                   keep              ? last
                   : port[0] == '\0' ? ":0"
                                     : "");
    if (keep) {
        (void)snprintf(made.other, sizeof(made.other), "tcp://%.*s:0", TEXT_MAX, listen);
    }
    *ret_listen = made;
    return VQ_OK;
}

static const char *port_of_any(const char *endpoint)
{
    static const char *const any[] = {"tcp://0.0.0.0", "tcp://[::]", "tcp://*"};
    for (size_t i = 0; i < VQ_COUNT(any); i++) {
        size_t bytes = strlen(any[i]);
        if (strncmp(endpoint, any[i], bytes) == 0 && endpoint[bytes] == ':') {
            return endpoint + bytes;
        }
    }
    return NULL;
}

void vq_listen_pick(const char *endpoint, char (*addresses)[VQ_LISTEN_ADDRESS_BYTES], size_t count,
                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX])
{
    const char *port = port_of_any(endpoint);
    if (port == NULL) {
        (void)snprintf(ret_endpoint, VQ_ZSOCK_ENDPOINT_BYTES_MAX, "%s", endpoint);
    } else {
        (void)snprintf(ret_endpoint, VQ_ZSOCK_ENDPOINT_BYTES_MAX, "tcp://%s%s",
                       count > 0 ? addresses[0] : "127.0.0.1", port);
    }
}

void vq_listen_local(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX])
{
    vq_listen_pick(endpoint, NULL, 0, ret_endpoint);
}

/* No worker can connect to "every address". */
static bool is_host(const char *text, size_t bytes)
{
    static const char *const any[] = {"0.0.0.0", "0", "[::]", "*"};
    bool ipv6 = bytes > 2 && text[0] == '[' && text[bytes - 1] == ']';
    size_t from = ipv6 ? 1 : 0, to = ipv6 ? bytes - 1 : bytes;
    for (size_t i = 0; i < VQ_COUNT(any); i++) {
        if (vq_span_eq(vq_span(text, bytes), vq_span_str(any[i]))) {
            return false;
        }
    }
    for (size_t i = from; i < to; i++) {
        char c = text[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '.' || c == '-' || c == '_' || (ipv6 && c == ':');
        if (!fine) {
            return false;
        }
    }
    return to > from && to - from <= TEXT_MAX;
}

enum vq_status vq_listen_advertised(const char *advertise, const char *endpoint,
                                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                                    struct vq_error *err)
{
    const char *end = advertise[0] == '[' ? strchr(advertise, ']') : NULL;
    size_t host = end != NULL ? (size_t)(end - advertise) + 1 : strcspn(advertise, ":");
    const char *port = advertise + host;
    const char *bound = strrchr(endpoint, ':');
    bool named = port[0] != '\0';
    if (!is_host(advertise, host) ||
        (named && (!is_port(port) || strtoul(port + 1, NULL, 10) == 0)) ||
        (!named && (bound == NULL || !is_port(bound)))) {
        return vq_fail(err, VQ_INVALID,
                       "--advertise %.*s: name the host that workers on other machines connect to, "
                       "or HOST:PORT, by name or by address; not 0.0.0.0, because no worker can "
                       "connect to every address",
                       TEXT_MAX, advertise);
    }
    (void)snprintf(ret_endpoint, VQ_ZSOCK_ENDPOINT_BYTES_MAX, "tcp://%.*s%s", (int)host, advertise,
                   named ? port : bound);
    return VQ_OK;
}

static bool put_address(const struct ifaddrs *of, int family, char *ret_text)
{
    if (of->ifa_addr == NULL || of->ifa_addr->sa_family != family ||
        (of->ifa_flags & IFF_UP) == 0 || (of->ifa_flags & IFF_LOOPBACK) != 0) {
        return false;
    }
    if (family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, of->ifa_addr, sizeof(in));
        /* valid on one link only */
        return inet_ntop(family, &in.sin_addr, ret_text, VQ_LISTEN_ADDRESS_BYTES) != NULL &&
               strncmp(ret_text, "169.254.", strlen("169.254.")) != 0;
    }
    struct sockaddr_in6 in;
    char text[INET6_ADDRSTRLEN];
    memcpy(&in, of->ifa_addr, sizeof(in));
    if (IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr) ||
        inet_ntop(family, &in.sin6_addr, text, sizeof(text)) == NULL) {
        return false;
    }
    (void)snprintf(ret_text, VQ_LISTEN_ADDRESS_BYTES, "[%s]", text);
    return true;
}

static size_t addresses_of(const struct ifaddrs *list, int family,
                           char (*ret_addresses)[VQ_LISTEN_ADDRESS_BYTES])
{
    size_t count = 0;
    for (const struct ifaddrs *at = list; at != NULL && count < VQ_LISTEN_ADDRESSES_MAX;
         at = at->ifa_next) {
        count += put_address(at, family, ret_addresses[count]);
    }
    return count;
}

size_t vq_listen_reachable(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX])
{
    char addresses[VQ_LISTEN_ADDRESSES_MAX][VQ_LISTEN_ADDRESS_BYTES];
    struct ifaddrs *list = NULL;
    size_t count = 0;
    if (port_of_any(endpoint) != NULL && getifaddrs(&list) == 0) {
        count = addresses_of(list, AF_INET, addresses);
        if (count == 0 && strncmp(endpoint, "tcp://0", strlen("tcp://0")) != 0) {
            count = addresses_of(list, AF_INET6, addresses);
        }
        freeifaddrs(list);
    }
    vq_listen_pick(endpoint, addresses, count, ret_endpoint);
    return count;
}
