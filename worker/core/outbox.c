/* Results that the coordinator has not ACKed.
 *
 * A result is unread, then unsent, then sent, until its ACK, even if its lease or session ends.
 * Each new session sends all of them again. `sent` is in the order of sending, and ACKs come in
 * that order: if an ACK skips a result, the coordinator had no room for it, and it is sent again at
 * once. Without any ACK, results are sent again after a term. Their number is bounded: no call
 * starts while there are too many (call.c). */
#include "common/base/alloc.h"
#include "proto/limits.h"
#include "proto/result.h"
#include "worker/core/state.h"

#define FIXED_BYTES 256 /* of an encoded result, besides its texts */

static struct vq_span cut(struct vq_span text, size_t max)
{
    return vq_span(text.at, text.bytes > max ? max : text.bytes);
}

/* Like cut, but never inside a UTF-8 sequence. */
static struct vq_span cut_text(struct vq_span text, size_t max)
{
    struct vq_span short_text = cut(text, max);
    if (short_text.bytes < text.bytes) {
        while (short_text.bytes > 0 && ((unsigned char)text.at[short_text.bytes] & 0xc0) == 0x80) {
            short_text.bytes--;
        }
    }
    return short_text;
}

/* Cuts the texts to sizes that can be encoded. */
static struct vq_result within_bounds(const struct vq_result *from)
{
    struct vq_result result = *from;
    result.answer = cut(from->answer, VQ_ANSWER_BYTES_MAX);
    result.finish_reason = cut_text(from->finish_reason, VQ_WIRE_NAME_BYTES_MAX);
    result.model = cut_text(from->model, VQ_WIRE_NAME_BYTES_MAX);
    result.fingerprint = cut_text(from->fingerprint, VQ_WIRE_NAME_BYTES_MAX);
    result.error = cut_text(from->error, VQ_WIRE_TEXT_BYTES_MAX);
    result.pool = cut_text(from->pool, VQ_WIRE_NAME_BYTES_MAX);
    result.label_logprobs = cut_text(from->label_logprobs, VQ_WIRE_NAME_BYTES_MAX);
    return result;
}

void vq_work_outbox_unheld(struct vq_work *w, const struct vq_result *from)
{
    VQ_ASSERT(!w->actions.unheld); /* its note was taken before the next reply */
    w->actions.unheld = w->options.has_spool;
    w->actions.unheld_result = within_bounds(from);
    memcpy(w->actions.unheld_pool, from->pool.at, w->actions.unheld_result.pool.bytes);
    w->actions.unheld_result.pool.at = w->actions.unheld_pool;
}

struct vq_work_result *vq_work_outbox_add(struct vq_work *w, const struct vq_result *from,
                                          uint32_t pool, const struct vq_work_charge *charge)
{
    struct vq_result cut_to = within_bounds(from);
    size_t texts = vq_result_texts_bytes(&cut_to);
    struct vq_work_result *entry = vq_alloc(1, sizeof(*entry) + texts);
    if (entry == NULL) {
        (void)vq_work_ok(w, VQ_NOMEM);
        return NULL;
    }
    entry->result = cut_to;
    vq_result_texts_move(&entry->result, entry->at);
    entry->pool = pool;
    entry->batch = from->end == VQ_END_BATCHED;
    entry->charge = *charge;
    entry->bytes = texts + FIXED_BYTES;
    entry->place = VQ_WORK_RESULT_UNREAD;
    if (!vq_work_ok(w, vq_index_add(&w->outbox.by_id, &entry->by_id, vq_id_hash(&from->call)))) {
        vq_free(entry);
        return NULL;
    }
    vq_list_push(&w->outbox.unread, &entry->link);
    w->outbox.count++;
    w->outbox.bytes += entry->bytes;
    return entry;
}

static struct vq_work_result *entry_of(const struct vq_work_outbox *outbox,
                                       const struct vq_id *call)
{
    struct vq_index_node *node = vq_index_find(&outbox->by_id, vq_id_hash(call));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_work_result *entry = VQ_CONTAINER_OF(node, struct vq_work_result, by_id);
        if (vq_id_eq(&entry->result.call, call)) {
            return entry;
        }
    }
    return NULL;
}

