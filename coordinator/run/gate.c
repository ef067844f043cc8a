/* Access of workers: the socket, its address, the certificates, and the list of allowed keys, which
 * is read again when its file changes.
 *
 * Invariants: local workers have a separate key, so that a revoked key never stops them. A peer
 * whose key is off the list gets no further message through, because each frame is checked against
 * the list, too. Not its job: the files of the folder (cert_folder.c), the meaning of frames
 * (dispatch.c). */
#include "common/base/alloc.h"
#include "common/text/log.h"
#include "coordinator/run/listen.h"
#include "coordinator/run/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 1000 /* between two checks of the list */

/* ---- certificates ---- */

static bool is_remote(const struct vq_run *run)
{
    return run->options->listen != NULL || run->options->workers == 0;
}

static const char *folder_of(const struct vq_run *run)
{
    return run->options->cert != NULL ? run->options->cert : run->options->runs_dir;
}

/* The coordinator's keys come from the folder; its last address is in the run's own
 * coordinator.cert. */
static enum vq_status own_cert(struct vq_run *run, struct vq_cert *ret_own, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_cert last = {0};
    VQ_TRY(run->options->cert == NULL ? vq_cert_folder_ensure(run->options->runs_dir, err)
                                      : vq_cert_folder_check(run->options->cert, err));
    VQ_TRY(vq_cert_path(folder_of(run), "coordinator", path, err));
    VQ_TRY(vq_cert_read(path, ret_own, err));
    ret_own->endpoint[0] = '\0';
    if (vq_run_dir_join(run->dir, VQ_COORDINATOR_CERT, path) == VQ_OK &&
        vq_cert_read(path, &last, NULL) == VQ_OK) {
        (void)snprintf(ret_own->endpoint, sizeof(ret_own->endpoint), "%s", last.endpoint);
    }
    vq_cert_destroy(&last);
    return VQ_OK;
}

static enum vq_status write_for_run(struct vq_run *run, const char *file, struct vq_cert *cert,
                                    struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run->dir, file, path));
    (void)snprintf(cert->run_name, sizeof(cert->run_name), "%s", vq_run_dir_name(run->dir));
    vq_hex(run->owner.uid.b, VQ_ID_BYTES, cert->run_uid);
    return vq_cert_write(path, cert, err);
}

/* The certificate of local workers is the same over all starts: workers may outlive a
 * coordinator. */
static enum vq_status local_cert(struct vq_run *run, const struct vq_cert *own,
                                 struct vq_error *err)
{
    struct vq_cert cert = {0};
    VQ_TRY(vq_run_dir_join(run->dir, "local.cert", run->links.local_path));
    enum vq_status status = vq_cert_read(run->links.local_path, &cert, err);
    if (status == VQ_NOT_FOUND) {
        cert = (struct vq_cert){0};
        status = vq_keypair_create(&cert.keys);
    }
    if (status == VQ_OK) {
        (void)snprintf(cert.server_key, sizeof(cert.server_key), "%s", own->keys.public_key);
        vq_listen_local(own->endpoint, cert.endpoint);
        status = write_for_run(run, "local.cert", &cert, err);
    }
    if (status == VQ_OK) {
        (void)snprintf(run->gate.local_key, sizeof(run->gate.local_key), "%s",
                       cert.keys.public_key);
        status = vq_router_allow(run->links.router, cert.keys.public_key);
    }
    vq_cert_destroy(&cert);
    return status;
}

