/* A listening socket on the loopback, and nowhere else. */
#ifndef VQ_OFFLINE_LISTEN_H
#define VQ_OFFLINE_LISTEN_H

#include "common/base/status.h"

/* "127.0.0.1", any other 127.x.y.z, or "::1"; port 0 takes a free one. The caller closes the
 * socket. VQ_DENIED for another address, VQ_EXISTS for a port that is taken, VQ_IO. */
enum vq_status vq_listen_loopback(const char *address, uint16_t port, int *ret_fd,
                                  uint16_t *ret_port, struct vq_error *err) VQ_WARN_UNUSED;

#endif