void vq_work_outbox_send(struct vq_work *w, struct vq_work_result *entry)
{
    VQ_ASSERT(entry->place == VQ_WORK_RESULT_UNREAD);
    entry->place = VQ_WORK_RESULT_UNSENT;
    entry->at_ns = w->now_ns;
    vq_unlink(&entry->link);
    vq_list_push(&w->outbox.unsent, &entry->link);
    w->outbox.unsent_count++;
    w->outbox.unsent_bytes += entry->bytes;
}

void vq_work_on_spooled(struct vq_work *w, const struct vq_result *result)
{
    if (w->outbox.count < VQ_WORK_OUTBOX_MAX && entry_of(&w->outbox, &result->call) == NULL) {
        struct vq_work_charge charge = {result->cost_nano, vq_result_requests(result),
                                        vq_result_tokens(result)};
        (void)vq_work_outbox_add(w, result, UINT32_MAX, &charge);
        w->slices.spend.used +=
            charge.nano; /* also of its pool's quota, once the SPEC names the pool */
        w->slices.spend.open += charge.nano;
    }
}

/* Finds the pools for results of an earlier process with this spool: they are known now. */
void vq_work_outbox_find_pools(struct vq_work *w)
{
    struct vq_link *lists[] = {&w->outbox.unread, &w->outbox.unsent, &w->outbox.sent};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        for (struct vq_link *at = lists[i]->next; at != lists[i]; at = at->next) {
            struct vq_work_result *entry = VQ_CONTAINER_OF(at, struct vq_work_result, link);
            uint32_t pool = vq_work_pool_find(w, entry->result.pool);
            if (entry->pool == UINT32_MAX && pool != UINT32_MAX) {
                struct vq_work_charge day = {0, entry->charge.requests, entry->charge.tokens};
                entry->pool = pool;
                vq_work_charge_add(w, pool, &day);
            }
        }
    }
}

/* Reads the answer like a fresh one. Its lease has ended, so no further calls follow from it. An
 * answer of another stage is sent without a verdict: this worker does not know that stage's form,
 * and the coordinator stores the answer anyway. */
bool vq_work_outbox_read(struct vq_work *w, struct vq_work_result *entry)
{
    struct vq_result *result = &entry->result;
    result->outcome = VQ_OUTCOME_NONE;
    result->final = false;
    if (result->end == VQ_END_ANSWER && w->spec != NULL && result->stage == w->spec->stage) {
        enum vq_outcome outcome =
            vq_verdict_of(w->spec->kind, result->answer, result->finish_reason, result->refusal);
        if (outcome == VQ_OUTCOME_NONE) {
            return vq_work_ok(w, VQ_NOMEM); /* its spool has the answer */
        }
        result->outcome = (uint8_t)outcome;
        result->final = true;
    }
    vq_work_outbox_send(w, entry);
    return true;
}

/* Reads the answers that an earlier process with this spool noted. */
void vq_work_outbox_read_spooled(struct vq_work *w)
{
    while (!vq_list_empty(&w->outbox.unread)) {
        struct vq_work_result *entry =
            VQ_CONTAINER_OF(w->outbox.unread.next, struct vq_work_result, link);
        if (!vq_work_outbox_read(w, entry)) {
            return;
        }
        w->outbox.flush = true;
    }
}

static void entry_forget(struct vq_work_outbox *outbox, struct vq_work_result *entry)
{
    vq_index_remove(&outbox->by_id, &entry->by_id);
    vq_unlink(&entry->link);
    outbox->count--;
    outbox->bytes -= entry->bytes;
    if (entry->place == VQ_WORK_RESULT_UNSENT) {
        outbox->unsent_count--;
        outbox->unsent_bytes -= entry->bytes;
    }
    vq_free(entry);
}

