/* Workers that a person ordered to leave. Each gets DRAIN, now and with each heartbeat (a message
 * may be lost), and no lease. It finishes its calls, gives the rest back and sends BYE. Also:
 * workers whose key was revoked, which are refused at once. Invariant: an entry is one process, so
 * the list may drop the oldest one, which left long ago. Not its job: preventing a restart of the
 * process (the shell). */
#include "coordinator/queue/internal.h"

#include <string.h>

bool vq_coord_leaves(const struct vq_coord_leaving *leaving, const struct vq_id *worker)
{
    for (uint32_t i = 0; i < VQ_COORD_LEAVING_MAX && i < leaving->count; i++) {
        if (vq_id_eq(&leaving->workers[i], worker)) {
            return true;
        }
    }
    return false;
}

static enum vq_status tell(struct vq_coord *c, struct vq_coord_session *s)
{
    if (!vq_coord_leaves(&c->leaving, &s->worker)) {
        c->leaving.workers[c->leaving.count % VQ_COORD_LEAVING_MAX] = s->worker;
        c->leaving.count++;
    }
    s->draining = true;
    vq_coord_hungry_all(c, s);
    vq_coord_note(c, VQ_COORD_NOTE_INFO, "worker %s on %s gets the order to leave", s->name,
                  s->host);
    return vq_coord_send_drain(&c->actions, s);
}

enum vq_status vq_coord_drain_worker(struct vq_coord *c, const char *name, int64_t now_ns,
                                     uint32_t *ret_informed, uint32_t *ret_stay)
{
    uint32_t informed = 0, stay = 0;
    vq_coord_enter(c, now_ns);
    for (size_t i = 0; i < c->sessions.count; i++) {
        const struct vq_coord_session *s = c->sessions.all[i];
        bool named = strcmp(s->name, name) == 0;
        informed += named;
        stay += !named && !s->draining;
    }
    for (size_t i = 0; stay > 0 && i < c->sessions.count; i++) {
        struct vq_coord_session *s = c->sessions.all[i];
        if (strcmp(s->name, name) == 0) {
            VQ_TRY(tell(c, s));
        }
    }
    *ret_informed = informed;
    *ret_stay = stay;
    return VQ_OK;
}

enum vq_status vq_coord_expel(struct vq_coord *c, uint64_t peer, const char *why, int64_t now_ns)
{
    vq_coord_enter(c, now_ns);
    struct vq_coord_session *s = vq_coord_session_find(&c->sessions, peer);
    if (s == NULL || s->deaf) {
        return VQ_OK;
    }
    vq_coord_note(c, VQ_COORD_NOTE_WARN, "worker %s on %s is refused: %s", s->name, s->host, why);
    return vq_coord_refuse(c, s, why);
}
