/* A run's ledger as numbers. Pure: rows in any order give the same sums.
 *
 * Tasks are planned, calls are sent. Each sent call is one of: the first asking of a task (one per
 * task), a first asking at a higher repeat (--retry-failed), a repair, or a retry of one of the
 * first two. Each planned task is one of: asked (first_sends), settled from the store (from_store),
 * not needed and never sent (saved_by_lazy_swap), or none of these (not_asked). So both sums of the
 * header hold by construction. If two stages ask the same request, its row belongs to the stage
 * that sent it; the task of the other stage is from the store. A stage that is made from answers
 * has other tasks if these answers become more (--retry-failed): a call under a number that it does
 * not ask now counts as a retry, and the task that asks the same now counts as from the store.
 * Invariant: memory is one bit per task and used repeat, plus the workers and pools. Not its job:
 * which answer is in force (lookup.c), the JSON. */
#include "coordinator/store/calls/account.h"
#include "common/base/sum.h"

#include "common/base/alloc.h"
#include "proto/pool.h"

#include <stdio.h>
#include <stdlib.h>

struct stage {
    struct vq_account_plan in;
    uint64_t tasks;
    /* one bit per task: asked at this repeat, counted from the plan's; created when needed */
    uint8_t *sent[VQ_GENERATION_MAX + 1];
    uint64_t *answered; /* one per judge: answers without a pool */
};

struct vq_accountant {
    struct stage *stages;
    uint32_t stages_count;
    struct vq_account *account;
    size_t workers_cap, pools_cap;
    size_t pool; /* the last one found */
};

static enum vq_status stages_fill(struct vq_accountant *a, const struct vq_account_plan *stages)
{
    struct vq_account *account = a->account;
    for (uint32_t i = 0; i < a->stages_count; i++) {
        const struct vq_grid *grid = &stages[i].plan->grid;
        a->stages[i].in = stages[i];
        a->stages[i].tasks = vq_grid_tasks(grid);
        struct vq_account_stage *s = &account->stages[i];
        s->part.planned = a->stages[i].tasks;
        s->judges_count = grid->judges;
        VQ_TRY(VQ_ALLOC(s->judges, grid->judges));
        VQ_TRY(VQ_ALLOC(a->stages[i].answered, grid->judges));
    }
    return VQ_OK;
}

enum vq_status vq_accountant_create(const struct vq_account_plan *stages, uint32_t stages_count,
                                    struct vq_accountant **ret_accountant)
{
    if (stages_count > VQ_ACCOUNT_STAGES_MAX) {
        return VQ_LIMIT;
    }
    struct vq_accountant *a;
    VQ_TRY(VQ_ALLOC(a, 1));
    a->stages = vq_alloc(stages_count, sizeof(*a->stages));
    a->account = vq_alloc(1, sizeof(*a->account));
    enum vq_status status = a->stages == NULL || a->account == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        a->account->stages = vq_alloc(stages_count, sizeof(*a->account->stages));
        status = a->account->stages == NULL ? VQ_NOMEM : VQ_OK;
    }
    if (status == VQ_OK) {
        a->stages_count = a->account->stages_count = stages_count;
        status = stages_fill(a, stages);
    }
    if (status != VQ_OK) {
        vq_accountant_destroy(&a);
        return status;
    }
    *ret_accountant = a;
    return VQ_OK;
}

void vq_accountant_destroy(struct vq_accountant **accountant)
{
    struct vq_accountant *a = *accountant;
    if (a == NULL) {
        return;
    }
    for (uint32_t i = 0; i < a->stages_count; i++) {
        for (size_t r = 0; r < VQ_COUNT(a->stages[i].sent); r++) {
            vq_free(a->stages[i].sent[r]);
        }
        vq_free(a->stages[i].answered);
    }
    vq_free(a->stages);
    vq_account_destroy(&a->account);
    vq_free(a);
    *accountant = NULL;
}

void vq_account_destroy(struct vq_account **account)
{
    if (*account == NULL) {
        return;
    }
    for (uint32_t i = 0; i < (*account)->stages_count; i++) {
        vq_free((*account)->stages[i].judges);
    }
    vq_free((*account)->stages);
    vq_free((*account)->workers);
    vq_free((*account)->pools);
    vq_free(*account);
    *account = NULL;
}

/* The index of a row's stage; UINT32_MAX: not in the list. */
static uint32_t stage_of(const struct vq_accountant *a, const struct vq_call_row *row)
{
    uint32_t low = 0, high = a->stages_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->stages[middle].in.plan->stage < row->result.stage) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < a->stages_count && a->stages[low].in.plan->stage == row->result.stage ? low
                                                                                       : UINT32_MAX;
}

/* Whether the stages are of a script beside the run; then only these count. */
static bool is_beside(const struct vq_accountant *a)
{
    return a->stages_count > 0 && a->stages[0].in.plan->stage >= VQ_STAGE_BESIDE;
}

