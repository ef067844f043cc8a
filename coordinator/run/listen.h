/* Where the coordinator listens for workers, and which address their certificate names. */
#pragma once

#include "common/net/zsock.h"

#define VQ_LISTEN_ADDRESSES_MAX 16u
#define VQ_LISTEN_ADDRESS_BYTES 64u

struct vq_listen {
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]; /* to bind */
    char other[VQ_ZSOCK_ENDPOINT_BYTES_MAX];    /* if its port is taken; "": nothing else will do */
};

/* `listen`: of --listen, HOST or HOST:PORT, an IPv6 host in brackets; NULL: the loopback. `before`:
 * the endpoint of last time, "" for none. Without a port the port of last time is kept. VQ_INVALID
 * with a sentence. */
enum vq_status vq_listen_of(const char *listen, const char *before, struct vq_listen *ret_listen,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* A worker cannot connect to "every address" (0.0.0.0, ::): this machine's first address takes its
 * place. Other endpoints stay. Returns how many addresses there were to choose from; 0 if none was
 * looked for. */
size_t vq_listen_reachable(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
/* What local workers connect to: the loopback instead of "every address". */
void vq_listen_local(const char *endpoint, char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
/* `advertise`: of --advertise, HOST or HOST:PORT, a name or an address, an IPv6 one in brackets.
 * Without a port, that of `endpoint`. VQ_INVALID with a sentence. */
enum vq_status vq_listen_advertised(const char *advertise, const char *endpoint,
                                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                                    struct vq_error *err) VQ_WARN_UNUSED;
/* vq_listen_reachable with this machine's addresses given; without any it is the loopback's. */
void vq_listen_pick(const char *endpoint, char (*addresses)[VQ_LISTEN_ADDRESS_BYTES], size_t count,
                    char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX]);
