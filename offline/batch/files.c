/* A list of files. Invariant: `bytes` is the sum of their sizes and never over the limit. Not its
 * job: the upload of a file (openai.c, gemini.c). */
#include "offline/batch/files.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <stdio.h>

void vq_offline_batch_new_id(const char *prefix, uint64_t n, int64_t now_ms,
                             char ret_id[VQ_BATCH_ID_BYTES])
{
    struct vq_hasher h;
    struct vq_hash hash;
    char hex[25];
    vq_hasher_init(&h, "batch-id");
    vq_hasher_field(&h, vq_span_str(prefix));
    vq_hasher_u64(&h, n);
    vq_hasher_u64(&h, (uint64_t)now_ms);
    vq_hasher_final(&h, &hash);
    vq_hex(hash.b, 12, hex);
    (void)snprintf(ret_id, VQ_BATCH_ID_BYTES, "%s%s", prefix, hex);
}

static const char *prefix_of(enum vq_dialect dialect)
{
    return dialect == VQ_DIALECT_GEMINI ? "files/" : "file-";
}

enum vq_status vq_offline_batch_files_add(struct vq_offline_batch_files *files,
                                          const struct vq_offline_batch_file_new *as,
                                          struct vq_buf *take_bytes,
                                          struct vq_offline_batch_file **ret_file)
{
    void *list = files->list;
    struct vq_offline_batch_file *file = NULL;
    enum vq_status status =
        files->bytes + take_bytes->bytes > VQ_BATCH_STORE_BYTES_MAX
            ? VQ_LIMIT
            : vq_grow(&list, &files->cap, files->n + 1, sizeof(*files->list), VQ_BATCH_FILES_MAX);
    if (status == VQ_OK) {
        files->list = list;
        file = vq_alloc(1, sizeof(*file));
        status = file == NULL ? VQ_NOMEM : VQ_OK;
    }
    if (status != VQ_OK) {
        vq_buf_free(take_bytes);
        return status;
    }
    file->dialect = as->dialect;
    file->purpose = as->purpose;
    file->created_ms = as->now_ms;
    (void)snprintf(file->account, sizeof(file->account), "%s", as->account);
    (void)snprintf(file->mime, sizeof(file->mime), "%s", as->mime);
    size_t n = as->name.bytes < sizeof(file->name) ? as->name.bytes : sizeof(file->name) - 1;
    (void)snprintf(file->name, sizeof(file->name), "%.*s", (int)n, n == 0 ? "" : as->name.at);
    vq_offline_batch_new_id(prefix_of(as->dialect), ++files->made, as->now_ms, file->id);
    file->bytes = *take_bytes;
    *take_bytes = (struct vq_buf){.bytes_max = take_bytes->bytes_max};
    files->bytes += file->bytes.bytes;
    files->list[files->n++] = file;
    *ret_file = file;
    return VQ_OK;
}

struct vq_offline_batch_file *
vq_offline_batch_files_find(const struct vq_offline_batch_files *files, const char *id,
                            const char *account)
{
    for (size_t i = files->n; i > 0; i--) {
        struct vq_offline_batch_file *file = files->list[i - 1];
        if (strcmp(file->id, id) == 0 && strcmp(file->account, account) == 0) {
            return file;
        }
    }
    return NULL;
}

static void free_file(struct vq_offline_batch_file *file)
{
    vq_buf_free(&file->bytes);
    vq_free(file);
}

void vq_offline_batch_files_remove(struct vq_offline_batch_files *files,
                                   struct vq_offline_batch_file *file)
{
    size_t at = 0;
    while (at < files->n && files->list[at] != file) {
        at++;
    }
    VQ_ASSERT(at < files->n);
    files->bytes -= file->bytes.bytes;
    memmove(&files->list[at], &files->list[at + 1], (files->n - at - 1) * sizeof(*files->list));
    files->n--;
    free_file(file);
}

void vq_offline_batch_files_free(struct vq_offline_batch_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free_file(files->list[i]);
    }
    vq_free(files->list);
    *files = (struct vq_offline_batch_files){0};
}
