/* A child with a separate loop, which runs only while the child starts. Invariant: the child gets a
 * signal when this process dies, so it never outlives a run. */
#include "cli/ui/beside.h"

#include "cli/endpoint.h"
#include "cli/ui/folder.h"
#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "common/net/child.h"
#include "coordinator/run/programs.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define URL_BYTES_MAX 2048
#define STOP_WAIT_MS  2000

struct vq_ui_beside {
    struct vq_loop *loop;
    struct vq_timer *look;
    struct vq_child *child;
    const char *runs_dir;
    bool serves, ended;
};

static void on_end(void *ctx, struct vq_child_exit how)
{
    (void)how;
    ((struct vq_ui_beside *)ctx)->ended = true;
}

static void on_look(void *ctx)
{
    struct vq_ui_beside *b = ctx;
    struct vq_endpoint endpoint;
    if (vq_ui_folder_find(b->runs_dir, &endpoint) == VQ_OK) {
        b->serves = true;
        vq_wipe(&endpoint, sizeof(endpoint));
    }
}

static bool is_settled(void *ctx)
{
    const struct vq_ui_beside *b = ctx;
    return b->serves || b->ended;
}

static bool has_ended(void *ctx)
{
    return ((const struct vq_ui_beside *)ctx)->ended;
}

static enum vq_status start(struct vq_ui_beside *b, struct vq_error *err)
{
    char path[VQ_PROGRAM_PATH_BYTES_MAX];
    VQ_TRY(vq_loop_create(&b->loop, err));
    VQ_TRY(vq_timer_create(b->loop, on_look, b, &b->look));
    vq_program_path("vibeq", path);
    const char *argv[] = {"vibeq", "ui", "--quiet", "--runs", b->runs_dir, NULL};
    struct vq_child_options options = {
        .path = path, .argv = argv, .stderr_fd = STDERR_FILENO, .exited = on_end, .ctx = b};
    VQ_TRY(vq_child_spawn(b->loop, &options, &b->child, err));
    vq_timer_start(b->look, 20, 20);
    enum vq_status status = vq_loop_run_until(b->loop, is_settled, b, VQ_UI_BESIDE_WAIT_MS);
    vq_timer_stop(b->look);
    return b->serves
               ? VQ_OK
               : vq_fail(err, status == VQ_OK ? VQ_UNAVAILABLE : status, "vibeq ui did not start");
}

enum vq_status vq_ui_beside_start(const char *runs_dir, struct vq_ui_beside **ret_beside,
                                  struct vq_error *err)
{
    struct vq_endpoint endpoint;
    if (vq_ui_folder_find(runs_dir, &endpoint) == VQ_OK) {
        vq_wipe(&endpoint, sizeof(endpoint));
        return VQ_LOCKED;
    }
    struct vq_ui_beside *b;
    VQ_TRY(VQ_ALLOC(b, 1));
    b->runs_dir = runs_dir;
    enum vq_status status = start(b, err);
    if (status != VQ_OK) {
        vq_ui_beside_stop(&b);
        return status;
    }
    *ret_beside = b;
    return VQ_OK;
}

void vq_ui_beside_stop(struct vq_ui_beside **beside)
{
    struct vq_ui_beside *b = *beside;
    if (b == NULL) {
        return;
    }
    bool ends = b->child != NULL && !b->ended && vq_child_kill(b->child, SIGTERM, false) == VQ_OK;
    if (ends && vq_loop_run_until(b->loop, has_ended, b, STOP_WAIT_MS) != VQ_OK) {
        fprintf(stderr, "vibeq: vibeq ui does not end by itself and is killed\n");
    }
    vq_child_destroy(&b->child);
    vq_timer_destroy(&b->look);
    vq_loop_destroy(&b->loop);
    vq_free(b);
    *beside = NULL;
}

void vq_ui_print_page(const char *runs_dir, const char *name)
{
    struct vq_endpoint endpoint;
    struct vq_buf url;
    char page[VQ_RUN_NAME_BYTES_MAX + sizeof("/runs//")];
    if (vq_ui_folder_find(runs_dir, &endpoint) != VQ_OK) {
        return;
    }
    (void)snprintf(page, sizeof(page), "/runs/%s/", name);
    vq_buf_init(&url, URL_BYTES_MAX);
    vq_endpoint_url(&endpoint, page, &url);
    if (url.status == VQ_OK && isatty(STDERR_FILENO)) {
        fprintf(stderr, "Page at %s\n", url.at);
    } else {
        fprintf(stderr, "Page at %s%s (vibeq status %s --url prints it with its token)\n",
                endpoint.address, page, name);
    }
    vq_wipe(url.at, url.bytes);
    vq_buf_free(&url);
    vq_wipe(&endpoint, sizeof(endpoint));
}
