/* A run's ledger as numbers. Pure: rows in any order give the same sums.
 *
 * A task is what was planned, a call is what was sent. Each sent call is one of: the first asking
 * of a task (one a task), a first asking at a higher repeat (--retry-failed), a repair, or a retry
 * of one of the first two. Each planned task is one of: asked (first_sends), settled by what the
 * store had (from_store), not needed and never sent (saved_by_lazy_swap), or none of these
 * (not_asked). So both sums of the header hold by construction.
 * Invariant: memory is a bit a task and repeat in use, plus the workers.
 * Not its job: which answer stands (lookup.c), the JSON. */
#include "coordinator/store/account.h"

#include "common/base/alloc.h"

#include <stdlib.h>

struct vq_accountant {
    const struct vq_plan *plan;
    const struct vq_price *prices;
    uint64_t tasks;
    uint8_t *sent[VQ_GENERATION_MAX + 1]; /* a bit a task: asked at this repeat; made when needed */
    struct vq_account *account;
    size_t workers_cap;
};

enum vq_status vq_accountant_create(const struct vq_plan *plan, const struct vq_price *prices,
                                    struct vq_accountant **ret_accountant)
{
    struct vq_accountant *a = vq_alloc(1, sizeof(*a));
    if (a == NULL) {
        return VQ_NOMEM;
    }
    a->plan = plan;
    a->prices = prices;
    a->tasks = vq_grid_tasks(&plan->grid);
    a->account = vq_alloc(1, sizeof(*a->account));
    if (a->account != NULL) {
        a->account->planned = a->tasks;
        a->account->judges_count = plan->grid.judges;
        a->account->judges = vq_alloc(plan->grid.judges, sizeof(*a->account->judges));
    }
    if (a->account == NULL || a->account->judges == NULL) {
        vq_accountant_destroy(&a);
        return VQ_NOMEM;
    }
    *ret_accountant = a;
    return VQ_OK;
}

void vq_accountant_destroy(struct vq_accountant **accountant)
{
    if (*accountant == NULL) {
        return;
    }
    for (size_t r = 0; r < VQ_COUNT((*accountant)->sent); r++) {
        vq_free((*accountant)->sent[r]);
    }
    vq_account_destroy(&(*accountant)->account);
    vq_free(*accountant);
    *accountant = NULL;
}

void vq_account_destroy(struct vq_account **account)
{
    if (*account == NULL) {
        return;
    }
    vq_free((*account)->judges);
    vq_free((*account)->workers);
    vq_free(*account);
    *account = NULL;
}

static bool bit_get(const uint8_t *bits, uint64_t i)
{
    return bits != NULL && (bits[i / 8] >> (i % 8) & 1) != 0;
}

/* Ended before anything left this machine. */
static bool was_sent(const struct vq_call_row *row)
{
    switch ((enum vq_call_end)row->end) {
    case VQ_END_NETWORK: return false;
    case VQ_END_TOO_LONG:
    case VQ_END_CLOSED: return row->http_status != 0;
    case VQ_END_ANSWER:
    case VQ_END_RATE:
    case VQ_END_PROVIDER:
    case VQ_END_LOST:
    case VQ_END_BAD_RESPONSE:
    case VQ_END_BAD_REQUEST:
    case VQ_END_UNKNOWN:
    case VQ_END__COUNT: break;
    }
    return true;
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
    void *workers = account->workers;
    VQ_TRY(vq_grow(&workers, &a->workers_cap, account->workers_count + 1, sizeof(*account->workers),
                   VQ_ACCOUNT_WORKERS_MAX));
    account->workers = workers;
    struct vq_account_worker *w = &account->workers[account->workers_count++];
    *w = (struct vq_account_worker){0};
    memcpy(w->name, name.at, bytes);
    *ret_worker = w;
    return VQ_OK;
}

static double cost_of(const struct vq_accountant *a, const struct vq_call_row *row)
{
    if (a->prices == NULL || row->judge >= a->plan->grid.judges) {
        return 0;
    }
    const struct vq_price *price = &a->prices[row->judge];
    double in = price->input_usd > 0 ? price->input_usd : 0;
    double out = price->output_usd > 0 ? price->output_usd : 0;
    return ((double)row->tokens_in * in + (double)row->tokens_out * out) / 1e6;
}

