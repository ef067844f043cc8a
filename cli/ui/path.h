/* The path of a request to the page of runs that names a run: PREFIX NAME, then nothing, or "/" and
 * a part of the run. Pure. */
#pragma once

#include "coordinator/store/rundir/run_dir.h"

#define VQ_UI_REST_BYTES_MAX 80

struct vq_ui_path {
    char name[VQ_RUN_NAME_BYTES_MAX + 1]; /* passes vq_run_name_check: no "/", no ".." */
    char rest[VQ_UI_REST_BYTES_MAX + 1];  /* "status"; "": the run itself */
};

/* False: `path` (decoded) does not begin with `prefix`, its name cannot be a run's, or the rest is
 * not words of lower-case letters, digits and "-" with single "/" in between. */
bool vq_ui_path_parse(const char *prefix, const char *path, struct vq_ui_path *ret_path);