static struct vq_work_result *first(const struct vq_link *list)
{
    return vq_list_empty(list) ? NULL : VQ_CONTAINER_OF(list->next, struct vq_work_result, link);
}

static void unsend(struct vq_work_outbox *outbox, struct vq_work_result *entry)
{
    entry->place = VQ_WORK_RESULT_UNSENT;
    outbox->unsent_count++;
    outbox->unsent_bytes += entry->bytes;
}

/* Queues the first result of `sent` to be sent again. */
static void resend_first(struct vq_work_outbox *outbox)
{
    struct vq_work_result *entry = first(&outbox->sent);
    vq_unlink(&entry->link);
    vq_list_push(&outbox->unsent, &entry->link);
    unsend(outbox, entry);
}

static void resend_before(struct vq_work_outbox *outbox, uint64_t sent_no)
{
    while (first(&outbox->sent) != NULL && first(&outbox->sent)->sent_no < sent_no) {
        resend_first(outbox);
    }
}

/* The result of this call that is part of a batch (`batched`), or any; NULL: none. */
static struct vq_work_result *entry_acked(const struct vq_work_outbox *outbox,
                                          const struct vq_id *call, bool batched)
{
    struct vq_index_node *node = vq_index_find(&outbox->by_id, vq_id_hash(call));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_work_result *entry = VQ_CONTAINER_OF(node, struct vq_work_result, by_id);
        if (vq_id_eq(&entry->result.call, call) &&
            (!batched || entry->result.end == VQ_END_BATCHED)) {
            return entry;
        }
    }
    return NULL;
}

/* An entry is ACKed. Returns its place in the order of sending, or 0. */
static uint64_t entry_over(struct vq_work *w, struct vq_work_result *entry)
{
    const struct vq_result *result = &entry->result;
    struct vq_work_ask *ask = NULL;
    if (result->final || result->end == VQ_END_BATCHED) {
        ask = vq_work_ask_find(&w->leases, result->shard, result->fence, result->task);
    }
    if (ask != NULL && ask->state == VQ_WORK_ASK_DONE) {
        vq_work_ask_close(w, ask);
    }
    if (w->options.has_spool) {
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_ACKED, .u.id = result->call});
    }
    if (entry->batch) {
        vq_work_queue(w,
                      (struct vq_work_item){.type = VQ_WORK_ITEM_GATHERED, .u.id = result->call});
    }
    uint64_t sent_no = entry->place == VQ_WORK_RESULT_SENT ? entry->sent_no : 0;
    vq_work_charge_acked(w, entry->pool, &entry->charge);
    entry_forget(&w->outbox, entry);
    return sent_no;
}

/* A call of a batch has two results. An ACK of the second one also ACKs the first one. */
void vq_work_on_ack(struct vq_work *w, const struct vq_msg_ack *ack)
{
    uint64_t last = 0;
    bool held_enough = vq_work_holds_enough(w);
    for (uint32_t i = 0; i < ack->calls_count + ack->batched_count; i++) {
        bool batched = i >= ack->calls_count;
        const struct vq_id *call = batched ? &ack->batched[i - ack->calls_count] : &ack->calls[i];
        struct vq_work_result *entry;
        while ((entry = entry_acked(&w->outbox, call, batched)) != NULL) {
            uint64_t sent_no = entry_over(w, entry);
            last = sent_no > last ? sent_no : last;
        }
    }
    resend_before(&w->outbox, last);
    if (held_enough && !vq_work_holds_enough(w)) {
        w->credit.due = true; /* now, not at the next look: no other event may come */
    }
}

void vq_work_outbox_session(struct vq_work_outbox *outbox)
{
    for (struct vq_link *at = outbox->sent.next; at != &outbox->sent; at = at->next) {
        unsend(outbox, VQ_CONTAINER_OF(at, struct vq_work_result, link));
    }
    vq_list_prepend(&outbox->unsent, &outbox->sent);
    outbox->flush = true;
}

