/* Keys in a type that cannot be printed: no formatter, log function or encoder of vibeq accepts
 * it. */
#pragma once

#include "common/base/buf.h"

#define VQ_SECRET_BYTES_MAX  4096
#define VQ_FINGERPRINT_BYTES 8

struct vq_secret; /* locked memory, zeroed on destroy */

/* From "env:NAME" or "file:PATH". A file must be private (common/base/private_file.h); line ends
 * and blanks around the key are dropped. Errors name the variable or the file, never its
 * content. */
enum vq_status vq_secret_load(const char *reference, struct vq_secret **ret_secret,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Copies the bytes; the caller wipes its own copy. */
enum vq_status vq_secret_from_bytes(struct vq_span bytes,
                                    struct vq_secret **ret_secret) VQ_WARN_UNUSED;
void vq_secret_destroy(struct vq_secret **secret);

/* A domain-separated hash that distinguishes two keys and reveals neither. */
void vq_secret_fingerprint(const struct vq_secret *secret, uint8_t ret_fp[VQ_FINGERPRINT_BYTES]);

/* Calls `use` with the bytes; there is no other access to them. `use` must not keep them. */
typedef enum vq_status (*vq_secret_use_fn)(void *ctx, struct vq_span bytes);
enum vq_status vq_secret_expose(const struct vq_secret *secret, vq_secret_use_fn use, void *ctx);

void vq_wipe(void *bytes, size_t n); /* zeroes the bytes; the compiler cannot remove it */
/* from the system's generator, for identities and tokens */
void vq_random_bytes(void *ret_bytes, size_t n);
