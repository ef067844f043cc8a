/* The model of the store. It keeps things simple where the real one has to be fast or safe: a
 * transaction is a function call. */
#include "tests/simulation/store.h"

#include "common/base/alloc.h"

#include <stdio.h>

void sim_store_init(struct sim_store *store, uint64_t tasks_max)
{
    store->column = vq_alloc((size_t)tasks_max, 1);
    VQ_ASSERT(store->column != NULL && store->repeat_max < SIM_REPEATS_MAX);
}

void sim_store_free(struct sim_store *store)
{
    for (size_t i = 0; i < store->answers_count; i++) {
        vq_free(store->answers[i].text);
        vq_free(store->answers[i].finish_reason);
    }
    vq_free(store->answers);
    for (size_t i = 0; i < store->ledger_count; i++) {
        vq_free(store->ledger[i].draft);
    }
    vq_free(store->ledger);
    vq_free(store->said);
    vq_free(store->column);
    sim_map_free(&store->answers_by_hash);
    sim_map_free(&store->ledger_by_call);
    sim_map_free(&store->failures);
}

static void *room(void *array, size_t *cap, size_t count, size_t item_bytes)
{
    VQ_ASSERT(vq_grow(&array, cap, count + 1, item_bytes, SIZE_MAX / item_bytes / 2) == VQ_OK);
    return array;
}

bool sim_store_put(struct sim_store *store, const struct vq_hash *request, struct vq_span text,
                   struct vq_span finish_reason, bool refusal)
{
    if (sim_map_get(&store->answers_by_hash, request) != NULL) {
        return false;
    }
    store->answers =
        room(store->answers, &store->answers_cap, store->answers_count, sizeof(*store->answers));
    struct sim_answer *answer = &store->answers[store->answers_count];
    answer->text = vq_strndup(text.bytes == 0 ? "" : text.at, text.bytes);
    answer->finish_reason =
        vq_strndup(finish_reason.bytes == 0 ? "" : finish_reason.at, finish_reason.bytes);
    answer->bytes = text.bytes;
    answer->refusal = refusal;
    VQ_ASSERT(answer->text != NULL && answer->finish_reason != NULL);
    sim_map_put(&store->answers_by_hash, request, store->answers_count++);
    return true;
}

static const struct sim_answer *answer_of(const struct sim_store *store,
                                          const struct vq_hash *request)
{
    const uint64_t *at = sim_map_get(&store->answers_by_hash, request);
    return at == NULL ? NULL : &store->answers[*at];
}

const struct sim_ledger_row *sim_store_row(const struct sim_store *store, const struct vq_id *call)
{
    struct vq_hash key = sim_key_id(call);
    const uint64_t *at = sim_map_get(&store->ledger_by_call, &key);
    return at == NULL ? NULL : &store->ledger[*at];
}

static enum vq_outcome verdict(const struct sim_store *store, const struct sim_answer *answer)
{
    return answer == NULL ? VQ_OUTCOME_NONE
                          : vq_verdict_of(store->kind, vq_span(answer->text, answer->bytes),
                                          vq_span_str(answer->finish_reason), answer->refusal);
}

/* ---- chains ---- */

struct turn { /* of a chain, as far as what stands before it goes */
    bool has_query, reached;
    enum vq_outcome before;
    struct vq_chain_state state;
};

static void turn_of(const struct sim_store *store, uint64_t task, struct turn *ret_turn);
static void turn_view(const struct sim_store *store, uint64_t task, const struct turn *turn,
                      struct vq_task_view *ret_view);

bool sim_store_request(const struct sim_store *store, uint64_t task, uint32_t repeat,
                       struct vq_hash *ret_hash)
{
    struct turn turn;
    if (store->chains == NULL) {
        store->request_of(store->ctx, task, repeat, ret_hash);
        return true;
    }
    turn_of(store, task, &turn);
    if (!turn.reached || task % 2 != 0) {
        return false;
    }
    vq_chain_request(&store->askers[vq_grid_cell(&store->grid, task).judge], &turn.state, repeat,
                     ret_hash);
    return true;
}

