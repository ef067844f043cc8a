/* Reads and writes RUN/advances.json. Invariant: an unreadable file never counts as an empty one.
 * Not its job: when to write it (coordinator/run/advances.c), the meaning of an advance (the
 * authority). */
#include "coordinator/store/rundir/advances.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/json_load.h"

#include <jansson.h>

#define ENTRY_BYTES_MAX 128u
#define BYTES_MAX       ((VQ_AUTHORITY_ADVANCES_MAX + VQ_AUTHORITY_WORKERS_MAX) * ENTRY_BYTES_MAX + 1024u)
#define DEPTH_MAX       4u

static bool entry_read(const json_t *entry, struct vq_advance *ret_advance)
{
    const json_t *worker = json_object_get(entry, "worker");
    const json_t *nano = json_object_get(entry, "nano_usd");
    if (!json_is_string(worker) || !json_is_integer(nano) || json_integer_value(nano) < 0) {
        return false;
    }
    ret_advance->nano = (uint64_t)json_integer_value(nano);
    return vq_unhex(vq_span(json_string_value(worker), json_string_length(worker)),
                    ret_advance->worker.b, VQ_ID_BYTES) == VQ_OK;
}

static enum vq_status damaged(const struct vq_run_dir *run, const char *what, struct vq_error *err)
{
    return vq_fail(err, VQ_CORRUPT,
                   "%s/%s is damaged: %s. It lists possible spending of workers on other machines; "
                   "remove it to continue without it",
                   vq_run_dir_path(run), VQ_ADVANCES_FILE, what);
}

static enum vq_status entries_read(const struct vq_run_dir *run, const json_t *root,
                                   struct vq_advance **ret_advances, uint32_t *ret_count,
                                   struct vq_error *err)
{
    const json_t *list = json_object_get(root, "advances");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > VQ_AUTHORITY_ADVANCES_MAX + VQ_AUTHORITY_WORKERS_MAX) {
        return damaged(run, "`advances` is no list, or too long", err);
    }
    struct vq_advance *advances;
    VQ_TRY(VQ_ALLOC(advances, count));
    for (size_t i = 0; i < count; i++) {
        if (!entry_read(json_array_get(list, i), &advances[i])) {
            char what[64];
            (void)snprintf(what, sizeof(what), "entry %zu is not a worker and nano-dollars", i + 1);
            vq_free(advances);
            return damaged(run, what, err);
        }
    }
    *ret_advances = advances;
    *ret_count = (uint32_t)count;
    return VQ_OK;
}

enum vq_status vq_advances_read(const struct vq_run_dir *run, struct vq_advance **ret_advances,
                                uint32_t *ret_count, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, BYTES_MAX);
    json_t *root = NULL;
    json_error_t where;
    enum vq_status status = vq_run_dir_read(run, VQ_ADVANCES_FILE, &text, err);
    if (status == VQ_NOT_FOUND) {
        *ret_advances = NULL;
        *ret_count = 0;
        status = VQ_OK;
        goto out;
    }
    if (status == VQ_OK) {
        status = vq_json_exceeds(vq_buf_span(&text), DEPTH_MAX, 0)
                     ? damaged(run, "it nests too deep", err)
                     : vq_json_load(vq_buf_span(&text), JSON_REJECT_DUPLICATES, &root, &where);
        if (status == VQ_INVALID) {
            char what[JSON_ERROR_TEXT_LENGTH + 32];
            (void)snprintf(what, sizeof(what), "line %d: %s", where.line, where.text);
            status = damaged(run, what, err);
        }
    }
    if (status == VQ_OK) {
        status = entries_read(run, root, ret_advances, ret_count, err);
    }
out:
    json_decref(root);
    vq_buf_free(&text);
    return status;
}

enum vq_status vq_advances_write(const struct vq_run_dir *run, const struct vq_advance *advances,
                                 uint32_t count, struct vq_error *err)
{
    struct vq_buf text;
    struct vq_json json;
    vq_buf_init(&text, BYTES_MAX);
    vq_json_open(&json, &text, 1);
    vq_json_put_array(&json, "advances");
    for (uint32_t i = 0; i < count; i++) {
        char worker[VQ_HEX_BYTES(VQ_ID_BYTES)];
        vq_hex(advances[i].worker.b, VQ_ID_BYTES, worker);
        vq_json_object(&json);
        vq_json_put_str(&json, "worker", worker);
        vq_json_put_u64(&json, "nano_usd",
                        advances[i].nano > INT64_MAX ? INT64_MAX : advances[i].nano);
        vq_json_object_end(&json);
    }
    vq_json_array_end(&json);
    vq_json_close(&json);
    return vq_run_dir_write_buf(run, VQ_ADVANCES_FILE, &text, true, err);
}
