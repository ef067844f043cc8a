/* Links between workers and the coordinator. A connection delivers in order, after a delay; a
 * blocked direction holds its frames back; a broken connection loses frames in flight, or delivers
 * some of them late, after those of the next one; a frame may come twice, or be lost while its
 * connection goes on. Frames go through the real encoder and decoder. */
#include "tests/simulation/sim.h"

bool sim_peer_worker(const struct sim *s, uint64_t peer, uint32_t *ret_worker)
{
    for (uint32_t i = 0; i < s->workers_count; i++) {
        if (s->workers[i].peer == peer && s->workers[i].up) {
            *ret_worker = i;
            return true;
        }
    }
    return false;
}

static int64_t arrival(struct sim *s, struct sim_worker *w, int direction)
{
    int64_t at_ns = s->now_ns + s->knobs.delay_ns + sim_between(s, 0, s->knobs.jitter_ns);
    at_ns = at_ns < w->blocked_until_ns[direction] ? w->blocked_until_ns[direction] : at_ns;
    at_ns = at_ns <= w->last_ns[direction] ? w->last_ns[direction] + 1 : at_ns;
    w->last_ns[direction] = at_ns;
    return at_ns;
}

static void encode(struct sim *s, const struct vq_msg *msg)
{
    vq_buf_clear(&s->frame);
    enum vq_status status = vq_msg_encode(msg, &s->frame);
    if (status != VQ_OK) {
        sim_fail(s, "%s does not encode: %s", vq_msg_name(msg->type), vq_status_text(status));
    }
}

void sim_send_to_worker(struct sim *s, uint64_t peer, const struct vq_msg *msg)
{
    uint32_t i;
    if (!sim_peer_worker(s, peer, &i)) {
        return; /* the connection is gone */
    }
    struct sim_worker *w = &s->workers[i];
    encode(s, msg);
    sim_trouble_said(s, i, msg);
    if (sim_more(s, SIM_DROP) || (msg->type == VQ_MSG_CANCEL && sim_more(s, SIM_DROP_CANCEL))) {
        sim_say(s, "  (which is lost)");
        sim_check_lost(s, msg);
        return;
    }
    int64_t at_ns = arrival(s, w, 1);
    sim_push_bytes(s, at_ns, EV_TO_WORKER, i, w->connection, w->life, vq_buf_span(&s->frame));
    if (sim_chance(s, s->knobs.duplicate)) {
        sim_push_bytes(s, arrival(s, w, 1), EV_TO_WORKER, i, w->connection, w->life,
                       vq_buf_span(&s->frame));
    }
}

void sim_send_to_coord(struct sim *s, uint32_t worker, const struct vq_msg *msg)
{
    struct sim_worker *w = &s->workers[worker];
    if (!w->up || s->coord.core == NULL) {
        return;
    }
    encode(s, msg);
    if (sim_more(s, SIM_DROP) || (msg->type == VQ_MSG_RESULTS && sim_more(s, SIM_DROP_RESULTS))) {
        sim_say(s, "  (%s of worker %u is lost)", vq_msg_name(msg->type), worker);
        return;
    }
    int64_t at_ns = arrival(s, w, 0);
    sim_push_bytes(s, at_ns, EV_TO_COORD, worker, w->peer, s->coord.life, vq_buf_span(&s->frame));
    if (sim_chance(s, s->knobs.duplicate)) {
        sim_push_bytes(s, arrival(s, w, 0), EV_TO_COORD, worker, w->peer, s->coord.life,
                       vq_buf_span(&s->frame));
    }
}

/* Frames in flight of this worker: to it they are lost (its connection number has changed); from it
 * some are lost and some come late. With the same peer handle the late ones come before anything of
 * the new connection: order is per peer. */
void sim_disconnect(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    w->up = false;
    w->connection++;
    for (size_t i = 0; i < s->heap_count; i++) {
        struct sim_event *event = &s->heap[i];
        if (event->kind == EV_TO_COORD && event->a == worker &&
            !sim_chance(s, s->knobs.late_frames)) {
            event->life = UINT64_MAX; /* lost */
        }
    }
}

void sim_connect(struct sim *s, uint32_t worker, int64_t at_ns, bool new_peer)
{
    struct sim_worker *w = &s->workers[worker];
    if (w->work == NULL || s->coord.core == NULL) {
        return; /* the coordinator's start connects all */
    }
    bool first = w->peer == 0;
    if (new_peer || w->peer == 0) {
        w->peer = ++s->peers;
    }
    w->up = true;
    w->connection++;
    bool after_late = !new_peer && !first; /* order is per peer: after the late frames */
    w->last_ns[0] = after_late && w->last_ns[0] > at_ns ? w->last_ns[0] : at_ns;
    w->last_ns[1] = at_ns;
    if (!w->told || sim_chance(s, s->knobs.report_connected)) {
        sim_push(s, at_ns, EV_CONNECTED, worker, w->connection, w->life);
    }
}
