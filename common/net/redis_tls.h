/* Private to net: TLS under a connection to Redis. Only a build with hiredis_ssl has it. */
#pragma once

#include "common/base/status.h"

#include <stddef.h>

struct redisContext;
struct vq_redis_tls;

/* ca_file: the certificates that sign the server's, in PEM; NULL: those that the system trusts.
 * VQ_INVALID: it cannot be read, or this build has no TLS for Redis. VQ_NOMEM. */
enum vq_status vq_redis_tls_create(const char *ca_file, struct vq_redis_tls **ret_tls,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_redis_tls_destroy(struct vq_redis_tls **tls); /* NULL inside is fine */

/* On a connected socket. host: the name or the address that the server's certificate must have.
 * VQ_UNAVAILABLE: see vq_redis_tls_why. */
enum vq_status vq_redis_tls_begin(struct vq_redis_tls *tls, struct redisContext *context,
                                  const char *host) VQ_WARN_UNUSED;
/* Why the last connection failed in TLS; false: it did not. */
bool vq_redis_tls_why(const struct vq_redis_tls *tls, char *ret_why, size_t bytes);
