/* The HTTP side: one thread, one loop, thousands of connections on the loopback. */
#pragma once

#include "offline/service.h"

struct vq_server;

/* Listens on a loopback address ("127.0.0.1", any 127.x.y.z, "::1"); port 0: any free port. The
 * service is borrowed for the server's life. VQ_DENIED: another address; VQ_EXISTS: the port is in
 * use. */
enum vq_status vq_server_create(struct vq_service *service, const char *address, uint16_t port,
                                struct vq_server **ret_server, struct vq_error *err) VQ_WARN_UNUSED;
void vq_server_destroy(struct vq_server **server);
uint16_t vq_server_port(const struct vq_server *server);

/* Serves until SIGTERM or SIGINT (the caller must block them: the loop reads them as events).
 * Requests in progress at that moment are dropped and logged as dropped. Fails only for reasons of
 * the server itself. */
enum vq_status vq_server_run(struct vq_server *server, struct vq_error *err) VQ_WARN_UNUSED;
