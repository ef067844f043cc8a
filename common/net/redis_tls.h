/* Private to net: TLS for a connection to Redis. It needs a build with hiredis_ssl. */
#pragma once

#include "common/base/status.h"

#include <stddef.h>

struct redisContext;
struct vq_redis_tls;

/* ca_file: the certificates that sign the server's, in PEM; NULL: those that the system trusts.
 * VQ_INVALID: it cannot be read, or this build has no TLS for Redis. VQ_NOMEM. */
enum vq_status vq_redis_tls_create(const char *ca_file, struct vq_redis_tls **ret_tls,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_redis_tls_destroy(struct vq_redis_tls **tls); /* *tls may be NULL */

/* Starts TLS on a connected socket. host: the name or address that the server's certificate must
 * have. VQ_UNAVAILABLE: see vq_redis_tls_why. */
enum vq_status vq_redis_tls_begin(struct vq_redis_tls *tls, struct redisContext *context,
                                  const char *host) VQ_WARN_UNUSED;
/* The reason why the last connection failed in TLS; false: TLS did not fail. */
bool vq_redis_tls_why(const struct vq_redis_tls *tls, char *ret_why, size_t bytes);
