/* Passes a request on to the server of an active run, with the run's own token. */
#pragma once

#include "common/net/http.h"
#include "common/net/httpd.h"

#define VQ_UI_RELAY_MS        6000u /* the run must answer a command within 4 s */
#define VQ_UI_RELAY_BYTES_MAX (16u << 20)

/* Sends the request to the run `name` of `runs_dir` at /api/v1/REST, and answers `request` with the
 * run's answer. If the run cannot be reached, answers at once, in `response`. */
void vq_ui_relay(struct vq_http *client, const char *runs_dir, const char *name, const char *rest,
                 const struct vq_httpd_request *request, struct vq_httpd_response *response);
