/* Gemini's files (ai.google.dev/api/files): the resumable upload, and the download. An upload is
 * open until its last piece arrives. Invariant: at most VQ_BATCH_UPLOADS_MAX are open; a further
 * one replaces the oldest. Not its job: the contents of a file (gemini.c). */
#include "offline/batch/gemini.h"

#include "common/text/json.h"
#include "common/text/json_load.h"

#include <jansson.h>
#include <stdio.h>
#include <strings.h>

#define HOST_BYTES_MAX 64
#define MIME_DEFAULT   "application/octet-stream"

static void write_fields(struct vq_json *json, const struct vq_offline_batch_http *http,
                         const struct vq_offline_batch_file *file)
{
    char date[VQ_BATCH_DATE_BYTES];
    char text[VQ_BATCH_ID_BYTES + HOST_BYTES_MAX + 32];
    const char *host = vq_call_header(http->call, "Host");
    vq_offline_batch_date(file->created_ms, date);
    vq_json_put_str(json, "name", file->id);
    vq_json_put_str(json, "displayName", file->name);
    vq_json_put_str(json, "mimeType", file->mime);
    (void)snprintf(text, sizeof(text), "%zu", file->bytes.bytes);
    vq_json_put_str(json, "sizeBytes", text);
    vq_json_put_str(json, "createTime", date);
    vq_json_put_str(json, "updateTime", date);
    (void)snprintf(text, sizeof(text), "http://%.*s/v1beta/%s", HOST_BYTES_MAX,
                   host == NULL ? "" : host, file->id);
    vq_json_put_str(json, "uri", text);
    vq_json_put_str(json, "state", "ACTIVE");
    vq_json_put_str(json, "source", strcmp(file->purpose, "batch") == 0 ? "UPLOADED" : "GENERATED");
}

/* ---- upload ---- */

static struct vq_offline_batch_upload *find_upload(struct vq_offline_batches *batches,
                                                   const char *id)
{
    for (size_t i = 0; i < VQ_BATCH_UPLOADS_MAX; i++) {
        if (id != NULL && id[0] != '\0' && strcmp(batches->uploads[i].id, id) == 0) {
            return &batches->uploads[i];
        }
    }
    return NULL;
}

const char *vq_offline_batch_upload_account(struct vq_offline_batches *batches,
                                            const struct vq_call *call)
{
    bool is_upload = strcmp(call->path, "/upload/v1beta/files") == 0;
    const struct vq_offline_batch_upload *upload =
        is_upload ? find_upload(batches, vq_call_query(call, "upload_id")) : NULL;
    return upload == NULL ? NULL : upload->account;
}

static void start(struct vq_offline_batch_http *http, struct vq_offline_reply *reply)
{
    struct vq_offline_batches *batches = http->batches;
    struct vq_offline_batch_upload *upload =
        &batches->uploads[batches->uploads_made % VQ_BATCH_UPLOADS_MAX];
    const char *mime = vq_call_header(http->call, "X-Goog-Upload-Header-Content-Type");
    const char *host = vq_call_header(http->call, "Host");
    json_t *root = NULL;
    vq_buf_free(&upload->bytes);
    *upload = (struct vq_offline_batch_upload){.id = ""};
    vq_buf_init(&upload->bytes, VQ_BATCH_FILE_BYTES_MAX);
    (void)snprintf(upload->account, sizeof(upload->account), "%s", http->account);
    (void)snprintf(upload->mime, sizeof(upload->mime), "%s", mime == NULL ? MIME_DEFAULT : mime);
    if (!vq_json_exceeds(http->call->body, 16, 0) &&
        vq_json_load(http->call->body, 0, &root, NULL) == VQ_OK) {
        const json_t *file = json_object_get(root, "file");
        const json_t *name = json_object_get(file, "displayName");
        name = name == NULL ? json_object_get(file, "display_name") : name;
        (void)snprintf(upload->name, sizeof(upload->name), "%s",
                       json_is_string(name) ? json_string_value(name) : "");
        json_decref(root);
    }
    vq_offline_batch_new_id("", ++batches->uploads_made, http->now_ms, upload->id);
    vq_offline_reply_header(reply, "X-Goog-Upload-Status", "active");
    vq_offline_reply_header(reply, "X-Goog-Upload-URL",
                            "http://%.*s/upload/v1beta/files?upload_id=%s", HOST_BYTES_MAX,
                            host == NULL ? "" : host, upload->id);
    vq_buf_puts(&reply->body, "{}");
}

