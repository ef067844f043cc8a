/* Uploads to the offline server of any bytes: as the body of a form, and as a file of batch
 * requests. What is found lies inside the input; lines keep their bounds. */
#include "offline/batch/multipart.h"
#include "offline/batch/openai.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct vq_span part, struct vq_span all)
{
    VQ_ASSERT(part.bytes == 0 || (part.at >= all.at && part.bytes <= all.bytes &&
                                  (size_t)(part.at - all.at) <= all.bytes - part.bytes));
}

static void form(struct vq_span body)
{
    struct vq_offline_multipart parts;
    struct vq_error err = {""};
    if (vq_offline_multipart_read("multipart/form-data; boundary=b", body, &parts, &err) == VQ_OK) {
        inside(parts.purpose, body);
        inside(parts.file, body);
        inside(parts.file_name, body);
    } else {
        VQ_ASSERT(err.text[0] != '\0');
    }
}

static void lines(struct vq_span file)
{
    struct vq_offline_batch *batch = vq_offline_batch_new();
    VQ_ASSERT(batch != NULL);
    (void)snprintf(batch->endpoint, sizeof(batch->endpoint), "/v1/chat/completions");
    VQ_ASSERT(vq_offline_batch_openai_read(file, batch) == VQ_OK);
    VQ_ASSERT(batch->course.lines <= VQ_BATCH_OPENAI_REQUESTS_MAX);
    for (uint32_t i = 0; i < batch->course.lines; i++) {
        struct vq_span id = vq_offline_batch_id_of(batch, &batch->lines[i]);
        VQ_ASSERT(id.bytes > 0 && id.bytes <= VQ_BATCH_CUSTOM_ID_BYTES);
        VQ_ASSERT(vq_offline_batch_body_of(batch, &batch->lines[i]).bytes > 0);
    }
    vq_offline_batch_free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vq_span all = vq_span((const char *)data, size);
    form(all);
    lines(all);
    return 0;
}
