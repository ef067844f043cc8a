/* BLAKE2b through libsodium: 32-byte hashes of requests, templates and files. */
#pragma once

#include "common/base/buf.h"

#define VQ_HASH_BYTES 32

struct vq_hash {
    uint8_t b[VQ_HASH_BYTES];
};

/* The state of an unfinished hash; a copy of the struct continues independently. */
struct vq_hasher {
    _Alignas(64) unsigned char opaque[384];
};

/* `domain` separates uses: the same bytes under two domains give two hashes. Only its first 16
 * bytes count. */
void vq_hasher_init(struct vq_hasher *h, const char *domain);
void vq_hasher_bytes(struct vq_hasher *h, const void *bytes, size_t n);
/* Length-prefixed, so that ("ab","c") and ("a","bc") differ. */
void vq_hasher_field(struct vq_hasher *h, struct vq_span field);
void vq_hasher_u64(struct vq_hasher *h, uint64_t value);
void vq_hasher_final(struct vq_hasher *h, struct vq_hash *ret_hash); /* ends the state */

void vq_hash_of(const char *domain, struct vq_span bytes, struct vq_hash *ret_hash);
bool vq_hash_eq(const struct vq_hash *a, const struct vq_hash *b);
int vq_hash_cmp(const struct vq_hash *a, const struct vq_hash *b);
uint64_t vq_hash_u64(
    const struct vq_hash *h); /* the first eight bytes, big-endian: for random draws by hash */

/* SHA-256 as lower-case hex, for files: common tools compute the same hash. */
void vq_sha256_hex(struct vq_span bytes, char ret_hex[65]);

#define VQ_HEX_BYTES(n) ((n)*2 + 1)
/* Lower-case hex of n bytes into `ret_hex`, which holds VQ_HEX_BYTES(n). */
void vq_hex(const void *bytes, size_t n, char *ret_hex);
enum vq_status vq_unhex(struct vq_span hex, void *ret_bytes, size_t n) VQ_WARN_UNUSED;
