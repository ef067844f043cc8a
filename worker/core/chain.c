/* Dialogues: the data of a lease of a chain besides its asks, and the order of its asks.
 *
 * The sample owns the queries. The answers are stored once per chain, in order, and are only ever
 * appended; a call refers to the chain and the number of answers before it. An answer is appended
 * when it is read, and so after the write that put it into the spool. So no turn is asked before
 * the answer to the turn before it is safe. No turn is asked after a turn without a good answer.
 *
 * In the counts of asks a chain is one ask, from its LEASE to its last ACK. It is done when it
 * needs no further call. Not its job: whether the answers that it continues from are in force (the
 * coordinator ends the lease if they are not). */
#include "common/base/alloc.h"
#include "worker/core/state.h"

static struct vq_work_chain *chain_new(const struct vq_work_lease *lease, uint32_t turns_max)
{
    struct vq_work_chain *chain = vq_alloc(1, sizeof(*chain));
    if (chain == NULL) {
        return NULL;
    }
    chain->turns = vq_alloc(turns_max, sizeof(*chain->turns));
    if (chain->turns == NULL) {
        vq_free(chain);
        return NULL;
    }
    struct vq_span query = {NULL, 0};
    chain->queries = lease->sample->text.prompt;
    (void)vq_chain_unpack(&chain->queries, &query);
    vq_chain_begin(lease->sample->text.a, query, &chain->state);
    chain->said_bytes = lease->sample->text.a.bytes + query.bytes;
    return chain;
}

/* Copies the answer. */
static enum vq_status append(struct vq_work_samples *samples, struct vq_work_chain *chain,
                             struct vq_span answer)
{
    char *copy;
    VQ_TRY(vq_copy_bytes(answer.bytes == 0 ? "" : answer.at, answer.bytes, &copy));
    struct vq_span query = {NULL, 0};
    chain->turns[chain->turns_count++] = vq_span(copy, answer.bytes);
    samples->bytes += answer.bytes;
    chain->bytes += answer.bytes;
    chain->said_bytes += answer.bytes;
    if (vq_chain_unpack(&chain->queries, &query)) {
        vq_chain_go_on(&chain->state, answer, query);
        chain->said_bytes += query.bytes;
    }
    return VQ_OK;
}

const char *vq_work_chain_refuse(const struct vq_work_samples *samples,
                                 const struct vq_msg_lease *msg)
{
    const struct vq_work_sample *sample = vq_work_sample_find(samples, msg->sample);
    uint32_t queries = vq_chain_count(sample->text.prompt);
    size_t bytes = samples->bytes;
    for (uint32_t i = 0; i < msg->turns_count; i++) {
        bytes += msg->turns[i].bytes;
    }
    if (queries == UINT32_MAX || msg->turns_count > queries ||
        msg->asks_count > queries - msg->turns_count) {
        return "its sample has fewer queries";
    }
    for (uint32_t i = 0; i < msg->asks_count; i++) {
        if (msg->asks[i].vibe != msg->turns_count + i || msg->asks[i].order != 0) {
            return "its turns do not follow each other";
        }
    }
    return bytes > VQ_WORK_SAMPLES_BYTES_MAX ? "this worker holds as much as it may" : NULL;
}

enum vq_status vq_work_chain_create(struct vq_work_samples *samples, const struct vq_msg_lease *msg,
                                    struct vq_work_lease *lease)
{
    struct vq_work_chain *chain = chain_new(lease, msg->turns_count + msg->asks_count);
    enum vq_status status = chain == NULL ? VQ_NOMEM : VQ_OK;
    lease->chain = chain;
    for (uint32_t i = 0; status == VQ_OK && i < msg->turns_count; i++) {
        status = append(samples, chain, msg->turns[i]);
    }
    return status;
}

void vq_work_chain_free(struct vq_work_samples *samples, struct vq_work_lease *lease)
{
    struct vq_work_chain *chain = lease->chain;
    if (chain == NULL) {
        return;
    }
    samples->bytes -= chain->bytes;
    for (uint32_t i = 0; i < chain->turns_count; i++) {
        vq_free((void *)(uintptr_t)chain->turns[i].at);
    }
    vq_free(chain->turns);
    vq_free(chain);
    lease->chain = NULL;
}

void vq_work_chain_counted(struct vq_work *w, const struct vq_work_lease *lease)
{
    struct vq_work_judging *judge = &w->judges[lease->judge];
    w->leases.asks_open--;
    judge->asks_open--;
    if (lease->chain->done) {
        w->leases.asks_done--;
        judge->asks_done--;
    }
}

void vq_work_chain_decide(struct vq_work *w, struct vq_work_ask *ask, enum vq_outcome outcome)
{
    struct vq_work_lease *lease = ask->lease;
    uint32_t next = (uint32_t)(ask - lease->asks) + 1;
    if (vq_outcome_is_good(outcome) && next < lease->asks_count &&
        lease->asks[next].state == VQ_WORK_ASK_LAZY) {
        vq_work_ask_ready(w, &lease->asks[next]);
        return;
    }
    for (; next < lease->asks_count; next++) {
        if (lease->asks[next].state == VQ_WORK_ASK_LAZY) {
            vq_work_ask_take_out(w, &lease->asks[next]);
        }
    }
}

void vq_work_chain_look(struct vq_work *w, struct vq_work_lease *lease)
{
    bool done = true;
    for (uint32_t i = 0; i < lease->asks_count; i++) {
        done = done && lease->asks[i].state >= VQ_WORK_ASK_DONE;
    }
    if (done && !lease->chain->done) {
        lease->chain->done = true;
        w->leases.asks_done++;
        w->judges[lease->judge].asks_done++;
    }
}

void vq_work_chain_settled(struct vq_work *w, struct vq_work_ask *ask, struct vq_span answer,
                           enum vq_outcome outcome)
{
    struct vq_work_lease *lease = ask->lease;
    struct vq_work_chain *chain = lease->chain;
    outcome = ask->cancelled ? VQ_OUTCOME_NONE : outcome;
    if (vq_outcome_is_good(outcome) && !vq_work_ok(w, append(&w->samples, chain, answer))) {
        return;
    }
    vq_work_chain_decide(w, ask, outcome);
    vq_work_chain_look(w, lease);
}

bool vq_work_chain_asking(const struct vq_work_lease *lease)
{
    for (uint32_t i = 0; lease->chain != NULL && i < lease->asks_count; i++) {
        if (lease->asks[i].state == VQ_WORK_ASK_CALLING) {
            return true;
        }
    }
    return false;
}

uint32_t vq_work_chain_pool(const struct vq_work *w, const struct vq_work_ask *ask)
{
    uint32_t pool = ask->lease->chain->pool;
    if (pool == 0 || ask->loose || ask->failed_pool == pool ||
        w->spec->judges[ask->lease->judge].pools_count == 1 || !vq_work_pool_usable(w, pool - 1) ||
        !vq_work_judge_uses(w, ask->lease->judge, pool - 1) || !vq_work_pool_affords(w, pool - 1)) {
        return UINT32_MAX;
    }
    return pool - 1;
}
