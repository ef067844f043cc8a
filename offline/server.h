/* The HTTP side: one thread, one loop, thousands of connections on the loopback. */
#pragma once

#include "offline/service.h"

struct vq_server;

/* Listens on a loopback address ("127.0.0.1", any 127.x.y.z, "::1"); port 0 takes a free one. The
 * service is borrowed for the server's life. VQ_DENIED for another address, VQ_EXISTS for a port
 * that is taken. */
enum vq_status vq_server_create(struct vq_service *service, const char *address, uint16_t port,
                                struct vq_server **ret_server, struct vq_error *err) VQ_WARN_UNUSED;
void vq_server_destroy(struct vq_server **server);
uint16_t vq_server_port(const struct vq_server *server);

/* Serves until SIGTERM or SIGINT (which the caller has blocked: the loop reads them as events).
 * Requests that are being answered at that moment are dropped, and the log says so. Fails only for
 * our own reasons. */
enum vq_status vq_server_run(struct vq_server *server, struct vq_error *err) VQ_WARN_UNUSED;
