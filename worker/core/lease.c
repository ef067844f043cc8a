/* Leases, their asks, and the samples of leases.
 *
 * An ask is in exactly one place: the ready queue of its judge, `delayed`, a call, or none. The
 * `open` counters of its lease, its judge and the worker count the asks that are not CLOSED. The
 * last ask to close ends its lease, and the last lease of a sample drops the sample. If a lease
 * cannot be carried out, the worker returns all of it.
 *
 * Not its job: when a call may start (judge.c, pool.c, call.c), terms (session.c). */
#include "common/base/alloc.h"
#include "worker/core/state.h"

#define HEAP_MAX ((size_t)VQ_WORK_ASKS_MAX * 2)

/* ---- samples ---- */

/* vq_index_mix is a bijection: a node with the hash of a number is the node of that number. */
struct vq_work_sample *vq_work_sample_find(const struct vq_work_samples *samples, uint64_t index)
{
    struct vq_index_node *node = vq_index_find(&samples->by_index, vq_index_mix(index));
    return node == NULL ? NULL : VQ_CONTAINER_OF(node, struct vq_work_sample, by_index);
}

static void sample_free(struct vq_work_samples *samples, struct vq_work_sample *sample)
{
    vq_unlink(&sample->link);
    vq_index_remove(&samples->by_index, &sample->by_index);
    samples->count--;
    samples->bytes -= sample->bytes;
    vq_free(sample);
}

void vq_work_samples_drop_idle(struct vq_work_samples *samples, uint32_t keep)
{
    uint32_t idle = 0;
    for (struct vq_link *at = samples->idle.prev; at != &samples->idle;) {
        struct vq_work_sample *sample = VQ_CONTAINER_OF(at, struct vq_work_sample, link);
        at = at->prev;
        if (++idle > keep) {
            sample_free(samples, sample);
        }
    }
}

static struct vq_span copy_to(char **at, struct vq_span text)
{
    struct vq_span copy = {*at, text.bytes};
    if (text.bytes > 0) {
        memcpy(*at, text.at, text.bytes);
    }
    *at += text.bytes;
    return copy;
}

void vq_work_on_sample(struct vq_work *w, const struct vq_msg_sample *msg)
{
    size_t bytes = msg->prompt.bytes + msg->a.bytes + msg->b.bytes + msg->image.bytes;
    vq_work_samples_drop_idle(&w->samples, VQ_WORK_SAMPLES_IDLE_MAX);
    if (vq_work_sample_find(&w->samples, msg->sample) != NULL ||
        w->samples.count >= VQ_WORK_SAMPLES_MAX ||
        w->samples.bytes + bytes > VQ_WORK_SAMPLES_BYTES_MAX) {
        /* it is stored already; or there is no room: its lease finds no sample and is returned */
        return;
    }
    struct vq_work_sample *sample = vq_alloc(1, sizeof(*sample) + bytes);
    if (sample == NULL) {
        (void)vq_work_ok(w, VQ_NOMEM);
        return;
    }
    char *at = sample->at;
    sample->index = msg->sample;
    sample->text.prompt = copy_to(&at, msg->prompt);
    sample->text.a = copy_to(&at, msg->a);
    sample->text.b = copy_to(&at, msg->b);
    sample->text.image = copy_to(&at, msg->image);
    sample->bytes = bytes;
    if (!vq_work_ok(
            w, vq_index_add(&w->samples.by_index, &sample->by_index, vq_index_mix(msg->sample)))) {
        vq_free(sample);
        return;
    }
    vq_sample_identify(&sample->text, &sample->id);
    vq_list_push(&w->samples.idle, &sample->link);
    w->samples.count++;
    w->samples.bytes += bytes;
}

/* ---- asks ---- */

void vq_work_ask_unqueue(struct vq_work *w, struct vq_work_ask *ask)
{
    struct vq_work_judging *judge = &w->judges[ask->lease->judge];
    if (ask->state == VQ_WORK_ASK_READY) {
        vq_heap_remove(ask->queue > 0 ? &w->pools[ask->queue - 1].followers : &judge->ready,
                       &ask->node);
    } else if (ask->state == VQ_WORK_ASK_DELAYED) {
        vq_heap_remove(&w->leases.delayed, &ask->node);
        judge->following -= ask->follows ? 1 : 0;
        ask->follows = false;
    } else if (ask->state == VQ_WORK_ASK_PARKED) {
        ask->lease->parked--;
    }
}

