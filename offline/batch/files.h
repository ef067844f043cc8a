/* Files that clients uploaded, and result files of batches. In memory, bounded. */
#pragma once

#include "common/base/buf.h"
#include "offline/chat.h"

#define VQ_BATCH_FILES_MAX       4096u
#define VQ_BATCH_ID_BYTES        64
#define VQ_BATCH_FILE_NAME_BYTES 256
#define VQ_BATCH_ACCOUNT_BYTES   72
#define VQ_BATCH_FILE_BYTES_MAX  (512u << 20)        /* of one file */
#define VQ_BATCH_STORE_BYTES_MAX (UINT64_C(2) << 30) /* of all files */

struct vq_offline_batch_file {
    char id[VQ_BATCH_ID_BYTES];
    char account[VQ_BATCH_ACCOUNT_BYTES];
    char name[VQ_BATCH_FILE_NAME_BYTES];
    char mime[64];
    const char *purpose; /* static text */
    enum vq_dialect dialect;
    int64_t created_ms; /* wall time */
    struct vq_buf bytes;
};

struct vq_offline_batch_files {
    struct vq_offline_batch_file **list; /* owned, the oldest first */
    size_t n;
    size_t cap;
    uint64_t bytes;
    uint64_t made;
};

/* The properties of a new file. The file takes over `take_bytes`. */
struct vq_offline_batch_file_new {
    enum vq_dialect dialect;
    const char *account;
    const char *purpose;
    struct vq_span name;
    const char *mime;
    int64_t now_ms;
};

/* VQ_LIMIT: no room; VQ_NOMEM. `take_bytes` is empty afterwards, even after a failure. */
enum vq_status vq_offline_batch_files_add(struct vq_offline_batch_files *files,
                                          const struct vq_offline_batch_file_new *as,
                                          struct vq_buf *take_bytes,
                                          struct vq_offline_batch_file **ret_file) VQ_WARN_UNUSED;
/* NULL: this account has no file of this id. */
struct vq_offline_batch_file *
vq_offline_batch_files_find(const struct vq_offline_batch_files *files, const char *id,
                            const char *account);
void vq_offline_batch_files_remove(struct vq_offline_batch_files *files,
                                   struct vq_offline_batch_file *file);
void vq_offline_batch_files_free(struct vq_offline_batch_files *files);

/* "PREFIX" and 24 hex digits, different for each `n` and each start of a server. */
void vq_offline_batch_new_id(const char *prefix, uint64_t n, int64_t now_ms,
                             char ret_id[VQ_BATCH_ID_BYTES]);
