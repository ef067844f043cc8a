/* BLAKE2b-256 without a key; a domain name is hashed first. Not its job: secrets. */
#include "common/base/hash.h"

#include <sodium.h>

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct vq_hasher), "hasher too small");

static crypto_generichash_state *state_of(struct vq_hasher *h)
{
    return (crypto_generichash_state *)(void *)h->opaque;
}

void vq_hasher_init(struct vq_hasher *h, const char *domain)
{
    unsigned char name[16] = {0};
    size_t n = strlen(domain);
    memcpy(name, domain, n < sizeof(name) ? n : sizeof(name));
    (void)crypto_generichash_init(state_of(h), NULL, 0, VQ_HASH_BYTES);
    (void)crypto_generichash_update(state_of(h), name, sizeof(name));
}

void vq_hasher_bytes(struct vq_hasher *h, const void *bytes, size_t n)
{
    if (n > 0) {
        (void)crypto_generichash_update(state_of(h), bytes, n);
    }
}

void vq_hasher_u64(struct vq_hasher *h, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (56 - 8 * i));
    }
    vq_hasher_bytes(h, bytes, sizeof(bytes));
}

void vq_hasher_field(struct vq_hasher *h, struct vq_span field)
{
    vq_hasher_u64(h, field.bytes);
    vq_hasher_bytes(h, field.at, field.bytes);
}

void vq_hasher_final(struct vq_hasher *h, struct vq_hash *ret_hash)
{
    (void)crypto_generichash_final(state_of(h), ret_hash->b, VQ_HASH_BYTES);
}

void vq_hash_of(const char *domain, struct vq_span bytes, struct vq_hash *ret_hash)
{
    struct vq_hasher h;
    vq_hasher_init(&h, domain);
    vq_hasher_bytes(&h, bytes.at, bytes.bytes);
    vq_hasher_final(&h, ret_hash);
}

bool vq_hash_eq(const struct vq_hash *a, const struct vq_hash *b)
{
    return memcmp(a->b, b->b, VQ_HASH_BYTES) == 0;
}

int vq_hash_cmp(const struct vq_hash *a, const struct vq_hash *b)
{
    return memcmp(a->b, b->b, VQ_HASH_BYTES);
}

uint64_t vq_hash_u64(const struct vq_hash *h)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value = value << 8 | h->b[i];
    }
    return value;
}

void vq_sha256_hex(struct vq_span bytes, char ret_hex[65])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(digest, (const unsigned char *)bytes.at, bytes.bytes);
    vq_hex(digest, sizeof(digest), ret_hex);
}

void vq_hex(const void *bytes, size_t n, char *ret_hex)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++) {
        ret_hex[2 * i] = digits[b[i] >> 4];
        ret_hex[2 * i + 1] = digits[b[i] & 15];
    }
    ret_hex[2 * n] = '\0';
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return -1;
}

enum vq_status vq_unhex(struct vq_span hex, void *ret_bytes, size_t n)
{
    if (hex.bytes != 2 * n) {
        return VQ_INVALID;
    }
    for (size_t i = 0; i < 2 * n; i++) {
        if (nibble(hex.at[i]) < 0) {
            return VQ_INVALID;
        }
    }
    unsigned char *out = ret_bytes;
    for (size_t i = 0; i < n; i++) {
        out[i] = (unsigned char)(nibble(hex.at[2 * i]) << 4 | nibble(hex.at[2 * i + 1]));
    }
    return VQ_OK;
}