void vq_work_ask_ready(struct vq_work *w, struct vq_work_ask *ask)
{
    vq_work_ask_unqueue(w, ask);
    vq_work_judge_expect(w, ask);
    ask->state = VQ_WORK_ASK_READY;
    ask->node.first = (int64_t)ask->lease->seq;
    ask->node.second = (uint64_t)(ask - ask->lease->asks);
    ask->queued_ns = w->now_ns;
    ask->queue = 0;
    uint32_t pool = vq_work_front_pool(w, ask);
    if (pool != UINT32_MAX) {
        struct vq_heap *followers = &w->pools[pool].followers;
        if (vq_heap_reserve(followers, followers->count + 1, HEAP_MAX) == VQ_OK) {
            ask->queue = pool + 1;
            vq_heap_push(followers, &ask->node);
            return;
        }
        ask->loose = true;
    }
    vq_heap_push(&w->judges[ask->lease->judge].ready, &ask->node);
}

static void ask_park(struct vq_work *w, struct vq_work_ask *ask)
{
    vq_work_ask_unqueue(w, ask);
    ask->state = VQ_WORK_ASK_PARKED;
    ask->lease->parked++;
}

struct vq_work_ask *vq_work_queue_first(struct vq_work *w, const struct vq_heap *queue)
{
    for (;;) {
        struct vq_heap_node *node = vq_heap_peek(queue);
        if (node == NULL) {
            return NULL;
        }
        struct vq_work_ask *ask = VQ_CONTAINER_OF(node, struct vq_work_ask, node);
        if (ask->lease->until_ns > w->now_ns) {
            return ask;
        }
        ask_park(w, ask);
    }
}

void vq_work_ask_delay(struct vq_work *w, struct vq_work_ask *ask, int64_t until_ns)
{
    vq_work_ask_unqueue(w, ask);
    ask->state = VQ_WORK_ASK_DELAYED;
    ask->node.first = until_ns;
    ask->node.second = ask->lease->seq;
    vq_heap_push(&w->leases.delayed, &ask->node);
}

void vq_work_delayed_pump(struct vq_work *w)
{
    for (;;) {
        struct vq_heap_node *node = vq_heap_peek(&w->leases.delayed);
        if (node == NULL || node->first > w->now_ns) {
            return;
        }
        vq_work_ask_ready(w, VQ_CONTAINER_OF(node, struct vq_work_ask, node));
    }
}

static void lease_free(struct vq_work *w, struct vq_work_lease *lease)
{
    vq_unlink(&lease->link);
    vq_index_remove(&w->leases.by_shard, &lease->by_shard);
    w->leases.count--;
    vq_work_chain_free(&w->samples, lease);
    if (--lease->sample->leases == 0) {
        sample_free(&w->samples, lease->sample);
    }
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        vq_free(lease->asks[i].answer);
    }
    vq_free(lease);
}

void vq_work_ask_take_out(struct vq_work *w, struct vq_work_ask *ask)
{
    struct vq_work_judging *judge = &w->judges[ask->lease->judge];
    bool done = ask->state == VQ_WORK_ASK_DONE;
    vq_work_ask_unqueue(w, ask);
    ask->state = VQ_WORK_ASK_CLOSED;
    ask->lease->open--;
    judge->closed++;
    if (ask->lease->chain == NULL) {
        w->leases.asks_done -= done ? 1 : 0;
        judge->asks_done -= done ? 1 : 0;
        w->leases.asks_open--;
        judge->asks_open--;
    } else if (ask->lease->open == 0) {
        vq_work_chain_counted(w, ask->lease);
    }
}

void vq_work_ask_close(struct vq_work *w, struct vq_work_ask *ask)
{
    struct vq_work_lease *lease = ask->lease;
    VQ_ASSERT(ask->state != VQ_WORK_ASK_CLOSED);
    vq_work_ask_take_out(w, ask);
    if (lease->open == 0) {
        lease_free(w, lease);
    }
}

void vq_work_ask_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome)
{
    if (ask->lease->chain != NULL) {
        vq_work_chain_decide(w, ask, outcome);
        return;
    }
    if (ask->swapped == 0) {
        return;
    }
    struct vq_work_ask *lazy = &ask->lease->asks[ask->swapped - 1];
    ask->swapped = 0;
    if (lazy->state != VQ_WORK_ASK_LAZY) {
        return;
    }
    if (vq_outcome_settles(outcome)) {
        vq_work_ask_take_out(w, lazy); /* the lease remains: `ask` waits for its ACK */
    } else {
        vq_work_ask_ready(w, lazy);
    }
}