static bool bit_get(const uint8_t *bits, uint64_t i)
{
    return bits != NULL && (bits[i / 8] >> (i % 8) & 1) != 0;
}

static enum vq_status worker_of(struct vq_accountant *a, struct vq_span name,
                                struct vq_account_worker **ret_worker)
{
    struct vq_account *account = a->account;
    size_t bytes = name.bytes < sizeof(account->workers->name) - 1
                       ? name.bytes
                       : sizeof(account->workers->name) - 1;
    for (size_t i = account->workers_count; i-- > 0;) {
        struct vq_account_worker *w = &account->workers[i];
        if (strncmp(w->name, name.at, bytes) == 0 && w->name[bytes] == '\0') {
            *ret_worker = w;
            return VQ_OK;
        }
    }
    VQ_TRY(VQ_GROW(account->workers, &a->workers_cap, account->workers_count + 1,
                   VQ_ACCOUNT_WORKERS_MAX));
    struct vq_account_worker *w = &account->workers[account->workers_count++];
    *w = (struct vq_account_worker){0};
    memcpy(w->name, name.at, bytes);
    *ret_worker = w;
    return VQ_OK;
}

/* NULL: the row has no pool. */
static enum vq_status pool_of(struct vq_accountant *a, struct vq_span name,
                              struct vq_account_pool **ret_pool)
{
    struct vq_account *account = a->account;
    *ret_pool = NULL;
    if (name.bytes == 0) {
        return VQ_OK;
    }
    size_t bytes =
        name.bytes < VQ_ACCOUNT_POOL_NAME_BYTES ? name.bytes : VQ_ACCOUNT_POOL_NAME_BYTES - 1;
    for (size_t i = 0; i < account->pools_count; i++) {
        struct vq_account_pool *p = &account->pools[a->pool];
        if (strncmp(p->name, name.at, bytes) == 0 && p->name[bytes] == '\0') {
            *ret_pool = p;
            return VQ_OK;
        }
        a->pool = (a->pool + 1) % account->pools_count;
    }
    VQ_TRY(VQ_GROW(account->pools, &a->pools_cap, account->pools_count + 1, VQ_ACCOUNT_POOLS_MAX));
    a->pool = account->pools_count++;
    *ret_pool = &account->pools[a->pool];
    **ret_pool = (struct vq_account_pool){0};
    memcpy((*ret_pool)->name, name.at, bytes);
    return VQ_OK;
}

static double cost_of(const struct stage *stage, const struct vq_call_row *row)
{
    if (row->result.pool.bytes > 0 || row->result.cost_nano > 0) {
        return (double)row->result.cost_nano / 1e9;
    }
    if (stage == NULL || stage->in.prices == NULL ||
        row->result.judge >= stage->in.plan->grid.judges) {
        return 0;
    }
    const struct vq_ledger_price *price = &stage->in.prices[row->result.judge];
    double in = price->input_usd > 0 ? price->input_usd : 0;
    double out = price->output_usd > 0 ? price->output_usd : 0;
    return ((double)row->result.tokens_in * in + (double)row->result.tokens_out * out) / 1e6;
}

static void add(struct vq_account_sums *sums, const struct vq_call_row *row, bool sent,
                double cost_usd)
{
    sums->sent += sent ? 1 : 0;
    if (row->result.end == VQ_END_ANSWER) {
        sums->answered++;
        sums->paid_unused += row->used ? 0 : 1;
        vq_sum_to(&sums->latency_ms, row->result.latency_ms);
    } else if (row->result.end == VQ_END_UNKNOWN) {
        sums->unknown++;
    } else if (row->result.end == VQ_END_CANCELLED) {
        sums->cancelled++;
    } else if (row->result.end == VQ_END_BATCHED) {
        sums->in_batches++;
    } else {
        sums->failed[row->result.end]++;
    }
    vq_sum_to(&sums->tokens_in, row->result.tokens_in);
    vq_sum_to(&sums->tokens_cached, row->result.tokens_cached);
    vq_sum_to(&sums->tokens_written, row->result.tokens_written);
    vq_sum_to(&sums->tokens_out, row->result.tokens_out);
    sums->cost_usd += cost_usd;
}

static void add_bill(struct vq_bill *bill, const struct vq_call_row *row)
{
    bool cut = row->result.end == VQ_END_TOO_LONG && row->result.tokens_in > 0;
    struct vq_bill_call call = {.answered = row->result.end == VQ_END_ANSWER || cut,
                                .unreported = row->result.unreported,
                                .tokens_in = row->result.tokens_in,
                                .prompt_chars = row->result.prompt_chars,
                                .cost_nano = row->result.cost_nano,
                                .provider_nano = row->result.provider_nano,
                                .model = row->result.model,
                                .tier = row->result.tier,
                                .no_capacity =
                                    row->result.end == VQ_END_RATE && row->result.tier.bytes > 0};
    vq_bill_add(bill, &call);
}

