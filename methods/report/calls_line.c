/* Calls, tokens and cost of a run, as the last lines of a table on the terminal. Not its job:
 * counting (the run counts, in accounting.json). */
#include "common/text/fmt.h"
#include "methods/report/report.h"

void vq_report_calls_line(const struct vq_report_calls *c, struct vq_buf *out)
{
    if (c == NULL) {
        return;
    }
    char sent[VQ_FMT_BYTES], store[VQ_FMT_BYTES], in[VQ_FMT_BYTES], got[VQ_FMT_BYTES];
    char cost[VQ_FMT_BYTES];
    vq_buf_printf(out, "Calls    %s sent, %s answered from the store", vq_fmt_count(c->sent, sent),
                  vq_fmt_count(c->from_store, store));
    if (c->failed > 0) {
        vq_buf_printf(out, ", %s failed call%s (retries included)", vq_fmt_count(c->failed, sent),
                      vq_fmt_plural(c->failed));
    }
    vq_buf_printf(out, "; %s token%s in, %s out; %s\n", vq_fmt_count(c->tokens_in, in),
                  vq_fmt_plural(c->tokens_in), vq_fmt_count(c->tokens_out, got),
                  c->priced ? vq_fmt_dollars(c->cost_usd, cost) : "no prices set");
    vq_buf_puts(out, c->notes);
}