void vq_work_ask_leave_undecided(struct vq_work *w, struct vq_work_ask *ask)
{
    if (ask->swapped == 0) {
        return;
    }
    struct vq_work_ask *lazy = &ask->lease->asks[ask->swapped - 1];
    ask->swapped = 0;
    if (lazy->state == VQ_WORK_ASK_LAZY) {
        vq_work_ask_take_out(w, lazy); /* the lease remains: `ask` waits for its ACK */
    }
}

static struct vq_work_lease *lease_of(const struct vq_work_leases *leases, uint64_t shard)
{
    struct vq_index_node *node = vq_index_find(&leases->by_shard, vq_index_mix(shard));
    return node == NULL ? NULL : VQ_CONTAINER_OF(node, struct vq_work_lease, by_shard);
}

static struct vq_work_lease *lease_find(struct vq_work_leases *leases, uint64_t shard,
                                        struct vq_fence fence)
{
    struct vq_work_lease *lease = lease_of(leases, shard);
    return lease != NULL && vq_fence_eq(lease->fence, fence) ? lease : NULL;
}

struct vq_work_ask *vq_work_ask_find(struct vq_work_leases *leases, uint64_t shard,
                                     struct vq_fence fence, uint64_t task)
{
    struct vq_work_lease *lease = lease_find(leases, shard, fence);
    for (uint32_t i = 0; lease != NULL && i < lease->asks_count; i++) {
        if (lease->asks[i].task == task) {
            return &lease->asks[i];
        }
    }
    return NULL;
}

/* ---- giving back ---- */

/* A CANCEL with room for `tasks_max` tasks; NULL: no memory (sticks). */
static struct vq_work_cancel *returned(struct vq_work *w, uint32_t stage, uint64_t shard,
                                       struct vq_fence fence, uint32_t tasks_max)
{
    struct vq_work_cancel *cancel =
        vq_alloc(1, sizeof(*cancel) + (size_t)tasks_max * sizeof(cancel->tasks[0]));
    if (cancel == NULL) {
        (void)vq_work_ok(w, VQ_NOMEM);
        return NULL;
    }
    vq_list_init(&cancel->link);
    cancel->stage = stage;
    cancel->shard = shard;
    cancel->fence = fence;
    return cancel;
}

static void say_returned(struct vq_work *w, struct vq_work_cancel *take_cancel)
{
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_CANCEL, .u.cancel = take_cancel});
}

static bool is_idle(const struct vq_work_ask *ask)
{
    return ask->state == VQ_WORK_ASK_LAZY || ask->state == VQ_WORK_ASK_READY ||
           ask->state == VQ_WORK_ASK_PARKED || ask->state == VQ_WORK_ASK_DELAYED;
}

static void lease_return(struct vq_work *w, struct vq_work_lease *lease)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        count += is_idle(&lease->asks[i]) ? 1 : 0;
    }
    if (count == 0) {
        return;
    }
    struct vq_work_cancel *cancel = returned(w, w->spec->stage, lease->shard, lease->fence, count);
    if (cancel == NULL) {
        return;
    }
    /* a repair was called under this lease: its answer is not read any more */
    bool answered = false;
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        if (is_idle(&lease->asks[i])) {
            answered |= lease->asks[i].kind == VQ_CALL_REPAIR && lease->asks[i].tries > 0;
            cancel->tasks[cancel->tasks_count++] = lease->asks[i].task;
            vq_work_ask_take_out(w, &lease->asks[i]);
        }
    }
    if (answered && w->outbox.count > 0) {
        vq_work_list_now(w); /* its result may get lost: the listed call reserves the task */
    }
    say_returned(w, cancel);
    if (lease->open == 0) {
        lease_free(w, lease);
    } else if (lease->chain != NULL) {
        vq_work_chain_look(w, lease);
    }
}

void vq_work_ask_return(struct vq_work *w, struct vq_work_ask *ask)
{
    struct vq_work_lease *lease = ask->lease;
    VQ_ASSERT(ask->state == VQ_WORK_ASK_CALLING);
    ask->state = VQ_WORK_ASK_LAZY; /* now it is idle */
    lease_return(w, lease);
}

