/* Passes a request on to the server of an active run, with the run's own token. */
#pragma once

#include "common/net/http.h"
#include "common/net/httpd.h"

#define VQ_UI_RELAY_MS        6000u /* a command of a person has 4 s at the run */
#define VQ_UI_RELAY_BYTES_MAX (16u << 20)

/* Asks the run `name` of `runs_dir` for /api/v1/REST, and answers `request` with its answer; at
 * once, in `response`, where the run cannot be asked. */
void vq_ui_relay(struct vq_http *client, const char *runs_dir, const char *name, const char *rest,
                 const struct vq_httpd_request *request, struct vq_httpd_response *response);
