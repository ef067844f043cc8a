/* The Azure OpenAI dialect. Bodies and answers are those of OpenAI; the address and the key's
 * header differ. The judge's model is the name of the deployment:
 *   https://NAME.openai.azure.com?api-version=V
 *     -> BASE/openai/deployments/MODEL/chat/completions?api-version=V
 *   https://NAME.openai.azure.com/openai/deployments/D?...
 *     -> BASE/chat/completions?... (the deployment is D)
 *   https://NAME.openai.azure.com/openai/v1
 *     -> BASE/chat/completions (no version needed)
 * Not its job: checking that the version is given (the configuration), bodies (openai.c). */
#include "worker/provider/dialects.h"
#include "worker/provider/openai.h"
#include "worker/provider/url.h"

#define PATH_BYTES_MAX 1024

static const char dialect_name[] = "azure";

static enum vq_status azure_path(const struct vq_judge *judge, const char *base_url,
                                 const char *what, struct vq_buf *url)
{
    static const char deployments[] = "/openai/deployments/";
    struct vq_span base = vq_url_base(base_url);
    bool named = memmem(base.at, base.bytes, deployments, sizeof(deployments) - 1) != NULL;
    struct vq_buf path;
    vq_buf_init(&path, PATH_BYTES_MAX);
    if (!named && !vq_span_ends_with(base, "/openai/v1")) {
        vq_buf_puts(&path, vq_span_ends_with(base, "/openai") ? deployments + strlen("/openai")
                                                              : deployments);
        vq_buf_put_percent(&path, judge->model);
    }
    vq_buf_puts(&path, what);
    enum vq_status status = path.status;
    if (status == VQ_OK) {
        status = vq_url_join(base_url, path.at, url);
    }
    vq_buf_free(&path);
    return status;
}

static enum vq_status azure_url(const struct vq_judge *judge, const char *base_url,
                                struct vq_buf *url)
{
    return azure_path(judge, base_url, "/chat/completions", url);
}

static enum vq_status azure_embed_url(const struct vq_judge *judge, const char *base_url,
                                      struct vq_buf *url)
{
    return azure_path(judge, base_url, "/embeddings", url);
}

static enum vq_status azure_read(const struct vq_response *response, struct vq_reply *reply)
{
    return vq_openai_read_chat(dialect_name, response, reply);
}

static enum vq_status azure_embed_read(const struct vq_response *response, uint32_t count,
                                       struct vq_reply *reply)
{
    return vq_openai_embed_read(dialect_name, response, count, reply);
}

const struct vq_provider vq_provider_azure = {
    .dialect = dialect_name,
    .auth_header = "api-key",
    .auth_prefix = "",
    .headers = vq_json_headers,
    .headers_count = VQ_JSON_HEADERS,
    .call_id_header = "X-Client-Request-Id",
    .url = azure_url,
    .body = vq_openai_body,
    .read = azure_read,
    .embed_url = azure_embed_url,
    .embed_body = vq_openai_embed_body,
    .embed_read = azure_embed_read,
};