/* The address in the certificates for other machines. `moved`: it differs from the last start. */
static enum vq_status public_endpoint(struct vq_run *run, const struct vq_cert *own,
                                      const char *last, bool moved,
                                      char ret_endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX],
                                      struct vq_error *err)
{
    if (run->options->advertise != NULL) {
        return vq_listen_advertised(run->options->advertise, own->endpoint, ret_endpoint, err);
    }
    if (last[0] != '\0' && !moved && run->options->listen == NULL) {
        (void)snprintf(ret_endpoint, VQ_ZSOCK_ENDPOINT_BYTES_MAX, "%s", last);
        return VQ_OK;
    }
    size_t addresses = vq_listen_reachable(own->endpoint, ret_endpoint);
    if (strcmp(ret_endpoint, own->endpoint) != 0) {
        vq_run_message(
            run, "Listening on every address of this machine; join.cert names %s%s.", ret_endpoint,
            addresses > 1 ? ", the first of several: if workers reach another one, name it "
                            "with --advertise HOST"
                          : "");
    }
    return VQ_OK;
}

/* The runs folder's own certificate has the address of the last run that other machines can
 * join. */
static enum vq_status update_group(struct vq_cert *join, const char *path, struct vq_error *err)
{
    join->run_uid[0] = '\0';
    join->run_name[0] = '\0';
    return vq_cert_write(path, join, err);
}

/* RUN/join.cert: the group's keys, for this run only. A folder of named workers has no group. */
static enum vq_status join_cert(struct vq_run *run, const struct vq_cert *own, bool moved,
                                struct vq_error *err)
{
    char group[VQ_CERT_PATH_BYTES_MAX], path[VQ_RUN_PATH_BYTES_MAX];
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    struct vq_cert join = {0}, last = {0};
    VQ_TRY(vq_cert_path(folder_of(run), VQ_JOIN_GROUP, group, err));
    VQ_TRY(vq_run_dir_join(run->dir, "join.cert", path));
    enum vq_status status = vq_cert_read(group, &join, err);
    if (status == VQ_NOT_FOUND) {
        /* it is of an earlier start with another folder, or the group was revoked */
        (void)unlink(path);
        return VQ_OK;
    }
    VQ_TRY(status);
    bool made_before = run->options->cert != NULL && join.endpoint[0] != '\0';
    if (!made_before && vq_cert_read(path, &last, NULL) != VQ_OK) {
        last = (struct vq_cert){0};
    }
    status = public_endpoint(run, own, made_before ? join.endpoint : last.endpoint,
                             moved && !made_before, endpoint, err);
    bool stale = strcmp(join.endpoint, endpoint) != 0;
    if (status == VQ_OK) {
        (void)snprintf(join.endpoint, sizeof(join.endpoint), "%s", endpoint);
        status = write_for_run(run, "join.cert", &join, err);
    }
    if (status == VQ_OK && stale && run->options->cert == NULL && is_remote(run)) {
        status = update_group(&join, group, err);
    }
    vq_cert_destroy(&last);
    vq_cert_destroy(&join);
    return status;
}

/* ---- the list of allowed keys ---- */

static struct stat list_stat(const struct vq_run *run)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct stat st = {0};
    (void)snprintf(path, sizeof(path), "%s/" VQ_ALLOWED_FILE, folder_of(run));
    return stat(path, &st) == 0 ? st : (struct stat){0};
}

static void expel(struct vq_run *run, const char *key)
{
    struct vq_run_gate *gate = &run->gate;
    for (size_t i = 0; i < gate->peers_count; i++) {
        if (strcmp(gate->peers[i].key, key) == 0 && run->coord != NULL && run->fatal == VQ_OK) {
            vq_run_check_core(run, vq_coord_expel(run->coord, gate->peers[i].peer, VQ_GATE_REVOKED,
                                                  vq_run_now()));
        }
    }
    vq_loop_again(run->loop);
}

/* Replaces the list by `take_now`. */
static enum vq_status apply(struct vq_run *run, struct vq_allowed_list *take_now)
{
    struct vq_allowed_list was = run->gate.allowed;
    run->gate.allowed = *take_now;
    for (size_t i = 0; i < was.count; i++) {
        if (!vq_allowed_has(take_now, was.items[i].key)) {
            vq_router_forbid(run->links.router, was.items[i].key);
            vq_log(VQ_LOG_WARN, "key.revoked", "name=%s", was.items[i].name);
            expel(run, was.items[i].key);
        }
    }
    enum vq_status status = VQ_OK;
    for (size_t i = 0; i < take_now->count && status == VQ_OK; i++) {
        if (!vq_allowed_has(&was, take_now->items[i].key)) {
            status = vq_router_allow(run->links.router, take_now->items[i].key);
            status = status == VQ_EXISTS ? VQ_OK : status;
        }
    }
    vq_allowed_free(&was);
    return status;
}

