/* The coordinator's address for workers, and the address in their certificates. */
#pragma once

#include "common/net/zsock.h"

#define VQ_LISTEN_ADDRESSES_MAX 16u
#define VQ_LISTEN_ADDRESS_BYTES 64u

struct vq_listen {
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]; /* to bind */
    char other[VQ_ZSOCK_ENDPOINT_BYTES_MAX];    /* if its port is taken; "": no other is possible */
};

/* `listen`: the value of --listen, HOST or HOST:PORT, an IPv6 host in brackets; NULL: the loopback.
 * `before`: the endpoint of the last start; "": none. Without a port the last port is used.
 * VQ_INVALID with a sentence. */
enum vq_status vq_listen_of(const char *listen, const char *before, struct vq_listen *ret_listen,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Replaces "every address" (0.0.0.0, ::), to which no worker can connect, by this machine's first
 * address. Other endpoints stay. Returns the number of addresses to choose from; 0 if no address
 * was needed. */
size_t vq_listen_reachable(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
/* The endpoint for local workers: the loopback instead of "every address". */
void vq_listen_local(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
/* `advertise`: the value of --advertise, HOST or HOST:PORT, a name or an address, an IPv6 one in
 * brackets. Without a port: the port of `endpoint`. VQ_INVALID with a sentence. */
enum vq_status vq_listen_advertised(const char *advertise, const char *endpoint,
                                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* vq_listen_reachable with given addresses of this machine; without any: the loopback. */
void vq_listen_pick(const char *endpoint, char (*addresses)[VQ_LISTEN_ADDRESS_BYTES], size_t count,
                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
