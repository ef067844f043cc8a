/* accounting.json: sums of a run's calls from the ledger, stage by stage and in total. */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/crash.h"
#include "common/text/json.h"
#include "coordinator/store/calls/ledger.h"

#include <math.h>
#include <stdio.h>

#define ACCOUNT_BYTES_MAX (64u << 20)

/* Of the input: tokens read from a prompt cache, tokens written to one, and the hit rate. */
static void caches(struct vq_json *j, const struct vq_account_sums *s)
{
    vq_json_put_u64(j, "tokens_cached", s->tokens_cached);
    vq_json_put_u64(j, "tokens_written", s->tokens_written);
    vq_json_put_real(j, "cache_hit_rate",
                     s->tokens_in > 0 ? (double)s->tokens_cached / (double)s->tokens_in : NAN, 6);
}

static void sums(struct vq_json *j, const struct vq_account_sums *s)
{
    vq_json_put_u64(j, "sent", s->sent);
    vq_json_put_u64(j, "answered", s->answered);
    vq_json_put_object(j, "failed");
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        /* these three have separate counts */
        if (end != VQ_END_ANSWER && end != VQ_END_UNKNOWN && end != VQ_END_CANCELLED) {
            vq_json_put_u64(j, vq_call_end_word((enum vq_call_end)end), s->failed[end]);
        }
    }
    vq_json_object_end(j);
    vq_json_put_u64(j, "unknown", s->unknown);
    vq_json_put_u64(j, "cancelled", s->cancelled);
    if (s->in_batches > 0) {
        vq_json_put_u64(j, "in_batches", s->in_batches);
    }
    vq_json_put_u64(j, "paid_unused", s->paid_unused);
    vq_json_put_u64(j, "tokens_in", s->tokens_in);
    caches(j, s);
    vq_json_put_u64(j, "tokens_out", s->tokens_out);
    vq_json_put_u64(j, "latency_ms", s->latency_ms);
}

static void part_counts(struct vq_json *j, const struct vq_account_part *p)
{
    vq_json_put_u64(j, "planned", p->planned);
    vq_json_put_u64(j, "first_sends", p->first_sends);
    vq_json_put_u64(j, "from_store", p->from_store);
    vq_json_put_u64(j, "saved_by_lazy_swap", p->saved_by_lazy_swap);
    vq_json_put_u64(j, "not_asked", p->not_asked);
    vq_json_put_u64(j, "retried", p->retried);
    vq_json_put_u64(j, "repairs", p->repairs);
    vq_json_put_u64(j, "asked_again", p->asked_again);
    vq_json_put_u64(j, "audit", p->audit);
    vq_json_put_u64(j, "not_sent", p->not_sent);
    vq_json_put_u64(j, "foreign", p->foreign);
}

/* Whether each pool that answered has a price in the present configuration. */
static bool pools_priced(const struct vq_run *run, const struct vq_account *a)
{
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    for (size_t i = 0; i < a->pools_count; i++) {
        uint32_t p = vq_conf_uses_find(uses, vq_span_str(a->pools[i].name));
        const struct vq_conf_limits *l = p == UINT32_MAX ? NULL : &uses->uses[p].limits;
        bool has = a->pools[i].sums.answered == 0 ||
                   (l != NULL && l->price_input_usd >= 0 && l->price_output_usd >= 0);
        if (!has) {
            return false;
        }
    }
    return true;
}

static void cost_json(const struct vq_run *run, const struct vq_account *a, double usd,
                      struct vq_json *j)
{
    vq_json_put_real(j, "cost_usd", a->priced && pools_priced(run, a) ? usd : NAN, 9);
}