void vq_work_return_all(struct vq_work *w, uint32_t judge)
{
    for (struct vq_link *at = w->leases.list.next; at != &w->leases.list;) {
        struct vq_work_lease *lease = VQ_CONTAINER_OF(at, struct vq_work_lease, link);
        at = at->next;
        if (judge == UINT32_MAX || lease->judge == judge) {
            lease_return(w, lease);
        }
    }
}

void vq_work_return_surplus(struct vq_work *w, uint32_t judge, uint32_t keep)
{
    const struct vq_work_judging *at = &w->judges[judge];
    for (struct vq_link *link = w->leases.list.prev;
         link != &w->leases.list;) { /* the newest first */
        struct vq_work_lease *lease = VQ_CONTAINER_OF(link, struct vq_work_lease, link);
        link = link->prev;
        if (at->asks_open - at->asks_done <= keep) {
            return;
        }
        if (lease->judge == judge && !vq_work_chain_asking(lease)) {
            lease_return(w, lease);
        }
    }
}

bool vq_work_leases_ask(const struct vq_work_leases *leases)
{
    for (const struct vq_link *at = leases->list.next; at != &leases->list; at = at->next) {
        const struct vq_work_lease *lease = VQ_CONTAINER_OF(at, const struct vq_work_lease, link);
        for (uint32_t i = 0; i < lease->asks_count; i++) {
            if (is_idle(&lease->asks[i]) || lease->asks[i].state == VQ_WORK_ASK_CALLING) {
                return true;
            }
        }
    }
    return false;
}

void vq_work_lease_drop(struct vq_work *w, struct vq_work_lease *lease)
{
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        if (lease->asks[i].state != VQ_WORK_ASK_CLOSED) {
            vq_work_ask_take_out(w, &lease->asks[i]);
        }
    }
    lease_free(w, lease);
}

/* ---- LEASE and CANCEL ---- */

/* The same for its asks. A task that is listed twice would be paid for twice. A shard's tasks are
 * neighbours, by vibe and order (grid.h). */
static const char *refuse_asks(const struct vq_work *w, const struct vq_msg_lease *msg)
{
    uint8_t named[VQ_WIRE_ASKS_MAX / 8] = {0};
    uint64_t base = msg->asks[0].task - msg->asks[0].vibe * UINT64_C(2) - msg->asks[0].order;
    for (uint32_t i = 0; i < msg->asks_count; i++) {
        const struct vq_ask *ask = &msg->asks[i];
        if (ask->vibe >= w->spec->axes_count) {
            return "its vibe is not in the SPEC";
        }
        if (ask->prior.bytes > 0 && w->spec->repair == NULL) {
            return "it wants a repair, and the SPEC has no template for it";
        }
        uint32_t at = ask->vibe * 2 + ask->order;
        if (ask->task - at != base) {
            return "its tasks are not of one shard";
        }
        if ((named[at / 8] >> at % 8 & 1) != 0) {
            return "it names a task twice";
        }
        named[at / 8] |= (uint8_t)(1u << at % 8);
    }
    return NULL;
}

/* Why this lease cannot be carried out; NULL: it can. */
static const char *refuse(struct vq_work *w, const struct vq_msg_lease *msg)
{
    if (w->end.draining) {
        return "this worker is leaving";
    }
    if (w->spec == NULL || !vq_hash_eq(&w->spec->hash, &w->spec_wanted) ||
        msg->stage != w->spec->stage || msg->judge >= w->spec->judges_count) {
        return "its judge is not in the SPEC";
    }
    if (!vq_work_judge_usable(w, msg->judge)) {
        return "nothing can be asked of its judge here";
    }
    if (vq_work_sample_find(&w->samples, msg->sample) == NULL) {
        return "its sample is not here";
    }
    if (msg->stamp_ns > w->link.stamp_ns) {
        return "it echoes a stamp that was never sent";
    }
    if (msg->asks_count > VQ_WORK_ASKS_MAX - w->leases.asks_open ||
        w->leases.count >= VQ_WORK_LEASES_MAX) {
        return "this worker holds as much as it may";
    }
    const char *why = refuse_asks(w, msg);
    return why == NULL && vq_stage_chains(w->spec->kind) ? vq_work_chain_refuse(&w->samples, msg)
                                                         : why;
}