static enum vq_status finalize(struct vq_offline_batch_http *http,
                               struct vq_offline_batch_upload *upload,
                               struct vq_offline_reply *reply)
{
    struct vq_offline_batch_file_new as = {.dialect = VQ_DIALECT_GEMINI,
                                           .account = upload->account,
                                           .purpose = "batch",
                                           .name = vq_span_str(upload->name),
                                           .mime = upload->mime,
                                           .now_ms = http->now_ms};
    struct vq_offline_batch_file *file = NULL;
    enum vq_status status =
        vq_offline_batch_files_add(&http->batches->files, &as, &upload->bytes, &file);
    upload->id[0] = '\0';
    if (status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 429, NULL,
                                     "This server has no room for more files; delete some.");
        return VQ_OK;
    }
    VQ_TRY(status);
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    vq_json_object(&json);
    vq_json_put_object(&json, "file");
    write_fields(&json, http, file);
    vq_json_object_end(&json);
    vq_json_object_end(&json);
    vq_offline_reply_header(reply, "X-Goog-Upload-Status", "final");
    return VQ_OK;
}

static enum vq_status add_piece(struct vq_offline_batch_http *http, const char *command,
                                struct vq_offline_reply *reply)
{
    struct vq_offline_batch_upload *upload =
        find_upload(http->batches, vq_call_query(http->call, "upload_id"));
    const char *offset = vq_call_header(http->call, "X-Goog-Upload-Offset");
    char at[24];
    if (upload == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL,
                                     "There is no open upload of this upload_id.");
        return VQ_OK;
    }
    (void)snprintf(at, sizeof(at), "%zu", upload->bytes.bytes);
    if (strstr(command, "upload") != NULL && strcmp(offset == NULL ? "0" : offset, at) != 0) {
        vq_offline_batch_http_refuse(reply, 400, NULL, "The offset must be %s.", at);
        return VQ_OK;
    }
    vq_buf_append(&upload->bytes, http->call->body.at, http->call->body.bytes);
    if (upload->bytes.status == VQ_LIMIT) {
        vq_offline_batch_http_refuse(reply, 413, NULL, "A file has at most %u bytes.",
                                     VQ_BATCH_FILE_BYTES_MAX);
        return VQ_OK;
    }
    VQ_TRY(upload->bytes.status);
    if (strstr(command, "finalize") != NULL) {
        return finalize(http, upload, reply);
    }
    vq_offline_reply_header(reply, "X-Goog-Upload-Status", "active");
    vq_offline_reply_header(reply, "X-Goog-Upload-Size-Received", "%zu", upload->bytes.bytes);
    vq_buf_puts(&reply->body, "{}");
    return VQ_OK;
}

/* ---- files ---- */

static enum vq_status use_file(struct vq_offline_batch_http *http, const char *name, bool is_media,
                               struct vq_offline_reply *reply)
{
    char id[VQ_BATCH_ID_BYTES + 8];
    (void)snprintf(id, sizeof(id), "files/%s", name);
    struct vq_offline_batch_file *file =
        vq_offline_batch_files_find(&http->batches->files, id, http->account);
    if (file == NULL) {
        vq_offline_batch_http_refuse(reply, 404, NULL, "There is no file %s.", id);
        return VQ_OK;
    }
    struct vq_json json;
    vq_json_init(&json, &reply->body, 0);
    if (is_media) {
        reply->content_type = "application/octet-stream";
        vq_buf_append(&reply->body, file->bytes.at, file->bytes.bytes);
    } else if (vq_offline_batch_http_is(http, "DELETE")) {
        vq_offline_batch_files_remove(&http->batches->files, file);
        vq_buf_puts(&reply->body, "{}");
    } else {
        vq_json_object(&json);
        write_fields(&json, http, file);
        vq_json_object_end(&json);
    }
    return reply->body.status;
}

enum vq_status vq_offline_batch_gemini_files(struct vq_offline_batch_http *http,
                                             struct vq_offline_reply *reply)
{
    static const char download[] = "/download";
    char id[VQ_BATCH_ID_BYTES];
    const char *path = http->call->path;
    const char *command = vq_call_header(http->call, "X-Goog-Upload-Command");
    const char *alt = vq_call_query(http->call, "alt");
    bool is_get = vq_offline_batch_http_is(http, "GET");
    bool is_media = alt != NULL && strcmp(alt, "media") == 0;
    if (strcmp(path, "/upload/v1beta/files") == 0 && command != NULL &&
        (vq_offline_batch_http_is(http, "POST") || vq_offline_batch_http_is(http, "PUT"))) {
        if (strcmp(command, "start") == 0) {
            start(http, reply);
            return VQ_OK;
        }
        return add_piece(http, command, reply);
    }
    path += strncmp(path, download, sizeof(download) - 1) == 0 ? sizeof(download) - 1 : 0;
    if (is_get && is_media && vq_offline_batch_path_id(path, "/v1beta/files/", ":download", id)) {
        return use_file(http, id, true, reply);
    }
    if ((is_get || vq_offline_batch_http_is(http, "DELETE")) &&
        vq_offline_batch_path_id(path, "/v1beta/files/", "", id)) {
        return use_file(http, id, false, reply);
    }
    vq_offline_batch_http_refuse(reply, 404, NULL, "There is nothing at this path or method.");
    return VQ_OK;
}
