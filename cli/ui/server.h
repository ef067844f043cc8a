/* `vibeq ui`: one server for the runs of a folder (docs/use/http.md). */
#pragma once

#include "coordinator/run/run.h"

#define VQ_UI_PORT     7420
#define VQ_UI_PORTS    20   /* the number of ports to try without --http */
#define VQ_UI_FRESH_MS 1000 /* a scan that is younger is used again */

struct vq_ui_options {
    const char *runs_dir; /* absolute; borrowed */
    struct vq_run_http http;
    bool open_browser;
    bool quiet;
};

/* Serves until SIGINT or SIGTERM. VQ_EXISTS: the port of --http is in use, or all ports that were
 * tried. VQ_LOCKED: another process serves the folder. */
enum vq_status vq_ui_serve(const struct vq_ui_options *options,
                           struct vq_error *err) VQ_WARN_UNUSED;