/* ---- states ---- */

static const struct vq_hash no_request;

static struct vq_attempt attempt_of(const struct sim_store *store, uint64_t task,
                                    const struct vq_hash *request)
{
    struct vq_hash repair;
    const struct sim_answer *answer = answer_of(store, request);
    const struct sim_answer *repaired = NULL;
    const uint64_t *failure = sim_map_get(&store->failures, request);
    if (answer != NULL && store->repair) {
        struct vq_span text = vq_span(answer->text, answer->bytes);
        store->repair_of(store->ctx, task, request, text, &repair);
        repaired = answer_of(store, &repair);
        if (repaired == NULL) { /* what an equal text was answered */
            store->repair_of(store->ctx, task, &no_request, text, &repair);
            repaired = answer_of(store, &repair);
        }
    }
    return (struct vq_attempt){
        .failure = failure == NULL ? VQ_OUTCOME_NONE : (enum vq_outcome) * failure,
        .answer = verdict(store, answer),
        .repaired = verdict(store, repaired),
    };
}

static void attempts_of(const struct sim_store *store, uint64_t task, struct vq_attempt *ret)
{
    for (uint32_t r = 0; r <= store->repeat_max; r++) {
        struct vq_hash request;
        store->request_of(store->ctx, task, r, &request);
        ret[r] = attempt_of(store, task, &request);
    }
}

static struct vq_task_plan plan_of(const struct sim_store *store, uint64_t task)
{
    return (struct vq_task_plan){.swap = store->swap,
                                 .repair = store->repair,
                                 .first = store->first[task / vq_grid_shard_tasks(&store->grid)],
                                 .audited = store->audited[task / 2] != 0,
                                 .repeat_max = store->repeat_max};
}

void sim_store_state(const struct sim_store *store, uint64_t task, struct vq_task_view *ret_view)
{
    struct vq_attempt attempts[2][SIM_REPEATS_MAX];
    if (store->blocked != NULL && store->blocked[task]) {
        *ret_view = (struct vq_task_view){.outcome = VQ_OUTCOME_BLOCKED};
        return;
    }
    if (store->chains != NULL) {
        struct turn turn;
        turn_of(store, task, &turn);
        turn_view(store, task, &turn, ret_view);
        return;
    }
    attempts_of(store, task & ~UINT64_C(1), attempts[0]);
    attempts_of(store, task | 1, attempts[1]);
    const struct vq_attempt *const both[2] = {attempts[0], attempts[1]};
    struct vq_task_plan plan = plan_of(store, task);
    vq_task_state(&plan, both, (unsigned)(task & 1), ret_view);
}

static void turn_view(const struct sim_store *store, uint64_t task, const struct turn *turn,
                      struct vq_task_view *ret_view)
{
    struct vq_attempt attempts[2][SIM_REPEATS_MAX] = {{{0}}};
    const struct vq_attempt *const both[2] = {attempts[0], attempts[1]};
    struct vq_task_plan plan = plan_of(store, task);
    plan.unasked = !turn->has_query;
    plan.follows = task % vq_grid_shard_tasks(&store->grid) > 1;
    plan.before = turn->before;
    for (uint32_t r = 0; turn->reached && r <= store->repeat_max; r++) {
        struct vq_hash request;
        vq_chain_request(&store->askers[vq_grid_cell(&store->grid, task).judge], &turn->state, r,
                         &request);
        attempts[0][r] = attempt_of(store, task, &request);
    }
    vq_task_state(&plan, both, (unsigned)(task & 1), ret_view);
}