static void stages_json(const struct vq_run *run, const struct vq_stage_grid *const *askings,
                        const struct vq_account *a, struct vq_json *j)
{
    vq_json_put_array(j, "stages");
    for (uint32_t i = 0; i < a->stages_count; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "name", askings[i]->name);
        part_counts(j, &a->stages[i].part);
        sums(j, &a->stages[i].part.sums);
        cost_json(run, a, a->stages[i].part.sums.cost_usd, j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* By name, over all roles of a model; roles and their models in the order of the configuration. */
static void models_json(const struct vq_run *run, const struct vq_stage_grid *const *askings,
                        const struct vq_account *a, struct vq_json *j)
{
    vq_json_put_object(j, "models");
    const char *said[VQ_ROLE__COUNT * VQ_JUDGES_MAX];
    uint32_t said_count = 0;
    for (int role = 0; role < VQ_ROLE__COUNT; role++) {
        const struct vq_role_models *cast = &run->source.roles[role];
        for (uint32_t m = 0; m < cast->count; m++) {
            const char *name = cast->judges[m].name;
            bool known = false;
            for (uint32_t k = 0; k < said_count; k++) {
                known |= strcmp(said[k], name) == 0;
            }
            if (known) {
                continue;
            }
            said[said_count++] = name;
            struct vq_account_sums total = {.sent = 0};
            for (uint32_t i = 0; i < a->stages_count; i++) {
                for (uint32_t k = 0; k < a->stages[i].judges_count; k++) {
                    if (strcmp(askings[i]->cast->judges[k].name, name) == 0) {
                        vq_account_sums_add(&total, &a->stages[i].judges[k]);
                    }
                }
            }
            vq_json_put_object(j, name);
            sums(j, &total);
            vq_json_object_end(j);
        }
    }
    vq_json_object_end(j);
}

/* The provider's figures next to vibeq's. */
static void bill_json(const struct vq_bill *b, struct vq_json *j)
{
    vq_json_put_u64(j, "usage_missing", b->unreported);
    vq_json_put_u64(j, "prompt_cut", b->cut);
    vq_json_key(j, "provider_cost");
    if (b->charged == 0) {
        vq_json_null(j);
    } else {
        vq_json_object(j);
        vq_json_put_u64(j, "calls", b->charged);
        vq_json_put_real(j, "provider_usd", b->provider_usd, 9);
        vq_json_put_real(j, "own_usd", b->own_usd, 9);
        vq_json_object_end(j);
    }
    vq_json_put_u64(j, "no_capacity", b->no_capacity);
    vq_json_put_object(j, "service_tiers");
    for (uint32_t i = 0; i < b->tiers_count; i++) {
        vq_json_put_u64(j, b->tiers[i].name, b->tiers[i].answers);
    }
    vq_json_object_end(j);
    vq_json_put_object(j, "returned_models");
    for (uint32_t i = 0; i < b->models_count; i++) {
        vq_json_put_u64(j, b->models[i].name, b->models[i].answers);
    }
    vq_json_object_end(j);
}

/* Each pool that was asked; calls without a pool are from before there were pools. */
static void pools_json(const struct vq_account *a, struct vq_json *j)
{
    vq_json_put_object(j, "pools");
    for (size_t i = 0; i < a->pools_count; i++) {
        const struct vq_account_sums *s = &a->pools[i].sums;
        vq_json_put_object(j, a->pools[i].name);
        vq_json_put_u64(j, "calls", s->sent);
        vq_json_put_u64(j, "answered", s->answered);
        vq_json_put_u64(j, "refused", s->failed[VQ_END_RATE]);
        vq_json_put_u64(j, "unknown", s->unknown);
        vq_json_put_u64(j, "tokens_in", s->tokens_in);
        caches(j, s);
        vq_json_put_u64(j, "tokens_out", s->tokens_out);
        vq_json_put_real(j, "cost_usd", s->cost_usd, 9);
        bill_json(&a->pools[i].bill, j);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
}

/* Sentences about the bill for people; the table of results shows them. */
static void notes_json(const struct vq_run *run, const struct vq_account *a, struct vq_json *j)
{
    enum vq_context_check check = run->source.config->judging.context_check;
    struct vq_buf text;
    vq_buf_init(&text, VQ_ERROR_BYTES_MAX * 4);
    vq_json_put_array(j, "notes");
    for (size_t i = 0; i < a->pools_count; i++) {
        for (int n = 0; n < VQ_BILL_NOTES; n++) {
            vq_buf_clear(&text);
            if ((n != VQ_BILL_CUT || check != VQ_CONTEXT_OFF) &&
                vq_bill_note(&a->pools[i].bill, (enum vq_bill_note)n, a->pools[i].name,
                             check == VQ_CONTEXT_STRICT, &text)) {
                vq_json_span(j, vq_buf_span(&text));
            }
        }
    }
    vq_json_array_end(j);
    vq_buf_free(&text);
}

static void when(struct vq_json *j, const char *key, int64_t ns)
{
    vq_json_put_known(j, key, ns > 0, vq_clock_unix_ms() + (ns - vq_run_now()) / VQ_NS_PER_MS);
}

/* Answers that are no votes because of their end, or because they have no text. */
static void odd_json(const struct vq_account *a, struct vq_json *j)
{
    vq_json_put_u64(j, "empty_answers", a->empty);
    vq_json_put_object(j, "ending_words");
    for (uint32_t i = 0; i < a->endings_count; i++) {
        vq_json_put_u64(j, a->endings[i].word, a->endings[i].count);
    }
    vq_json_object_end(j);
    vq_json_put_u64(j, "ending_words_other", a->endings_other);
}

/* The incidents of pools in this process. */
static void incidents_json(const struct vq_run *run, struct vq_json *j)
{
    uint32_t n = 0;
    uint64_t forgotten = 0;
    const struct vq_incident *list = run->limits.incidents == NULL
                                         ? NULL
                                         : vq_incidents_all(run->limits.incidents, &n, &forgotten);
    vq_json_put_array(j, "incidents");
    for (uint32_t i = 0; i < n; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "pool", run->source.pools->uses.uses[list[i].pool].name);
        vq_json_put_str(j, "what", vq_incident_word(&list[i]));
        vq_json_put_str(j, "text", list[i].text);
        when(j, "since_unix_ms", list[i].since_ns);
        when(j, "over_unix_ms", list[i].over_ns);
        if (list[i].over_ns > 0) {
            vq_json_put_u64(j, "refused", list[i].refused);
            vq_json_put_u64(j, "failed", list[i].failed);
        }
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_put_u64(j, "incidents_forgotten", forgotten);
}

static void account_json(const struct vq_run *run, const struct vq_stage_grid *const *askings,
                         const struct vq_account *a, uint64_t still_out, struct vq_json *j)
{
    vq_json_object(j);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_str(j, "run", vq_run_dir_name(run->dir));
    vq_json_put_object(j, "calls");
    part_counts(j, &a->all);
    vq_json_put_u64(j, "still_out", still_out);
    sums(j, &a->all.sums);
    vq_json_object_end(j);
    cost_json(run, a, a->all.sums.cost_usd, j);
    stages_json(run, askings, a, j);
    models_json(run, askings, a, j);
    pools_json(a, j);
    notes_json(run, a, j);
    odd_json(a, j);
    incidents_json(run, j);
    vq_json_put_object(j, "workers");
    for (size_t i = 0; i < a->workers_count; i++) {
        vq_json_put_object(j, a->workers[i].name);
        sums(j, &a->workers[i].sums);
        vq_json_object_end(j);
    }
    vq_json_object_end(j);
    vq_json_put_i64(j, "first_call_unix_ms", a->first_unix_ms);
    vq_json_put_i64(j, "last_call_unix_ms", a->last_unix_ms);
    vq_json_close(j);
}

/* The finished stages and the present one, as the ledger is read for them. */
struct books {
    const struct vq_stage_grid **askings;
    struct vq_account_plan *plans;
    uint8_t *outcomes; /* of the present stage */
    struct vq_ledger_price *prices;
    uint32_t count;
};

static enum vq_status books_fill(const struct vq_run *run, struct books *b)
{
    const struct vq_past_stage *last =
        run->stages.past_count > 0 ? &run->stages.past[run->stages.past_count - 1] : NULL;
    bool present = last == NULL || last->asking != run->stages.asking;
    uint32_t n = run->stages.past_count + (present ? 1 : 0);
    b->askings = vq_alloc(n, sizeof(*b->askings));
    b->plans = vq_alloc(n, sizeof(*b->plans));
    b->prices = vq_alloc((size_t)n * VQ_JUDGES_MAX, sizeof(*b->prices));
    uint64_t tasks = vq_grid_tasks(&run->stages.asking->plan.grid);
    b->outcomes = vq_alloc(tasks, 1);
    if (b->askings == NULL || b->plans == NULL || b->prices == NULL || b->outcomes == NULL) {
        return VQ_NOMEM;
    }
    for (uint64_t t = 0; present && t < tasks; t++) {
        b->outcomes[t] = (uint8_t)vq_coord_outcome(run->coord, t);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_stage_grid *a =
            i < run->stages.past_count ? run->stages.past[i].asking : run->stages.asking;
        struct vq_ledger_price *prices = &b->prices[(size_t)i * VQ_JUDGES_MAX];
        for (uint32_t k = 0; k < a->cast->count; k++) {
            prices[k] = (struct vq_ledger_price){a->cast->conf[k].limits.price_input_usd,
                                                 a->cast->conf[k].limits.price_output_usd};
        }
        b->askings[i] = a;
        b->plans[i] = (struct vq_account_plan){
            &a->plan, i < run->stages.past_count ? run->stages.past[i].outcomes : b->outcomes,
            prices};
    }
    b->count = n;
    return VQ_OK;
}

static void books_free(struct books *b)
{
    vq_free(b->askings);
    vq_free(b->plans);
    vq_free(b->prices);
    vq_free(b->outcomes);
}

static enum vq_status account(struct vq_run *run, struct books *b, struct vq_account **ret_account,
                              struct vq_error *err)
{
    struct vq_view *view = NULL;
    VQ_TRY(books_fill(run, b));
    VQ_TRY(vq_view_begin(run->calls, &view, err));
    enum vq_status status =
        vq_ledger_account(view, &run->owner.uid, b->plans, b->count, ret_account, err);
    vq_view_end(&view);
    return status;
}

static enum vq_status write_account(struct vq_run *run, const struct books *b,
                                    const struct vq_account *a, struct vq_error *err)
{
    struct vq_coord_status now;
    vq_coord_status_fill(run->coord, vq_run_now(), &now);
    struct vq_buf out;
    struct vq_json json;
    char path[VQ_RUN_PATH_BYTES_MAX];
    const char *folder = run->options->folder;
    (void)snprintf(path, sizeof(path), "%s%saccounting.json", folder == NULL ? "" : folder,
                   folder == NULL ? "" : "/");
    vq_buf_init(&out, ACCOUNT_BYTES_MAX);
    vq_json_init(&json, &out, 2);
    account_json(run, b->askings, a, now.calls_reserved - now.held_back, &json);
    VQ_CRASH_POINT(accounting_before);
    return vq_run_dir_write_buf(run->dir, path, &out, true, err);
}

enum vq_status vq_finish_accounting(struct vq_run *run, struct vq_error *err)
{
    struct books b = {.count = 0};
    struct vq_account *a = NULL;
    enum vq_status status = account(run, &b, &a, err);
    if (status == VQ_OK) {
        status = write_account(run, &b, a, err);
        vq_account_destroy(&a);
    }
    books_free(&b);
    return status;
}
