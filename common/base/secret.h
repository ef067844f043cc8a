/* Key material: a type that nothing can print. No formatter, log function or encoder of this
 * project accepts one. */
#pragma once

#include "common/base/buf.h"

#define VQ_SECRET_BYTES_MAX  4096
#define VQ_FINGERPRINT_BYTES 8

struct vq_secret; /* locked memory, zeroed on destroy */

/* From "env:NAME" or "file:PATH". A file must be private (common/base/private_file.h); line ends
 * and blanks around the key are dropped. Refusals name the variable or the file, never its
 * content. */
enum vq_status vq_secret_load(const char *reference, struct vq_secret **ret_secret,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Copies the bytes in; the caller wipes its own. */
enum vq_status vq_secret_from_bytes(struct vq_span bytes,
                                    struct vq_secret **ret_secret) VQ_WARN_UNUSED;
void vq_secret_destroy(struct vq_secret **secret);

/* A domain-separated hash that distinguishes two keys and reveals neither. */
void vq_secret_fingerprint(const struct vq_secret *secret, uint8_t ret_fp[VQ_FINGERPRINT_BYTES]);

/* Gives `use` the bytes for the length of the call: the only way to them. `use` must not keep
 * them. */
typedef enum vq_status (*vq_secret_use_fn)(void *ctx, struct vq_span bytes);
enum vq_status vq_secret_expose(const struct vq_secret *secret, vq_secret_use_fn use, void *ctx);

void vq_wipe(void *bytes, size_t n);             /* zeroes in a way the compiler keeps */
void vq_random_bytes(void *ret_bytes, size_t n); /* from the system, for identities and tokens */