static void look(void *ctx)
{
    struct vq_run *run = ctx;
    struct vq_run_gate *gate = &run->gate;
    struct stat now = list_stat(run);
    if (now.st_ino == gate->seen.st_ino && now.st_size == gate->seen.st_size &&
        now.st_mtim.tv_sec == gate->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == gate->seen.st_mtim.tv_nsec) {
        return;
    }
    gate->seen = now;
    struct vq_allowed_list list;
    struct vq_error err = {0};
    enum vq_status status = vq_allowed_read(folder_of(run), &list, &err);
    if (status == VQ_OK) {
        status = apply(run, &list);
    }
    if (status != VQ_OK) { /* the earlier keys stay in force */
        vq_log(VQ_LOG_ERROR, "keys.unreadable", "why=%s",
               err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
}

static enum vq_status read_list(struct vq_run *run, struct vq_error *err)
{
    struct vq_allowed_list list;
    run->gate.seen = list_stat(run);
    VQ_TRY(vq_allowed_read(folder_of(run), &list, err));
    VQ_TRY(apply(run, &list));
    VQ_TRY(vq_timer_create(run->loop, look, run, &run->gate.timer));
    vq_timer_start(run->gate.timer, LOOK_MS, LOOK_MS);
    return VQ_OK;
}

/* ---- peers ---- */

/* A peer whose HELLO was refused has no session that closes: the oldest entries make room. */
static void remember(struct vq_run_gate *gate, uint64_t peer, const char *key)
{
    for (size_t i = 0; i < gate->peers_count; i++) {
        if (gate->peers[i].peer == peer) {
            return;
        }
    }
    if (VQ_GROW(gate->peers, &gate->peers_cap, gate->peers_count + 1, VQ_GATE_PEERS_MAX) == VQ_OK) {
        gate->peers_count++;
    } else if (gate->peers_count > 0) {
        memmove(gate->peers, gate->peers + 1, (gate->peers_count - 1) * sizeof(*gate->peers));
    } else {
        return; /* if its key is revoked, its frames are refused, but it gets no BYE before */
    }
    struct vq_gate_peer *made = &gate->peers[gate->peers_count - 1];
    made->peer = peer;
    (void)snprintf(made->key, sizeof(made->key), "%s", key);
}

bool vq_gate_lets_in(struct vq_run *run, uint64_t peer, bool is_hello)
{
    const char *key = vq_router_sender_key(run->links.router);
    if (!vq_router_allows(run->links.router, key)) {
        return false;
    }
    if (is_hello) {
        remember(&run->gate, peer, key);
    }
    return true;
}

/* ---- names ---- */

static const char *cert_of(const struct vq_run_gate *gate, const char *key)
{
    for (size_t i = 0; i < gate->allowed.count; i++) {
        if (strcmp(gate->allowed.items[i].key, key) == 0) {
            return gate->allowed.items[i].name;
        }
    }
    return NULL;
}

/* A worker can choose any name, but not its certificate. So only this function makes names with the
 * mark of a certificate. */
struct vq_span vq_gate_name(const struct vq_run *run, struct vq_span name,
                            char text[VQ_GATE_NAME_BYTES_MAX])
{
    const char *key = vq_router_sender_key(run->links.router);
    const char *cert = cert_of(&run->gate, key);
    size_t bytes =
        name.bytes < VQ_GATE_NAME_BYTES_MAX / 2 ? name.bytes : VQ_GATE_NAME_BYTES_MAX / 2;
    if (cert == NULL && strcmp(key, run->gate.local_key) == 0) {
        return name;
    }
    if (cert == NULL || strcmp(cert, VQ_JOIN_GROUP) == 0) {
        for (size_t i = 0; i < bytes; i++) {
            text[i] = name.at[i] == VQ_WORKER_OF_CERT ? '_' : name.at[i];
        }
        return vq_span(text, bytes);
    }
    if (vq_span_eq(name, vq_span_str(cert))) {
        return name;
    }
    int n = snprintf(text, VQ_GATE_NAME_BYTES_MAX, "%s%c%.*s", cert, VQ_WORKER_OF_CERT, (int)bytes,
                     name.at == NULL ? "" : name.at);
    return vq_span(text, n > 0 && n < VQ_GATE_NAME_BYTES_MAX ? (size_t)n : 0);
}

bool vq_gate_is_local(const struct vq_run *run)
{
    return strcmp(vq_router_sender_key(run->links.router), run->gate.local_key) == 0;
}

void vq_gate_forget(struct vq_run_gate *gate, uint64_t peer)
{
    for (size_t i = 0; i < gate->peers_count; i++) {
        if (gate->peers[i].peer == peer) {
            size_t after = --gate->peers_count - i;
            memmove(gate->peers + i, gate->peers + i + 1, after * sizeof(*gate->peers));
            return;
        }
    }
}

/* ---- open and close ---- */

/* Binds the last address, so that waiting workers find the run again. If that port is taken, and no
 * port was requested, another free port is used. */
static enum vq_status bind_router(struct vq_run *run, struct vq_cert *own, struct vq_error *err)
{
    struct vq_listen listen;
    VQ_TRY(vq_listen_of(run->options->listen, own->endpoint, &listen, err));
    enum vq_status status =
        vq_router_bind(run->links.router, listen.endpoint, run->links.endpoint, err);
    if (status == VQ_EXISTS && listen.other[0] != '\0') {
        VQ_TRY(vq_router_bind(run->links.router, listen.other, run->links.endpoint, err));
        if (is_remote(run)) {
            vq_run_message(run,
                           "%s, the address of last time, is taken by another program. Workers "
                           "elsewhere need the new join.cert: it names %s.",
                           listen.endpoint, run->links.endpoint);
        }
        status = VQ_OK;
    }
    VQ_TRY(status);
    (void)snprintf(own->endpoint, sizeof(own->endpoint), "%s", run->links.endpoint);
    return VQ_OK;
}

static enum vq_status open_with(struct vq_run *run, vq_gate_frame_fn on_frame, struct vq_cert *own,
                                struct vq_error *err)
{
    struct vq_router_options options = {.keys = &own->keys, .on_message = on_frame, .ctx = run};
    char last[VQ_CERT_VALUE_BYTES_MAX], path[VQ_RUN_PATH_BYTES_MAX];
    (void)snprintf(last, sizeof(last), "%s", own->endpoint);
    VQ_TRY(vq_router_create(run->loop, &options, &run->links.router, err));
    VQ_TRY(bind_router(run, own, err));
    VQ_TRY(local_cert(run, own, err));
    VQ_TRY(join_cert(run, own, strcmp(last, own->endpoint) != 0, err));
    VQ_TRY(read_list(run, err));
    VQ_TRY(vq_run_dir_join(run->dir, VQ_COORDINATOR_CERT, path));
    return vq_cert_write(path, own, err);
}

enum vq_status vq_gate_open(struct vq_run *run, vq_gate_frame_fn on_frame, struct vq_error *err)
{
    struct vq_cert own = {0};
    VQ_TRY(own_cert(run, &own, err));
    enum vq_status status = open_with(run, on_frame, &own, err);
    vq_cert_destroy(&own);
    return status;
}

void vq_gate_close(struct vq_run_gate *gate)
{
    vq_timer_destroy(&gate->timer);
    vq_allowed_free(&gate->allowed);
    vq_free(gate->peers);
}
