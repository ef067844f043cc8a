/* Reports once per pool, while the run is active, that a provider reports no usage, or that a
 * server does not read whole prompts. So a person can stop the run before more is paid. The
 * sentences at the end of a run come from the ledger (finish.c). */
#include "coordinator/run/parts.h"

#include "common/base/alloc.h"
#include "common/text/log.h"
#include "coordinator/store/calls/bill.h"

#include <string.h>

#define CUT_ANSWERS 3u /* answers before it is reported: one odd count means nothing */

struct vq_pool_bill {
    struct vq_bill bill;
    bool reported[VQ_BILL_NOTES];
};

static void report(struct vq_run *run, struct vq_pool_bill *b, enum vq_bill_note note,
                   const char *name)
{
    enum vq_context_check check = run->source.config->judging.context_check;
    char bytes[VQ_ERROR_BYTES_MAX];
    struct vq_buf text;
    vq_buf_init(&text, sizeof(bytes) - 1);
    if (!b->reported[note] &&
        vq_bill_note(&b->bill, note, name, check == VQ_CONTEXT_STRICT, &text)) {
        b->reported[note] = true;
        if (text.status == VQ_OK) {
            vq_log(VQ_LOG_WARN, "pool.bill", "pool=%s text=%s", name, text.at);
            vq_run_message(run, "%s", text.at);
        }
    }
    vq_buf_free(&text);
}

void vq_bills_see(struct vq_run *run, const struct vq_result *results, size_t count)
{
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    if (run->limits.bills == NULL &&
        (run->limits.bills = vq_alloc(uses->count, sizeof(*run->limits.bills))) == NULL) {
        return; /* nothing depends on it */
    }
    for (size_t i = 0; i < count; i++) {
        const struct vq_result *r = &results[i];
        uint32_t p = vq_conf_uses_find(uses, r->pool);
        if (p == UINT32_MAX) {
            continue;
        }
        struct vq_pool_bill *b = &run->limits.bills[p];
        bool cut = r->end == VQ_END_TOO_LONG && r->tokens_in > 0;
        struct vq_bill_call call = {.answered = r->end == VQ_END_ANSWER || cut,
                                    .unreported = r->unreported,
                                    .tokens_in = r->tokens_in,
                                    .prompt_chars = r->prompt_chars};
        vq_bill_add(&b->bill, &call);
        report(run, b, VQ_BILL_USAGE, uses->uses[p].name);
        if ((b->bill.cut == 0 || b->bill.cut >= CUT_ANSWERS) &&
            run->source.config->judging.context_check != VQ_CONTEXT_OFF) {
            report(run, b, VQ_BILL_CUT, uses->uses[p].name);
        }
    }
}

void vq_bills_free(struct vq_run_limits *limits)
{
    vq_free(limits->bills);
    limits->bills = NULL;
}
