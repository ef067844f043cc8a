/* A folder of certificates that outlives runs: the coordinator's key pair (coordinator.cert), a
 * certificate NAME.cert for each worker or group of workers, and the list of their public keys
 * (workers.allowed). The runs folder is such a folder with one group, `join`; `vibeq cert new`
 * makes others. */
#pragma once

#include "common/base/buf.h"
#include "common/net/cert.h"

#define VQ_ALLOWED_FILE           "workers.allowed"
#define VQ_ALLOWED_MAX            1000u
#define VQ_ALLOWED_NAME_BYTES_MAX 64u
#define VQ_COORDINATOR_CERT       "coordinator.cert"
#define VQ_JOIN_GROUP             "join" /* of the runs folder */
#define VQ_CERT_PATH_BYTES_MAX    4096u

struct vq_allowed {
    char name[VQ_ALLOWED_NAME_BYTES_MAX + 1];
    char key[VQ_CURVE_KEY_CHARS + 1];
};

struct vq_allowed_list {
    struct vq_allowed *items; /* owned */
    size_t count, cap;
};

void vq_allowed_free(struct vq_allowed_list *list);
bool vq_allowed_has(const struct vq_allowed_list *list, const char *key);
/* Lines "NAME KEY"; blank lines and lines that begin with # are skipped. VQ_INVALID: err names the
 * line; VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_allowed_parse(struct vq_span text, struct vq_allowed_list *ret_list,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_NOT_FOUND: the folder has no list. */
enum vq_status vq_allowed_read(const char *folder, struct vq_allowed_list *ret_list,
                               struct vq_error *err) VQ_WARN_UNUSED;

/* FOLDER/NAME.cert. VQ_LIMIT. */
enum vq_status vq_cert_path(const char *folder, const char *name,
                            char ret_path[VQ_CERT_PATH_BYTES_MAX],
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Makes the coordinator's key pair if there is none, and for each name a certificate with a new key
 * and `endpoint` ("": no address yet). VQ_EXISTS: a name is taken; then nothing was made. The
 * folder is made (0700) if it is missing. */
enum vq_status vq_cert_folder_add(const char *folder, const char *const *names, size_t count,
                                  const char *endpoint, struct vq_error *err) VQ_WARN_UNUSED;
/* If the folder has no coordinator.cert, makes one with the group `join`; otherwise does
 * nothing. */
enum vq_status vq_cert_folder_ensure(const char *folder, struct vq_error *err) VQ_WARN_UNUSED;
/* For --cert: VQ_NOT_FOUND: err names the command that makes the folder. */
enum vq_status vq_cert_folder_check(const char *folder, struct vq_error *err) VQ_WARN_UNUSED;
/* Takes the name off the list and removes its certificate. VQ_NOT_FOUND. */
enum vq_status vq_cert_folder_revoke(const char *folder, const char *name,
                                     struct vq_error *err) VQ_WARN_UNUSED;