static enum vq_status ask_fill(struct vq_work *w, struct vq_work_lease *lease,
                               const struct vq_ask *from, struct vq_work_ask *ask)
{
    *ask = (struct vq_work_ask){.lease = lease,
                                .task = from->task,
                                .vibe = from->vibe,
                                .repeat = from->repeat,
                                .order = from->order,
                                .kind = VQ_CALL_ASK,
                                .state = VQ_WORK_ASK_LAZY};
    if (from->prior.bytes > 0) {
        VQ_TRY(vq_copy_bytes(from->prior.at, from->prior.bytes, &ask->answer));
        ask->answer_bytes = from->prior.bytes;
        ask->kind = VQ_CALL_REPAIR;
        vq_request_hash(&w->spec->judges[lease->judge].asker, &lease->sample->id,
                        &w->spec->axes[from->vibe], from->order, from->repeat, &ask->request);
    }
    return VQ_OK;
}

/* The earlier ask in the list for the other order of the same vibe; there is one at most
 * (refuse_asks). */
static struct vq_work_ask *other_order(struct vq_work_lease *lease, uint32_t before)
{
    for (uint32_t i = before; i > 0; i--) {
        if (lease->asks[i - 1].vibe == lease->asks[before].vibe) {
            return &lease->asks[i - 1];
        }
    }
    return NULL;
}

static enum vq_status lease_fill(struct vq_work *w, const struct vq_msg_lease *msg,
                                 struct vq_work_lease **ret_lease)
{
    struct vq_work_lease *lease =
        vq_alloc(1, sizeof(*lease) + (size_t)msg->asks_count * sizeof(lease->asks[0]));
    if (lease == NULL) {
        return VQ_NOMEM;
    }
    lease->shard = msg->shard;
    lease->fence = msg->fence;
    lease->seq = ++w->leases.seq;
    lease->until_ns = msg->stamp_ns < 0 ? 0 : msg->stamp_ns + w->link.term_ns;
    lease->judge = msg->judge;
    lease->sample = vq_work_sample_find(&w->samples, msg->sample);
    lease->asks_count = msg->asks_count;
    vq_work_front_find(w, lease);
    enum vq_status status = VQ_OK;
    for (uint32_t i = 0; i < msg->asks_count && status == VQ_OK; i++) {
        status = ask_fill(w, lease, &msg->asks[i], &lease->asks[i]);
    }
    if (status == VQ_OK && vq_stage_chains(w->spec->kind)) {
        status = vq_work_chain_create(&w->samples, msg, lease);
    }
    size_t room = w->leases.asks_open + msg->asks_count;
    if (status == VQ_OK) {
        status = vq_heap_reserve(&w->judges[msg->judge].ready, room, HEAP_MAX);
    }
    if (status == VQ_OK) {
        status = vq_heap_reserve(&w->leases.delayed, room, HEAP_MAX);
    }
    if (status == VQ_OK) {
        status = vq_index_add(&w->leases.by_shard, &lease->by_shard, vq_index_mix(msg->shard));
    }
    if (status != VQ_OK) {
        for (uint32_t i = 0; i < msg->asks_count; i++) {
            vq_free(lease->asks[i].answer);
        }
        vq_work_chain_free(&w->samples, lease);
        vq_free(lease);
        return status;
    }
    *ret_lease = lease;
    return VQ_OK;
}

void vq_work_on_lease(struct vq_work *w, const struct vq_msg_lease *msg)
{
    struct vq_work_lease *held = lease_of(&w->leases, msg->shard);
    if (msg->fence.epoch < w->link.epoch || msg->asks_count == 0) {
        return;
    }
    if (held != NULL) {
        if (msg->fence.epoch < held->fence.epoch ||
            (msg->fence.epoch == held->fence.epoch && msg->fence.n <= held->fence.n)) {
            return; /* a repeat of it, or an older one */
        }
        held->sample->leases++; /* the new lease may have the same sample */
        struct vq_work_sample *sample = held->sample;
        vq_work_lease_drop(w, held);
        if (--sample->leases == 0) {
            vq_list_push(&w->samples.idle, &sample->link);
        }
    }
    const char *why = refuse(w, msg);
    if (why != NULL) {
        w->leases.refused++;
        vq_work_note(w, w->end.draining ? VQ_WORK_NOTE_INFO : VQ_WORK_NOTE_WARN,
                     "gave back shard %llu: %s", (unsigned long long)msg->shard, why);
        struct vq_work_cancel *cancel = returned(w, msg->stage, msg->shard, msg->fence, 0);
        if (cancel != NULL) {
            say_returned(w, cancel);
        }
        return;
    }
    struct vq_work_lease *lease = NULL;
    if (!vq_work_ok(w, lease_fill(w, msg, &lease))) {
        return;
    }
    vq_work_slices_forget(w); /* only the new coordinator grants capacity for this lease */
    vq_list_push(&w->leases.list, &lease->link);
    w->leases.count++;
    if (lease->sample->leases++ == 0) {
        vq_unlink(&lease->sample->link); /* not idle any more */
    }
    lease->open = lease->asks_count;
    uint32_t counted = lease->chain == NULL ? lease->asks_count : 1;
    w->leases.asks_open += counted;
    w->judges[lease->judge].asks_open += counted;
    w->judges[lease->judge].answers[VQ_CALL_ASK].prior = msg->answer_tokens;
    if (lease->chain != NULL) {
        vq_work_ask_ready(w, &lease->asks[0]); /* the others follow, turn by turn */
        return;
    }
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        struct vq_work_ask *first = msg->asks[i].lazy ? other_order(lease, i) : NULL;
        if (first != NULL) {
            first->swapped = i + 1;
        } else {
            vq_work_ask_ready(w, &lease->asks[i]);
        }
    }
}

