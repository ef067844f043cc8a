/* CURVE key pairs and their files, in CZMQ's certificate format (zcert), which czmq's tools can
 * read. */
#pragma once

#include "common/base/secret.h"

#define VQ_CURVE_KEY_CHARS      40 /* Z85 text */
#define VQ_CERT_FILE_BYTES_MAX  8192
#define VQ_CERT_VALUE_BYTES_MAX 256

struct vq_keypair {
    char public_key[VQ_CURVE_KEY_CHARS + 1];
    struct vq_secret *secret_key; /* owned */
};

/* Whether the text has the form of a key. */
bool vq_curve_key_is(struct vq_span text);

enum vq_status vq_keypair_create(struct vq_keypair *ret_keys) VQ_WARN_UNUSED;
void vq_keypair_destroy(struct vq_keypair *keys); /* wipes; a zeroed struct is fine */

/* The content of a file that a worker needs to join a run; or, of the coordinator's own file, its
 * key pair and address. Texts are NUL-terminated, one line, without quotes. */
struct vq_cert {
    struct vq_keypair keys;                  /* of the reader of this file */
    char server_key[VQ_CURVE_KEY_CHARS + 1]; /* of the ROUTER; "" in the coordinator's own file */
    char endpoint[VQ_CERT_VALUE_BYTES_MAX];  /* "tcp://host:port" */
    char run_uid[33];                        /* lower-case hex; "" if not given */
    char run_name[VQ_CERT_VALUE_BYTES_MAX];
};

/* Writes a file of mode 0600 completely or not at all (a temporary file in the same folder, then a
 * rename). VQ_INVALID: a text that the format cannot hold; VQ_IO with file and reason. */
enum vq_status vq_cert_write(const char *path, const struct vq_cert *cert,
                             struct vq_error *err) VQ_WARN_UNUSED;
/* "env:NAME" is the content of the variable NAME; any other path is a file. */
#define VQ_CERT_ENV "env:"
const char *vq_cert_variable(const char *path); /* NAME; NULL: a file */
/* VQ_DENIED: other users can read the file. VQ_NOT_FOUND: there is no such file. VQ_INVALID, with
 * the line: the key pair is not complete, or its keys do not match. Unknown names are ignored. */
enum vq_status vq_cert_read(const char *path, struct vq_cert *ret_cert,
                            struct vq_error *err) VQ_WARN_UNUSED;
void vq_cert_destroy(struct vq_cert *cert); /* wipes; a zeroed struct is fine */
