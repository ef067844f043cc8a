/* TLS of Redis connections by OpenSSL and hiredis_ssl.
 *
 * hiredis does not compare the certificate with the name of the host, so this file makes the SSL
 * object. Invariants: without a trusted certificate of the right name, no byte of Redis' protocol
 * is sent, and so no password; versions before TLS 1.2 are refused. Owns the SSL object of the last
 * connection together with hiredis, to read the reason of a failure from it. */
#include "common/net/redis_tls.h"

#include "common/base/alloc.h"

#ifdef VQ_HIREDIS_SSL

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

struct vq_redis_tls {
    SSL_CTX *ctx;
    SSL *ssl; /* of the last connection; NULL: none yet */
};

static enum vq_status trust(SSL_CTX *ctx, const char *ca_file, struct vq_error *err)
{
    if (ca_file == NULL) {
        return SSL_CTX_set_default_verify_paths(ctx) == 1
                   ? VQ_OK
                   : vq_fail(err, VQ_INVALID,
                             "the certificates that this system trusts cannot be read; name those "
                             "of the Redis server with redis.ca_file");
    }
    return SSL_CTX_load_verify_locations(ctx, ca_file, NULL) == 1
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "redis.ca_file: %s has no readable PEM certificates",
                         ca_file);
}

enum vq_status vq_redis_tls_create(const char *ca_file, struct vq_redis_tls **ret_tls,
                                   struct vq_error *err)
{
    struct vq_redis_tls *tls = vq_alloc(1, sizeof(*tls));
    if (tls == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    ERR_clear_error();
    tls->ctx = SSL_CTX_new(TLS_client_method());
    enum vq_status status =
        tls->ctx == NULL ? vq_fail(err, VQ_NOMEM, "out of memory") : trust(tls->ctx, ca_file, err);
    if (status != VQ_OK) {
        vq_redis_tls_destroy(&tls);
        return status;
    }
    (void)SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
    SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER, NULL);
    *ret_tls = tls;
    return VQ_OK;
}

void vq_redis_tls_destroy(struct vq_redis_tls **tls)
{
    if (*tls != NULL) {
        SSL_free((*tls)->ssl);
        SSL_CTX_free((*tls)->ctx);
        vq_free(*tls);
        *tls = NULL;
    }
}

static bool expect_host(SSL *ssl, const char *host)
{
    struct in6_addr address;
    if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

enum vq_status vq_redis_tls_begin(struct vq_redis_tls *tls, struct redisContext *context,
                                  const char *host)
{
    SSL_free(tls->ssl);
    ERR_clear_error();
    tls->ssl = SSL_new(tls->ctx);
    if (tls->ssl == NULL || !expect_host(tls->ssl, host)) {
        return VQ_UNAVAILABLE;
    }
    const redisContextFuncs *plain = context->funcs;
    (void)SSL_up_ref(tls->ssl); /* for hiredis, if it succeeds */
    if (redisInitiateSSL(context, tls->ssl) != REDIS_OK) {
        context->funcs = plain; /* hiredis leaves TLS functions without their state */
        SSL_free(tls->ssl);
        return VQ_UNAVAILABLE;
    }
    return VQ_OK;
}

bool vq_redis_tls_why(const struct vq_redis_tls *tls, char *ret_why, size_t bytes)
{
    if (tls->ssl == NULL || SSL_is_init_finished(tls->ssl)) {
        return false;
    }
    long verified = SSL_get_verify_result(tls->ssl);
    if (verified != X509_V_OK) {
        (void)snprintf(ret_why, bytes, "the certificate of the server is refused: %s",
                       X509_verify_cert_error_string(verified));
        return true;
    }
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    (void)snprintf(ret_why, bytes, "no TLS with the server: %s",
                   reason != NULL ? reason : "the connection was closed");
    return true;
}

#else

enum vq_status vq_redis_tls_create(const char *ca_file, struct vq_redis_tls **ret_tls,
                                   struct vq_error *err)
{
    (void)ca_file;
    (void)ret_tls;
    return vq_fail(err, VQ_INVALID,
                   "redis.url begins with rediss://, and this vibeq was built with a hiredis that "
                   "has no TLS. Use a vibeq that was built on Debian 13 or newer, or run stunnel "
                   "on this machine and name its address: redis://127.0.0.1:PORT");
}

void vq_redis_tls_destroy(struct vq_redis_tls **tls)
{
    *tls = NULL;
}

enum vq_status vq_redis_tls_begin(struct vq_redis_tls *tls, struct redisContext *context,
                                  const char *host)
{
    (void)tls;
    (void)context;
    (void)host;
    return VQ_UNAVAILABLE;
}

bool vq_redis_tls_why(const struct vq_redis_tls *tls, char *ret_why, size_t bytes)
{
    (void)tls;
    (void)ret_why;
    (void)bytes;
    return false;
}

#endif
