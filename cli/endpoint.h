/* Sends a request to a running coordinator at its loopback address, with the token of its
 * endpoint.json. */
#pragma once

#include "common/base/buf.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_ENDPOINT_BYTES_MAX (16u << 20) /* of an answer */

/* GET without a body (body.at NULL), else POST. `path`: "/api/v1/status". VQ_OK: *ret_http is the
 * HTTP status, and its body was appended to `out`. VQ_UNAVAILABLE: no process answers there.
 * *ret_sent is always set; false: the request certainly did not reach it. */
enum vq_status vq_endpoint_ask(const struct vq_endpoint *endpoint, const char *path,
                               struct vq_span body, struct vq_buf *out, int *ret_http,
                               bool *ret_sent, struct vq_error *err) VQ_WARN_UNUSED;

/* Appends the address of a page with the token in its fragment, because browsers do not send
 * fragments. `page`: "/". */
void vq_endpoint_url(const struct vq_endpoint *endpoint, const char *page, struct vq_buf *out);
