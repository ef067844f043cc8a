/* Compares accounting.json with sums that are computed again, from the ledger and the states of the
 * tasks. */
#include "methods/verify/parts.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/ledger.h"
#include "methods/files/results.h"
#include "methods/grid/role_models.h"
#include "methods/grid/stage_grid.h"
#include "proto/messages.h"

#include <jansson.h>
#include <math.h>

#define ACCOUNT_BYTES_MAX (64u << 20)
#define SAME_DOLLARS      1e-8 /* share of the sum: nine digits are written */

/* The plan of a stage's account: prices of its models; everything else is borrowed from the
 * walk. */
static enum vq_status account_again(struct vq_verifying *v, struct vq_account **ret_account)
{
    uint32_t n = v->replay.stages_count;
    struct vq_account_plan *plans = vq_alloc(n, sizeof(*plans));
    struct vq_ledger_price *prices = vq_alloc((size_t)n * VQ_JUDGES_MAX, sizeof(*prices));
    struct vq_view *view = NULL;
    enum vq_status status = plans == NULL || prices == NULL
                                ? vq_fail(v->err, VQ_NOMEM, "out of memory")
                                : vq_view_begin(v->in->calls, &view, v->err);
    for (uint32_t i = 0; status == VQ_OK && i < n; i++) {
        const struct vq_role_models *cast = v->replay.stages[i]->cast;
        struct vq_ledger_price *of = &prices[(size_t)i * VQ_JUDGES_MAX];
        for (uint32_t k = 0; k < cast->count; k++) {
            of[k] = (struct vq_ledger_price){cast->conf[k].limits.price_input_usd,
                                             cast->conf[k].limits.price_output_usd};
        }
        plans[i] = (struct vq_account_plan){&v->replay.stages[i]->plan, v->outcomes[i], of};
    }
    if (status == VQ_OK) {
        status = vq_ledger_account(view, v->uid, plans, n, ret_account, v->err);
    }
    vq_view_end(&view);
    vq_free(plans);
    vq_free(prices);
    return status;
}

static void compare(struct vq_verifying *v, const char *file, const json_t *said, const char *key,
                    uint64_t again)
{
    const json_t *value = json_object_get(said, key);
    if (!json_is_integer(value) || (uint64_t)json_integer_value(value) != again) {
        vq_verify_report(v, "accounting: %s has %s %lld, the ledger gives %llu", file, key,
                         (long long)json_integer_value(value), (unsigned long long)again);
    }
}

static void compare_part(struct vq_verifying *v, const char *file, const json_t *said,
                         const struct vq_account_part *p)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"planned", p->planned},
        {"first_sends", p->first_sends},
        {"from_store", p->from_store},
        {"saved_by_lazy_swap", p->saved_by_lazy_swap},
        {"not_asked", p->not_asked},
        {"retried", p->retried},
        {"repairs", p->repairs},
        {"asked_again", p->asked_again},
        {"audit", p->audit},
        {"not_sent", p->not_sent},
        {"foreign", p->foreign},
        {"sent", p->sums.sent},
        {"answered", p->sums.answered},
        {"unknown", p->sums.unknown},
        {"paid_unused", p->sums.paid_unused},
        {"tokens_in", p->sums.tokens_in},
        {"tokens_cached", p->sums.tokens_cached},
        {"tokens_out", p->sums.tokens_out},
    };
    for (size_t i = 0; i < VQ_COUNT(counts); i++) {
        compare(v, file, said, counts[i].key, counts[i].value);
    }
    if (json_object_get(said, "tokens_written") !=
        NULL) { /* a file of an earlier release does not have it */
        compare(v, file, said, "tokens_written", p->sums.tokens_written);
    }
    if (json_object_get(said, "cancelled") != NULL) {
        compare(v, file, said, "cancelled", p->sums.cancelled);
    }
    const json_t *failed = json_object_get(said, "failed");
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        if (end != VQ_END_ANSWER && end != VQ_END_UNKNOWN && end != VQ_END_CANCELLED) {
            compare(v, file, failed, vq_call_end_word((enum vq_call_end)end), p->sums.failed[end]);
        }
    }
    if (p->planned != p->first_sends + p->from_store + p->saved_by_lazy_swap + p->not_asked ||
        p->sums.sent != p->first_sends + p->asked_again + p->retried + p->repairs) {
        vq_verify_report(v, "accounting: the sums over tasks and calls of %s are not equal", file);
    }
}