/* Walks the chain from its beginning: slow, and plainly right. */
static void turn_of(const struct sim_store *store, uint64_t task, struct turn *ret_turn)
{
    struct vq_cell cell = vq_grid_cell(&store->grid, task);
    const struct vq_sample *chain = &store->chains[cell.sample];
    struct vq_span rest = chain->prompt;
    struct vq_span query;
    *ret_turn = (struct turn){.has_query = vq_chain_unpack(&rest, &query)};
    ret_turn->reached = ret_turn->has_query;
    vq_chain_begin(chain->a, query, &ret_turn->state);
    for (uint32_t k = 0; k < cell.vibe; k++) {
        uint64_t before = (task & ~UINT64_C(1)) - 2 * (uint64_t)(cell.vibe - k);
        struct vq_task_view view;
        struct vq_hash request;
        turn_view(store, before, ret_turn, &view);
        ret_turn->before = view.outcome;
        ret_turn->has_query = vq_chain_unpack(&rest, &query);
        if (ret_turn->reached && ret_turn->has_query && vq_outcome_is_good(view.outcome)) {
            vq_chain_request(&store->askers[cell.judge], &ret_turn->state, view.repeat, &request);
            const struct sim_answer *answer = answer_of(store, &request);
            vq_chain_go_on(&ret_turn->state, vq_span(answer->text, answer->bytes), query);
        } else {
            ret_turn->reached = false;
        }
    }
}

void sim_store_known(const struct sim_store *store, uint64_t shard, struct vq_known *ret_known)
{
    uint32_t count = vq_grid_shard_tasks(&store->grid);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t task = shard * count + i;
        struct vq_task_plan plan = plan_of(store, task);
        struct vq_task_view view;
        sim_store_state(store, task, &view);
        bool second = (unsigned)(task & 1) != plan.first;
        ret_known[i] =
            (struct vq_known){.outcome = view.outcome,
                              .repeat = view.repeat,
                              .second = second,
                              .lazy = second && plan.swap == VQ_SWAP_LAZY && !plan.audited};
        bool said = store->chains != NULL && vq_outcome_is_good(view.outcome);
        if (view.wants_repair || said) {
            struct vq_hash request;
            VQ_ASSERT(sim_store_request(store, task, view.repeat, &request));
            const struct sim_answer *answer = answer_of(store, &request);
            ret_known[i].prior = vq_span(answer->text, answer->bytes);
        }
    }
}

/* ---- commit ---- */

static void failure_put(struct sim_store *store, uint64_t task, uint32_t repeat,
                        enum vq_outcome outcome)
{
    struct vq_task_view view;
    sim_store_state(store, task, &view);
    struct vq_hash request;
    if (view.outcome == VQ_OUTCOME_NONE && view.repeat == repeat &&
        sim_store_request(store, task, repeat, &request)) {
        sim_map_put(&store->failures, &request, (uint64_t)outcome);
    }
}

static void failure_lift(struct sim_store *store, uint64_t task)
{
    struct vq_task_view view;
    sim_store_state(store, task, &view);
    if (vq_outcome_is_failed(view.outcome)) {
        struct vq_hash request;
        VQ_ASSERT(sim_store_request(store, task, view.repeat, &request));
        sim_map_put(&store->failures, &request, VQ_OUTCOME_NONE);
    }
}

static bool is_elsewhere(const struct sim_store *store, const struct vq_result *r)
{
    return r->stage != store->stage;
}

static bool is_ours(const struct sim_store *store, const struct vq_result *r)
{
    static const struct vq_hash none;
    struct vq_hash request, repair;
    if (r->end == VQ_END_UNKNOWN && vq_hash_eq(&r->request, &none)) {
        return true; /* listed and never returned: its hash is the plan's */
    }
    if (!sim_store_request(store, r->task, r->repeat, &request)) {
        return false;
    }
    if (r->kind == VQ_CALL_ASK) {
        return vq_hash_eq(&request, &r->request);
    }
    const struct sim_answer *answer = answer_of(store, &request);
    if (answer == NULL || !vq_hash_eq(&request, &r->repaired)) {
        return false;
    }
    store->repair_of(store->ctx, r->task, &request, vq_span(answer->text, answer->bytes), &repair);
    return vq_hash_eq(&repair, &r->request);
}

/* The key of the text that an answered repair repairs; false: it is none, or not of what is
 * stored. */
