/* Secrets live in sodium's guarded, locked heap and leave it only through vq_secret_expose.
 * Invariant: no byte of a secret is copied into an error, a log, or ordinary memory that is not
 * wiped here. */
#include "common/base/secret.h"

#include "common/base/hash.h"
#include "common/base/private_file.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

struct vq_secret {
    size_t bytes;
    unsigned char at[];
};

enum vq_status vq_secret_from_bytes(struct vq_span bytes, struct vq_secret **ret_secret)
{
    if (bytes.bytes == 0 || bytes.bytes > VQ_SECRET_BYTES_MAX) {
        return VQ_INVALID;
    }
    if (sodium_init() < 0) {
        return VQ_UNAVAILABLE;
    }
    /* sodium puts the block at the end of a page, so its size must be a multiple of 8 to align its
     * beginning */
    size_t whole = (sizeof(struct vq_secret) + bytes.bytes + 7) & ~(size_t)7;
    struct vq_secret *secret = sodium_malloc(whole);
    if (secret == NULL) {
        return VQ_NOMEM;
    }
    secret->bytes = bytes.bytes;
    memcpy(secret->at, bytes.at, bytes.bytes);
    *ret_secret = secret;
    return VQ_OK;
}

/* Removes line ends and blanks around the key. No key has them, but files, here-documents and
 * pasted texts do. */
static struct vq_span trimmed(struct vq_span key)
{
    while (key.bytes > 0 && strchr(" \t\r\n\v\f", key.at[key.bytes - 1]) != NULL) {
        key.bytes--;
    }
    while (key.bytes > 0 && strchr(" \t\r\n\v\f", key.at[0]) != NULL) {
        key = vq_span(key.at + 1, key.bytes - 1);
    }
    return key;
}

static enum vq_status load_env(const char *name, struct vq_secret **ret_secret,
                               struct vq_error *err)
{
    const char *value = getenv(name);
    struct vq_span key = trimmed(vq_span_str(value == NULL ? "" : value));
    if (key.bytes == 0) {
        return vq_fail(
            err, VQ_NOT_FOUND,
            "the environment variable %s is not set; set it, or name another with key: env:NAME",
            name);
    }
    enum vq_status status = vq_secret_from_bytes(key, ret_secret);
    if (status == VQ_INVALID) {
        return vq_fail(err, status, "the key in %s is longer than %d bytes", name,
                       VQ_SECRET_BYTES_MAX);
    }
    return status;
}

static enum vq_status load_file(const char *path, struct vq_secret **ret_secret,
                                struct vq_error *err)
{
    int fd;
    enum vq_status status = VQ_OK;
    VQ_TRY(vq_private_open("key file", path, &fd, err));
    char bytes[VQ_SECRET_BYTES_MAX + 1];
    size_t n = 0;
    while (status == VQ_OK && n < sizeof(bytes)) {
        ssize_t got = read(fd, bytes + n, sizeof(bytes) - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = vq_fail(err, VQ_IO, "cannot read the key file %s: %s", path, strerror(errno));
        }
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    (void)close(fd); /* read only: nothing to lose */
    if (status == VQ_OK) {
        struct vq_span key = trimmed(vq_span(bytes, n));
        status = vq_secret_from_bytes(key, ret_secret);
        if (status == VQ_INVALID) {
            (void)vq_fail(err, status, "the key file %s is %s", path,
                          key.bytes == 0 ? "empty" : "longer than a key may be");
        }
    }
    sodium_memzero(bytes, sizeof(bytes));
    return status;
}

enum vq_status vq_secret_load(const char *reference, struct vq_secret **ret_secret,
                              struct vq_error *err)
{
    if (strncmp(reference, "env:", 4) == 0 && reference[4] != '\0') {
        return load_env(reference + 4, ret_secret, err);
    }
    if (strncmp(reference, "file:", 5) == 0 && reference[5] != '\0') {
        return load_file(reference + 5, ret_secret, err);
    }
    /* The error does not repeat the text, because it may be a key that was pasted by mistake. */
    return vq_fail(
        err, VQ_INVALID,
        "a key is named as env:NAME or file:PATH, and never written into a config or a command");
}

void vq_secret_destroy(struct vq_secret **secret)
{
    if (*secret != NULL) {
        sodium_free(*secret); /* zeroes the memory first */
        *secret = NULL;
    }
}

void vq_secret_fingerprint(const struct vq_secret *secret, uint8_t ret_fp[VQ_FINGERPRINT_BYTES])
{
    struct vq_hash hash;
    vq_hash_of("vq-key-print", vq_span((const char *)secret->at, secret->bytes), &hash);
    memcpy(ret_fp, hash.b, VQ_FINGERPRINT_BYTES);
}

enum vq_status vq_secret_expose(const struct vq_secret *secret, vq_secret_use_fn use, void *ctx)
{
    return use(ctx, vq_span((const char *)secret->at, secret->bytes));
}

void vq_wipe(void *bytes, size_t n)
{
    sodium_memzero(bytes, n);
}

void vq_random_bytes(void *ret_bytes, size_t n)
{
    VQ_ASSERT(sodium_init() >= 0);
    randombytes_buf(ret_bytes, n);
}