static void compare_cost(struct vq_verifying *v, const char *file, const json_t *cost, double again)
{
    if (json_is_number(cost) &&
        fabs(json_number_value(cost) - again) > SAME_DOLLARS * fmax(1e-9, again)) {
        vq_verify_report(v, "accounting: %s has %.9g dollars, the ledger gives %.9g", file,
                         json_number_value(cost), again);
    }
}

/* NULL: the file is missing, or is not JSON. */
static json_t *load(const struct vq_verifying *v, const char *file, enum vq_status *ret_status)
{
    struct vq_buf text;
    struct vq_error why = {0};
    vq_buf_init(&text, ACCOUNT_BYTES_MAX);
    *ret_status = vq_run_dir_read(v->in->dir, file, &text, &why);
    json_t *root = *ret_status == VQ_OK ? json_loadb(text.at, text.bytes, 0, NULL) : NULL;
    vq_buf_free(&text);
    return root;
}

static bool has_all(const json_t *calls, const struct vq_account_sums *sums)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"sent", sums->sent},
                  {"answered", sums->answered},
                  {"tokens_in", sums->tokens_in},
                  {"tokens_out", sums->tokens_out}};
    for (size_t i = 0; i < VQ_COUNT(counts); i++) {
        const json_t *value = json_object_get(calls, counts[i].key);
        if (!json_is_integer(value) || (uint64_t)json_integer_value(value) != counts[i].value) {
            return false;
        }
    }
    return true;
}

/* Whether the ledger has more calls than the run's own file because a replay bought them. The
 * replay's own file counts the whole ledger. */
static bool replay_bought(const struct vq_verifying *v, const json_t *calls,
                          const struct vq_account_sums *sums)
{
    enum vq_status status;
    json_t *replay = load(v, VQ_RESULT_REPLAY "/" VQ_RESULT_ACCOUNT, &status);
    bool bought = !has_all(calls, sums) && has_all(json_object_get(replay, "calls"), sums);
    json_decref(replay);
    return bought;
}

enum vq_status vq_verify_account(struct vq_verifying *v, const char *file)
{
    enum vq_status status;
    json_t *root = load(v, file, &status);
    const json_t *calls = json_object_get(root, "calls");
    if (!json_is_object(calls)) {
        vq_verify_report(v, "accounting: %s is %s; vibeq resume %s writes it again", file,
                         status == VQ_NOT_FOUND ? "missing" : "damaged",
                         vq_run_dir_name(v->in->dir));
        json_decref(root);
        return VQ_OK;
    }
    struct vq_account *account = NULL;
    if (v->out->store.damaged == 0) { /* damaged rows cannot be summed */
        status = account_again(v, &account);
        if (status == VQ_OK && replay_bought(v, calls, &account->all.sums)) {
            vq_verify_note(
                v,
                "%s is older than vibeq replay --buy, whose calls are in " VQ_RESULT_REPLAY
                "/" VQ_RESULT_ACCOUNT "; vibeq resume %s adds them",
                file, vq_run_dir_name(v->in->dir));
        } else if (status == VQ_OK) {
            compare_part(v, file, calls, &account->all);
            compare_cost(v, file, json_object_get(root, "cost_usd"), account->all.sums.cost_usd);
        }
    }
    vq_account_destroy(&account);
    json_decref(root);
    return status;
}