static bool text_key(const struct sim_store *store, const struct vq_result *r,
                     struct vq_hash *ret_key)
{
    bool repair = r->kind == VQ_CALL_REPAIR && r->end == VQ_END_ANSWER && store->repair &&
                  !is_elsewhere(store, r) && is_ours(store, r);
    if (repair) {
        const struct sim_answer *text = answer_of(store, &r->repaired);
        store->repair_of(store->ctx, r->task, &no_request, vq_span(text->text, text->bytes),
                         ret_key);
    }
    return repair;
}

static void draft_keep(struct sim_ledger_row *row, const struct vq_result *r)
{
    struct vq_buf encoded;
    vq_free(row->draft);
    row->draft = NULL;
    if (r->end != VQ_END_BATCHED) {
        return;
    }
    vq_buf_init(&encoded, VQ_FRAME_BYTES_MAX);
    VQ_ASSERT(vq_result_encode(r, &encoded) == VQ_OK);
    row->draft = encoded.at;
    row->draft_bytes = encoded.bytes;
}

bool sim_store_draft(const struct sim_store *store, size_t n, struct vq_decoder *decoder,
                     struct vq_result *ret_draft)
{
    const struct sim_ledger_row *row = &store->ledger[n];
    if (row->draft == NULL) {
        return false;
    }
    VQ_ASSERT(vq_result_decode(decoder, vq_span(row->draft, row->draft_bytes), ret_draft, NULL) ==
              VQ_OK);
    return true;
}

static void said_keep(struct sim_store *store, const struct vq_batch_report *last)
{
    const struct vq_msg_batch *batch = &last->about;
    size_t n = 0;
    while (n < store->said_count && !vq_span_eq(vq_span_str(store->said[n].name), batch->name)) {
        n++;
    }
    if (n == store->said_count) {
        store->said = room(store->said, &store->said_cap, store->said_count, sizeof(*store->said));
        store->said_count++;
    }
    struct sim_said *said = &store->said[n];
    *said = (struct sim_said){.owner = last->owner, .state = batch->state, .calls = batch->calls};
    (void)snprintf(said->name, sizeof(said->name), "%.*s", (int)batch->name.bytes, batch->name.at);
    (void)snprintf(said->pool, sizeof(said->pool), "%.*s", (int)batch->pool.bytes, batch->pool.at);
    (void)snprintf(said->id, sizeof(said->id), "%.*s", (int)batch->id.bytes, batch->id.at);
}

void sim_store_record(struct sim_store *store, const struct vq_result *r)
{
    struct vq_hash key = sim_key_id(&r->call);
    uint64_t *at = sim_map_get(&store->ledger_by_call, &key);
    if (at == NULL) {
        store->ledger =
            room(store->ledger, &store->ledger_cap, store->ledger_count, sizeof(*store->ledger));
        store->ledger[store->ledger_count] =
            (struct sim_ledger_row){r->call, r->stage, r->task, r->end, 1, r->cost_nano};
        sim_map_put(&store->ledger_by_call, &key, store->ledger_count++);
        draft_keep(&store->ledger[store->ledger_count - 1], r);
    } else {
        struct sim_ledger_row *row = &store->ledger[*at];
        row->times++;
        bool replaces = vq_call_end_replaces((enum vq_call_end)row->end, (enum vq_call_end)r->end);
        row->cost_nano = replaces ? r->cost_nano : row->cost_nano;
        row->end = replaces ? r->end : row->end;
        if (replaces) {
            draft_keep(row, r);
        }
    }
    struct vq_hash text;
    bool shares = text_key(store, r, &text);
    if (shares && answer_of(store, &text) != NULL) {
        return; /* an equal text has one */
    }
    if (r->end == VQ_END_ANSWER) {
        (void)sim_store_put(store, &r->request, r->answer, r->finish_reason, r->refusal);
    }
    if (shares) {
        const struct sim_answer *stands = answer_of(store, &r->request);
        struct vq_span said = vq_span(stands->text, stands->bytes);
        (void)sim_store_put(store, &text, said, vq_span_str(stands->finish_reason),
                            stands->refusal);
    }
}