static bool is_audit(const struct stage *stage, uint64_t task)
{
    struct vq_task_plan cell;
    vq_plan_cell(stage->in.plan, task, &cell);
    return cell.swap == VQ_SWAP_LAZY && cell.audited && task % 2 != cell.first;
}

/* The count of the part to which a sent asking belongs: first of its task and repeat, or retry.
 * `stage` NULL: none. */
static enum vq_status classify(struct stage *stage, const struct vq_call_row *row,
                               struct vq_account_part *part, uint64_t **ret_count)
{
    *ret_count = &part->retried;
    if (row->result.kind == VQ_CALL_REPAIR) {
        *ret_count = &part->repairs;
        return VQ_OK;
    }
    if (stage == NULL || row->result.task >= stage->tasks || row->foreign ||
        !vq_plan_asks(stage->in.plan, row->result.task) ||
        row->result.repeat < stage->in.plan->repeat ||
        row->result.repeat - stage->in.plan->repeat > VQ_GENERATION_MAX) {
        return VQ_OK;
    }
    uint32_t repeat = row->result.repeat - stage->in.plan->repeat;
    uint8_t **bits = &stage->sent[repeat];
    if (*bits == NULL && (*bits = vq_alloc(stage->tasks / 8 + 1, 1)) == NULL) {
        return VQ_NOMEM;
    }
    if (!bit_get(*bits, row->result.task)) {
        (*bits)[row->result.task / 8] |= (uint8_t)(1u << (row->result.task % 8));
        *ret_count = repeat > 0 ? &part->asked_again : &part->first_sends;
    }
    return VQ_OK;
}

static void times(struct vq_account *account, const struct vq_call_row *row)
{
    if (account->first_unix_ms == 0 || row->result.started_unix_ms < account->first_unix_ms) {
        account->first_unix_ms = row->result.started_unix_ms;
    }
    int64_t ended_unix_ms = row->result.started_unix_ms + row->result.latency_ms;
    if (ended_unix_ms > account->last_unix_ms) {
        account->last_unix_ms = ended_unix_ms;
    }
}

/* Answers that cannot be votes, by reason. */
static void count_odd(struct vq_account *account, const struct vq_call_row *row)
{
    struct vq_span word;
    account->empty += row->result.end == VQ_END_ANSWER && row->result.outcome == VQ_OUTCOME_EMPTY;
    if (row->result.end != VQ_END_ANSWER || !vq_ending_explained(row->result.error, &word)) {
        return;
    }
    for (uint32_t i = 0; i < account->endings_count; i++) {
        if (vq_span_eq(word, vq_span_str(account->endings[i].word))) {
            account->endings[i].count++;
            return;
        }
    }
    if (account->endings_count == VQ_ACCOUNT_ENDINGS_MAX || word.bytes > VQ_ENDING_WORD_BYTES_MAX) {
        account->endings_other++;
        return;
    }
    struct vq_account_ending *ending = &account->endings[account->endings_count++];
    (void)snprintf(ending->word, sizeof(ending->word), "%.*s", (int)word.bytes, word.at);
    ending->count = 1;
}

static int by_word(const void *a, const void *b)
{
    const struct vq_account_ending *x = a, *y = b;
    return strcmp(x->word, y->word);
}

enum vq_status vq_accountant_row(struct vq_accountant *a, const struct vq_call_row *row)
{
    struct vq_account *account = a->account;
    struct vq_account_worker *worker;
    VQ_ASSERT(row->result.end < VQ_END__COUNT);
    uint32_t i = stage_of(a, row);
    if (i == UINT32_MAX && (row->result.stage >= VQ_STAGE_BESIDE || is_beside(a))) {
        return VQ_OK;
    }
    struct vq_account_pool *pool;
    VQ_TRY(worker_of(a, row->worker, &worker));
    VQ_TRY(pool_of(a, row->result.pool, &pool));
    struct stage *stage = i == UINT32_MAX ? NULL : &a->stages[i];
    struct vq_account_stage *said = i == UINT32_MAX ? NULL : &account->stages[i];
    struct vq_account_part *part = said == NULL ? &account->all : &said->part;
    bool sent = vq_result_requests(&row->result) != 0;
    double cost_usd = cost_of(stage, row);
    count_odd(account, row);
    if (sent) {
        uint64_t *count;
        VQ_TRY(classify(stage, row, part, &count));
        ++*count;
    }
    part->not_sent += sent ? 0 : 1;
    part->foreign += row->foreign ? 1 : 0;
    add(&part->sums, row, sent, cost_usd);
    add(&worker->sums, row, sent, cost_usd);
    if (pool != NULL) {
        add(&pool->sums, row, sent, cost_usd);
        add_bill(&pool->bill, row);
    }
    if (said != NULL && row->result.judge < said->judges_count) {
        add(&said->judges[row->result.judge], row, sent, cost_usd);
        stage->answered[row->result.judge] +=
            pool == NULL && row->result.end == VQ_END_ANSWER ? 1 : 0;
    }
    times(account, row);
    return VQ_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct vq_account_worker *x = a;
    const struct vq_account_worker *y = b;
    return strcmp(x->name, y->name);
}