static int64_t resend_ns(const struct vq_work_link *link)
{
    int64_t least = VQ_WORK_MS(VQ_WORK_RESEND_MS_MIN);
    return link->term_ns > least ? link->term_ns : least;
}

/* When the next RESULTS is due, for unsent results or because no ACK came for a term; INT64_MAX:
 * never. */
static int64_t due_ns(const struct vq_work *w)
{
    int64_t due = INT64_MAX;
    if (w->outbox.unsent_count > 0) {
        bool now = w->outbox.flush || w->outbox.unsent_count >= VQ_WORK_BATCH_RESULTS ||
                   w->outbox.unsent_bytes >= VQ_WORK_BATCH_BYTES;
        due = now ? w->now_ns : first(&w->outbox.unsent)->at_ns + VQ_WORK_MS(VQ_WORK_BATCH_MS);
    }
    if (first(&w->outbox.sent) != NULL &&
        first(&w->outbox.sent)->at_ns + resend_ns(&w->link) < due) {
        due = first(&w->outbox.sent)->at_ns + resend_ns(&w->link);
    }
    return due;
}

int64_t vq_work_outbox_wake(const struct vq_work *w)
{
    return w->link.state == VQ_WORK_LINK_OPEN ? due_ns(w) : INT64_MAX;
}

void vq_work_outbox_pump(struct vq_work *w)
{
    if (w->link.state != VQ_WORK_LINK_OPEN) {
        return;
    }
    while (first(&w->outbox.sent) != NULL &&
           first(&w->outbox.sent)->at_ns + resend_ns(&w->link) <= w->now_ns) {
        resend_first(&w->outbox);
    }
    if (w->outbox.unsent_count > 0 && due_ns(w) <= w->now_ns) {
        vq_work_credit_before_results(w);
        vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_RESULTS});
    }
    if (w->outbox.unsent_count == 0) {
        w->outbox.flush = false;
    }
}

/* Puts unsent results into one frame and marks them as sent. False: no memory. */
bool vq_work_outbox_fill(struct vq_work *w, struct vq_msg_results *ret_results)
{
    void *list = w->actions.scratch;
    if (!vq_work_ok(w,
                    vq_grow(&list, &w->actions.scratch_cap,
                            VQ_WORK_BATCH_RESULTS * sizeof(struct vq_result), 1, SIZE_MAX / 2))) {
        return false;
    }
    w->actions.scratch = list;
    struct vq_result *results = list;
    uint32_t count = 0;
    size_t bytes = 0;
    while (w->outbox.unsent_count > 0 && count < VQ_WORK_BATCH_RESULTS) {
        struct vq_work_result *entry =
            VQ_CONTAINER_OF(w->outbox.unsent.next, struct vq_work_result, link);
        if (count > 0 && bytes + entry->bytes > VQ_WORK_BATCH_BYTES) {
            break;
        }
        bytes += entry->bytes;
        results[count++] = entry->result;
        vq_unlink(&entry->link);
        vq_list_push(&w->outbox.sent, &entry->link);
        entry->place = VQ_WORK_RESULT_SENT;
        entry->at_ns = w->now_ns;
        entry->sent_no = ++w->outbox.sent_n;
        w->outbox.unsent_count--;
        w->outbox.unsent_bytes -= entry->bytes;
    }
    *ret_results = (struct vq_msg_results){
        .session = w->link.session, .results = results, .results_count = count};
    return true;
}

bool vq_work_outbox_full(const struct vq_work_outbox *outbox)
{
    return outbox->count >= VQ_WORK_OUTBOX_MAX / 2 || outbox->bytes >= VQ_WORK_OUTBOX_BYTES_SOFT;
}

void vq_work_outbox_free(struct vq_work_outbox *outbox)
{
    struct vq_link *lists[] = {&outbox->unread, &outbox->unsent, &outbox->sent};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        while (!vq_list_empty(lists[i])) {
            entry_forget(outbox, VQ_CONTAINER_OF(lists[i]->next, struct vq_work_result, link));
        }
    }
    vq_index_free(&outbox->by_id);
}