void sim_store_commit_lmdb(struct sim_store *store, const struct vq_batch *batch)
{
    for (size_t i = 0; i < batch->results_count; i++) {
        sim_store_record(store, &batch->results[i]);
    }
    for (size_t i = 0; i < batch->said_count; i++) {
        said_keep(store, &batch->said[i]);
    }
    for (size_t i = 0; i < batch->reopened_count; i++) {
        failure_lift(store, batch->reopened[i]);
    }
    for (size_t i = 0; i < batch->results_count; i++) {
        const struct vq_result *r = &batch->results[i];
        if (is_elsewhere(store, r)) { /* recorded, and that is all */
            continue;
        }
        if (!is_ours(store, r)) { /* a repair of an answer that does not stand settles nothing */
            store->foreign += r->kind == VQ_CALL_ASK && store->chains == NULL;
        } else if (r->final && vq_outcome_is_failed((enum vq_outcome)r->outcome)) {
            failure_put(store, r->task, r->repeat, (enum vq_outcome)r->outcome);
        }
    }
    for (size_t i = 0; i < batch->failures_count; i++) {
        const struct vq_batch_failure *f = &batch->failures[i];
        failure_put(store, f->task, f->repeat, f->outcome);
    }
    store->commits++;
}

/* What comes behind a turn that has no good answer, or was reopened. */
static size_t settled_behind(const struct sim_store *store, uint64_t task, bool reopened,
                             struct vq_settled *settled, size_t count)
{
    struct vq_task_view view;
    uint64_t tasks = vq_grid_shard_tasks(&store->grid);
    sim_store_state(store, task & ~UINT64_C(1), &view);
    if (!reopened && (view.outcome == VQ_OUTCOME_NONE || vq_outcome_is_good(view.outcome))) {
        return count;
    }
    for (uint64_t next = (task | 1) + 1; next % tasks != 0; next++) {
        sim_store_state(store, next, &view);
        settled[count++] = (struct vq_settled){next, view.outcome};
    }
    return count;
}

size_t sim_store_settled(const struct sim_store *store, const struct vq_batch *batch,
                         struct vq_settled **ret_settled)
{
    size_t count = 0;
    size_t failures = batch->results_count; /* results, then failures, then reopened ones */
    size_t reopened = failures + batch->failures_count;
    size_t each = store->chains != NULL ? vq_grid_shard_tasks(&store->grid) : 2;
    struct vq_settled *settled =
        vq_alloc(each * (reopened + batch->reopened_count) + 1, sizeof(*settled));
    VQ_ASSERT(settled != NULL);
    for (size_t i = 0; i < reopened + batch->reopened_count; i++) {
        if (i < failures && is_elsewhere(store, &batch->results[i])) {
            continue;
        }
        uint64_t task = i < failures   ? batch->results[i].task
                        : i < reopened ? batch->failures[i - failures].task
                                       : batch->reopened[i - reopened];
        for (uint64_t order = 0; order < 2; order++) {
            struct vq_task_view view;
            sim_store_state(store, (task & ~UINT64_C(1)) | order, &view);
            settled[count++] = (struct vq_settled){(task & ~UINT64_C(1)) | order, view.outcome};
        }
        if (store->chains != NULL) {
            count = settled_behind(store, task, i >= reopened, settled, count);
        }
    }
    *ret_settled = settled;
    return count;
}

void sim_store_commit_redis(struct sim_store *store, const struct vq_batch *batch)
{
    struct vq_settled *settled;
    size_t count = sim_store_settled(store, batch, &settled);
    for (size_t i = 0; i < batch->settled_count; i++) {
        store->column[batch->settled[i].task] = (uint8_t)batch->settled[i].outcome;
    }
    for (size_t i = 0; i < count; i++) {
        store->column[settled[i].task] = (uint8_t)settled[i].outcome;
    }
    vq_free(settled);
    store->column_commits = store->commits;
}

void sim_store_rebuild_redis(struct sim_store *store)
{
    for (uint64_t task = 0; task < vq_grid_tasks(&store->grid); task++) {
        struct vq_task_view view;
        sim_store_state(store, task, &view);
        store->column[task] = (uint8_t)view.outcome;
    }
    store->column_commits = store->commits;
}