/* Makes no new call for this task; a call in flight continues. True: the lease has ended. */
static bool ask_cancel(struct vq_work *w, struct vq_work_ask *ask)
{
    if (ask->state == VQ_WORK_ASK_CALLING) {
        ask->cancelled = true;
        return false;
    }
    if (ask->state == VQ_WORK_ASK_CLOSED) {
        return false;
    }
    if (ask->state != VQ_WORK_ASK_DONE) {
        /* This worker does not know its answer. It decides about the swapped order, so it asks
         * it. */
        vq_work_ask_decide(w, ask, VQ_OUTCOME_NONE);
    }
    bool last = ask->lease->open == 1;
    vq_work_ask_close(w, ask);
    return last;
}

/* The dialogue continues from another worker's answer. The asks without a call in flight are
 * returned, so that the coordinator knows that none of them starts here any more. */
static void chain_leave(struct vq_work *w, struct vq_work_lease *lease,
                        const struct vq_msg_cancel *msg)
{
    lease->chain->left = true;
    lease_return(w, lease);
    for (uint32_t t = 0; t < msg->tasks_count; t++) {
        struct vq_work_ask *ask =
            vq_work_ask_find(&w->leases, msg->shard, msg->fence, msg->tasks[t]);
        if (ask != NULL && ask_cancel(w, ask)) {
            return;
        }
    }
    lease = lease_find(&w->leases, msg->shard, msg->fence);
    if (lease != NULL) {
        vq_work_chain_look(w, lease);
    }
}

void vq_work_on_cancel(struct vq_work *w, const struct vq_msg_cancel *msg)
{
    struct vq_work_lease *lease = lease_find(&w->leases, msg->shard, msg->fence);
    if (lease == NULL) {
        return;
    }
    if (msg->tasks_count == 0) {
        vq_work_lease_drop(w, lease);
        return;
    }
    if (lease->chain != NULL) {
        chain_leave(w, lease, msg);
        return;
    }
    for (uint32_t t = 0; t < msg->tasks_count; t++) { /* lazy ones first: see ask_cancel */
        for (uint32_t i = 0; i < lease->asks_count; i++) {
            if (lease->asks[i].task == msg->tasks[t] && lease->asks[i].state == VQ_WORK_ASK_LAZY) {
                vq_work_ask_take_out(w, &lease->asks[i]);
            }
        }
    }
    for (uint32_t t = 0; t < msg->tasks_count; t++) {
        struct vq_work_ask *ask =
            vq_work_ask_find(&w->leases, msg->shard, msg->fence, msg->tasks[t]);
        if (ask != NULL && ask_cancel(w, ask)) {
            return;
        }
    }
    if (lease->open == 0) {
        lease_free(w, lease);
    }
}

void vq_work_lease_renew(struct vq_work *w, struct vq_work_lease *lease, int64_t until_ns)
{
    if (until_ns > lease->until_ns) {
        lease->until_ns = until_ns;
    }
    for (uint32_t i = 0; lease->parked > 0 && lease->until_ns > w->now_ns && i < lease->asks_count;
         i++) {
        if (lease->asks[i].state == VQ_WORK_ASK_PARKED) {
            vq_work_ask_ready(w, &lease->asks[i]);
        }
    }
}
