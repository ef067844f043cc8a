/* Between two stages: the waits that one core passes to the next, and HELLOs that come after one
 * core is FINISHED and before the next exists. The last HELLO of each peer is stored and given to
 * the next core. Not its job: any other message in this time; it is answered with BYE. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

static struct vq_span copy_to(char **at, struct vq_span text)
{
    struct vq_span copy = {*at, text.bytes};
    if (text.bytes > 0) {
        memcpy(*at, text.at, text.bytes);
    }
    *at += text.bytes;
    return copy;
}

enum vq_status vq_coord_wait(struct vq_coord *c, uint64_t peer, const struct vq_msg_hello *hello)
{
    size_t i = 0;
    while (i < c->hellos.count && c->hellos.list[i].peer != peer) {
        i++;
    }
    if (i >= VQ_COORD_SESSIONS_MAX) {
        return VQ_OK; /* the worker sends it again */
    }
    VQ_TRY(VQ_GROW(c->hellos.list, &c->hellos.cap, i + 1, VQ_COORD_SESSIONS_MAX));
    char *texts;
    VQ_TRY(VQ_ALLOC(texts, hello->name.bytes + hello->host.bytes + hello->software.bytes + 1));
    if (i < c->hellos.count) {
        vq_free(c->hellos.list[i].texts);
    } else {
        c->hellos.count++;
    }
    vq_authority_heard(c->params.authority, &hello->worker, c->now_ns);
    struct vq_coord_waiting *w = &c->hellos.list[i];
    *w = (struct vq_coord_waiting){.peer = peer, .hello = *hello, .texts = texts};
    w->hello.name = copy_to(&texts, hello->name);
    w->hello.host = copy_to(&texts, hello->host);
    w->hello.software = copy_to(&texts, hello->software);
    return VQ_OK;
}

void vq_coord_waiting_free(struct vq_coord_hellos *hellos)
{
    for (size_t i = 0; i < hellos->count; i++) {
        vq_free(hellos->list[i].texts);
    }
    vq_free(hellos->list);
    hellos->list = NULL;
    hellos->count = hellos->cap = 0;
}

enum vq_status vq_coord_hand_over(struct vq_coord *from, struct vq_coord *to, int64_t now_ns)
{
    /* no message was read in between: if there is a wait, it becomes longer */
    vq_coord_enter(from, now_ns);
    int64_t until_ns = vq_coord_waits_until(&from->waits);
    to->waits.until_ns = until_ns > to->waits.until_ns ? until_ns : to->waits.until_ns;
    to->waits.held_by_hand = from->waits.held_by_hand;
    to->leaving = from->leaving;
    /* The wait may have ended while these HELLOs were stored here. After a crash their workers may
     * have calls of this stage. */
    to->waits.unheard_until_ns =
        now_ns + (until_ns > 0 ? to->params.term_ns : to->params.heartbeat_ns);
    enum vq_status status = vq_coord_left_hand_over(from, to);
    status = status == VQ_OK ? vq_coord_known_hand_over(from, to) : status;
    for (size_t i = 0; i < from->hellos.count && status == VQ_OK; i++) {
        struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = from->hellos.list[i].hello};
        status = vq_coord_message(to, from->hellos.list[i].peer, &msg, now_ns);
    }
    vq_coord_waiting_free(&from->hellos);
    return status;
}

/* Also for workers whose HELLO is still in transit: they first get BYE "the stage is over", then
 * this one. */
enum vq_status vq_coord_no_more(struct vq_coord *c, enum vq_bye_code code, int64_t now_ns)
{
    VQ_ASSERT(c->end.finished && (code == VQ_BYE_DONE || code == VQ_BYE_STOPPED));
    c->now_ns = now_ns > c->now_ns ? now_ns : c->now_ns;
    c->params.more = false;
    c->end.finished = code == VQ_BYE_DONE; /* decides the reason that later workers get */
    const char *text = c->end.finished ? "the run is finished" : "the run has stopped";
    for (size_t i = 0; i < c->sessions.count; i++) {
        VQ_TRY(vq_coord_bye(&c->actions, c->sessions.all[i]->peer, 0, code, text));
    }
    for (size_t i = 0; i < c->hellos.count; i++) {
        if (vq_coord_session_find(&c->sessions, c->hellos.list[i].peer) == NULL) {
            VQ_TRY(vq_coord_bye(&c->actions, c->hellos.list[i].peer, 0, code, text));
        }
    }
    vq_coord_waiting_free(&c->hellos);
    return VQ_OK;
}