/* By name. They are few and large; qsort would allocate memory. */
static void sort_pools(struct vq_account *account)
{
    for (size_t i = 1; i < account->pools_count; i++) {
        struct vq_account_pool pool = account->pools[i];
        size_t at = i;
        for (; at > 0 && strcmp(account->pools[at - 1].name, pool.name) > 0; at--) {
            account->pools[at] = account->pools[at - 1];
        }
        account->pools[at] = pool;
    }
}

static void count_tasks(const struct stage *stage, struct vq_account_part *part)
{
    const uint8_t *outcomes = stage->in.outcomes;
    for (uint64_t task = 0; task < stage->tasks; task++) {
        enum vq_outcome outcome = (enum vq_outcome)outcomes[task];
        bool sent = false;
        if (!vq_plan_asks(stage->in.plan, task)) {
            part->planned--;
            continue;
        }
        if (bit_get(stage->sent[0], task)) {
            uint64_t other = task ^ 1;
            bool saved = vq_outcome_settles((enum vq_outcome)outcomes[other]);
            part->audit += saved && is_audit(stage, task) ? 1 : 0;
            continue;
        }
        for (size_t r = 1; r < VQ_COUNT(stage->sent) && !sent; r++) {
            sent = bit_get(stage->sent[r], task);
        }
        if (outcome == VQ_OUTCOME_NOT_NEEDED && !sent) {
            part->saved_by_lazy_swap++;
        } else if (sent || vq_outcome_is_answered(outcome)) {
            part->from_store++;
        } else {
            part->not_asked++;
        }
    }
}

void vq_account_sums_add(struct vq_account_sums *to, const struct vq_account_sums *s)
{
    to->sent += s->sent;
    to->answered += s->answered;
    for (size_t end = 0; end < VQ_END__COUNT; end++) {
        to->failed[end] += s->failed[end];
    }
    to->unknown += s->unknown;
    to->cancelled += s->cancelled;
    to->in_batches += s->in_batches;
    to->paid_unused += s->paid_unused;
    vq_sum_to(&to->tokens_in, s->tokens_in);
    vq_sum_to(&to->tokens_cached, s->tokens_cached);
    vq_sum_to(&to->tokens_written, s->tokens_written);
    vq_sum_to(&to->tokens_out, s->tokens_out);
    vq_sum_to(&to->latency_ms, s->latency_ms);
    to->cost_usd += s->cost_usd;
}

static void part_add(struct vq_account_part *to, const struct vq_account_part *p)
{
    to->planned += p->planned;
    to->first_sends += p->first_sends;
    to->from_store += p->from_store;
    to->saved_by_lazy_swap += p->saved_by_lazy_swap;
    to->not_asked += p->not_asked;
    to->asked_again += p->asked_again;
    to->retried += p->retried;
    to->repairs += p->repairs;
    to->audit += p->audit;
    to->not_sent += p->not_sent;
    to->foreign += p->foreign;
    vq_account_sums_add(&to->sums, &p->sums);
}

static bool is_priced(const struct stage *stage)
{
    const struct vq_ledger_price *prices = stage->in.prices;
    for (uint32_t j = 0; j < stage->in.plan->grid.judges; j++) {
        bool has = prices != NULL && prices[j].input_usd >= 0 && prices[j].output_usd >= 0;
        if (stage->answered[j] > 0 && !has) {
            return false;
        }
    }
    return true;
}

enum vq_status vq_accountant_finish(struct vq_accountant *a, struct vq_account **ret_account)
{
    struct vq_account *account = a->account;
    account->priced = a->stages_count > 0;
    for (uint32_t i = 0; i < a->stages_count; i++) {
        struct vq_account_stage *said = &account->stages[i];
        count_tasks(&a->stages[i], &said->part);
        part_add(&account->all, &said->part);
        account->priced =
            account->priced && a->stages[i].in.prices != NULL && is_priced(&a->stages[i]);
    }
    qsort(account->endings, account->endings_count, sizeof(*account->endings), by_word);
    if (account->workers_count > 0) {
        qsort(account->workers, account->workers_count, sizeof(*account->workers), by_name);
    }
    sort_pools(account);
    a->account = NULL;
    *ret_account = account;
    return VQ_OK;
}