static void add(struct vq_account_sums *sums, const struct vq_call_row *row, bool sent,
                double cost_usd)
{
    sums->sent += sent ? 1 : 0;
    if (row->end == VQ_END_ANSWER) {
        sums->answered++;
        sums->paid_unused += row->used ? 0 : 1;
        sums->latency_ms += row->latency_ms;
    } else if (row->end == VQ_END_UNKNOWN) {
        sums->unknown++;
    } else {
        sums->failed[row->end]++;
    }
    sums->tokens_in += row->tokens_in;
    sums->tokens_cached += row->tokens_cached;
    sums->tokens_out += row->tokens_out;
    sums->cost_usd += cost_usd;
}

static bool is_audit(const struct vq_accountant *a, uint64_t task)
{
    struct vq_task_plan cell;
    vq_plan_cell(a->plan, task, &cell);
    return cell.swap == VQ_SWAP_LAZY && cell.audited && task % 2 != cell.first;
}

/* Says what a sent asking was: the first of its task and repeat, or a retry. */
static enum vq_status classify(struct vq_accountant *a, const struct vq_call_row *row)
{
    struct vq_account *account = a->account;
    if (row->kind == VQ_CALL_REPAIR) {
        account->repairs++;
        return VQ_OK;
    }
    if (row->task >= a->tasks || row->repeat > VQ_GENERATION_MAX || row->foreign) {
        account->retried++;
        return VQ_OK;
    }
    uint8_t **bits = &a->sent[row->repeat];
    if (*bits == NULL && (*bits = vq_alloc(a->tasks / 8 + 1, 1)) == NULL) {
        return VQ_NOMEM;
    }
    if (bit_get(*bits, row->task)) {
        account->retried++;
        return VQ_OK;
    }
    (*bits)[row->task / 8] |= (uint8_t)(1u << (row->task % 8));
    if (row->repeat > 0) {
        account->asked_again++;
    } else {
        account->first_sends++;
    }
    return VQ_OK;
}

enum vq_status vq_accountant_row(struct vq_accountant *a, const struct vq_call_row *row)
{
    struct vq_account *account = a->account;
    struct vq_account_worker *worker;
    VQ_ASSERT(row->end < VQ_END__COUNT);
    VQ_TRY(worker_of(a, row->worker, &worker));
    bool sent = was_sent(row);
    if (sent) {
        VQ_TRY(classify(a, row));
    }
    double cost_usd = cost_of(a, row);
    add(&account->all, row, sent, cost_usd);
    add(&worker->sums, row, sent, cost_usd);
    if (row->judge < account->judges_count) {
        add(&account->judges[row->judge], row, sent, cost_usd);
    }
    account->not_sent += sent ? 0 : 1;
    account->foreign += row->foreign ? 1 : 0;
    if (account->first_unix_ms == 0 || row->started_unix_ms < account->first_unix_ms) {
        account->first_unix_ms = row->started_unix_ms;
    }
    int64_t ended_unix_ms = row->started_unix_ms + row->latency_ms;
    if (ended_unix_ms > account->last_unix_ms) {
        account->last_unix_ms = ended_unix_ms;
    }
    return VQ_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct vq_account_worker *x = a;
    const struct vq_account_worker *y = b;
    return strcmp(x->name, y->name);
}

static void count_tasks(struct vq_accountant *a, const uint8_t *outcomes)
{
    struct vq_account *account = a->account;
    for (uint64_t task = 0; task < a->tasks; task++) {
        enum vq_outcome outcome = (enum vq_outcome)outcomes[task];
        bool sent = false;
        if (bit_get(a->sent[0], task)) {
            uint64_t other = task ^ 1;
            bool saved = vq_outcome_settles((enum vq_outcome)outcomes[other]);
            account->audit += saved && is_audit(a, task) ? 1 : 0;
            continue;
        }
        for (size_t r = 1; r < VQ_COUNT(a->sent) && !sent; r++) {
            sent = bit_get(a->sent[r], task);
        }
        if (outcome == VQ_OUTCOME_NOT_NEEDED && !sent) {
            account->saved_by_lazy_swap++;
        } else if (sent || vq_outcome_is_answered(outcome)) {
            account->from_store++;
        } else {
            account->not_asked++;
        }
    }
}

enum vq_status vq_accountant_finish(struct vq_accountant *a, const uint8_t *outcomes,
                                    struct vq_account **ret_account)
{
    struct vq_account *account = a->account;
    count_tasks(a, outcomes);
    if (account->workers_count > 0) {
        qsort(account->workers, account->workers_count, sizeof(*account->workers), by_name);
    }
    account->priced = a->prices != NULL;
    for (uint32_t j = 0; j < account->judges_count && account->priced; j++) {
        account->priced = account->judges[j].answered == 0 ||
                          (a->prices[j].input_usd >= 0 && a->prices[j].output_usd >= 0);
    }
    a->account = NULL;
    *ret_account = account;
    return VQ_OK;
}
