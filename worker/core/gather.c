/* Calls that are part of a batch. Such a call ends twice under the same id: as BATCHED when it is
 * added to the batch's document, which ends it for its lease, and hours later with the provider's
 * result. Its upper cost counts as spent from the first end on; the coordinator settles the
 * difference. The shell has the batches (worker/batches); this file passes its reports on to the
 * coordinator. */
#include "common/base/alloc.h"
#include "worker/core/state.h"

#include <math.h>

/* A batch takes hours, so only stages that show outputs use it: their calls do not wait for each
 * other. The plan assumes the same. */
bool vq_work_pool_fits(const struct vq_work *w, uint32_t pool)
{
    return w->spec->pools[pool].batch_calls == 0 || vq_stage_shows_outputs(w->spec->kind);
}

void vq_work_gathered(struct vq_work *w, struct vq_work_ask *ask)
{
    ask->state = VQ_WORK_ASK_DONE;
    w->leases.asks_done++;
    w->judges[ask->lease->judge].asks_done++;
    vq_work_ask_decide(w, ask, VQ_OUTCOME_NONE); /* both orders are called at once */
    if (ask->cancelled) {
        vq_work_ask_close(w, ask);
    }
}

/* ---- collected results ---- */

static struct vq_usage usage_of(const struct vq_work_reply *reply)
{
    return (struct vq_usage){.input = (double)reply->tokens_in,
                             .cached = (double)reply->tokens_cached,
                             .written = (double)reply->tokens_cache_written,
                             .written_long = (double)reply->tokens_cache_written_long,
                             .output = (double)reply->tokens_out};
}

/* By the pool's prices. If the provider carried out the call but reports no usage: the
 * reservation. */
static uint64_t cost_of(const struct vq_work *w, uint32_t pool, const struct vq_result *draft,
                        const struct vq_work_reply *reply)
{
    bool silent = reply->tokens_in == 0 || (reply->tokens_out == 0 && reply->answer.bytes > 0);
    if (reply->end != VQ_END_ANSWER && reply->tokens_in + reply->tokens_out == 0) {
        return 0; /* providers do not bill calls that failed in a batch */
    }
    if (pool == UINT32_MAX || silent) {
        return draft->cost_nano;
    }
    struct vq_usage usage = usage_of(reply);
    return (uint64_t)ceil((double)vq_price_of(&w->spec->pools[pool].price, &usage));
}

/* The calls of the refused batch are given up one by one, and would go into the next batch. So the
 * pool is closed, as by the reply to a call, even if the reason would concern only a single call.
 * If too much is enqueued at the provider, the pool waits until its batches are checked again. */
void vq_work_on_refused(struct vq_work *w, const struct vq_work_refused *refused)
{
    const struct vq_work_reply *reply = refused->reply;
    uint32_t pool = w->spec == NULL ? UINT32_MAX : vq_work_pool_find(w, refused->pool);
    struct vq_result result = {0};
    if (pool == UINT32_MAX) {
        return;
    }
    if (reply->end == VQ_END_RATE) {
        vq_work_pool_pause(w, pool, w->spec->pools[pool].batch_poll_ms);
        return;
    }
    vq_work_result_fill(&result, VQ_STAGE_RANK, reply);
    vq_work_pool_learn(w, pool, reply->params_refused, reply->error);
    if (reply->params_refused == 0) {
        bool closed = reply->end == VQ_END_CLOSED && reply->pool != VQ_POOL_OPEN;
        vq_work_pool_closed_by(w, pool, closed ? reply->pool : VQ_POOL_NO_MODEL, &result);
    }
}

void vq_work_on_collected(struct vq_work *w, const struct vq_work_collected *collected)
{
    const struct vq_work_reply *reply = collected->reply;
    struct vq_result result = *collected->draft;
    uint32_t pool = w->spec == NULL ? UINT32_MAX : vq_work_pool_find(w, result.pool);
    result.cost_nano = cost_of(w, pool, collected->draft, reply);
    vq_work_result_fill(&result, VQ_STAGE_RANK, reply);
    if (pool != UINT32_MAX) {
        vq_work_pool_learn(w, pool, reply->params_refused, reply->error);
    }
    static const struct vq_work_charge settled; /* it was charged at its first end */
    struct vq_work_result *entry =
        vq_work_queue_room(w) ? vq_work_outbox_add(w, &result, pool, &settled) : NULL;
    if (entry == NULL) {
        vq_work_outbox_unheld(w, &result);
        return;
    }
    entry->batch = true;
    vq_work_queue(w, (struct vq_work_item){
                         .type = w->options.has_spool ? VQ_WORK_ITEM_ANSWER : VQ_WORK_ITEM_READ,
                         .u.read = {.result = entry, .closed = (uint8_t)reply->pool}});
}

/* ---- states of batches ---- */

static struct vq_span moved(struct vq_span text, char **at)
{
    struct vq_span copy = vq_span(*at, text.bytes);
    if (text.bytes > 0) {
        memcpy(*at, text.at, text.bytes);
    }
    *at += text.bytes;
    return copy;
}

void vq_work_on_batch(struct vq_work *w, const struct vq_msg_batch *batch)
{
    struct vq_work_news *news =
        vq_alloc(1, sizeof(*news) + batch->name.bytes + batch->pool.bytes + batch->id.bytes);
    if (news == NULL) {
        (void)vq_work_ok(w, VQ_NOMEM);
        return;
    }
    char *at = news->at;
    news->batch = *batch;
    news->batch.name = moved(batch->name, &at);
    news->batch.pool = moved(batch->pool, &at);
    news->batch.id = moved(batch->id, &at);
    vq_work_queue(w, (struct vq_work_item){.type = VQ_WORK_ITEM_BATCH, .u.news = news});
}
