/* URLs of calls. The base is used as it is; only inserted parts are escaped. Not its job: which
 * hosts are safe. */
#include "worker/provider/url.h"

struct vq_span vq_url_base(const char *base_url)
{
    size_t bytes = strcspn(base_url, "?#");
    while (bytes > 0 && base_url[bytes - 1] == '/') {
        bytes--;
    }
    return vq_span(base_url, bytes);
}

enum vq_status vq_url_join(const char *base_url, const char *path, struct vq_buf *url)
{
    struct vq_span base = vq_url_base(base_url);
    const char *query = base_url + strcspn(base_url, "?#");
    vq_buf_clear(url);
    vq_buf_append(url, base.at, base.bytes);
    vq_buf_puts(url, path);
    vq_buf_append(url, query, strcspn(query, "#"));
    return url->status;
}
