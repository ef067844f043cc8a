/* A bill is built from sums, so that one odd answer among thousands is reported with both counts.
 * If the highest number of prompt tokens of a pool occurs in many answers to prompts of quite
 * different lengths, this number is the server's context. Not its job: the time and place of the
 * sentences. */
#include "coordinator/store/calls/bill.h"

#include "common/judge/context.h"
#include "common/text/fmt.h"

#include <math.h>
#include <stdio.h>

#define NANO_A_DOLLAR 1e9
/* of the larger one: a smaller difference is rounding, or a price of the day */
#define COST_OFF        0.05
#define SAME_ANSWERS    8u /* with the same prompt tokens ... */
#define SAME_TOKENS_MIN 256u
#define SAME_LONGER     1.5 /* ... the longest prompt is this many times the shortest ... */
#define SAME_CHARS      6u  /* ... and with more characters per token than usual */

static void add_model(struct vq_bill *bill, struct vq_span name)
{
    size_t bytes = name.bytes < VQ_BILL_NAME_BYTES ? name.bytes : VQ_BILL_NAME_BYTES - 1;
    if (bytes == 0) {
        return;
    }
    for (uint32_t i = 0; i < bill->models_count; i++) {
        struct vq_bill_model *m = &bill->models[i];
        if (strlen(m->name) == bytes && memcmp(m->name, name.at, bytes) == 0) {
            m->answers++;
            return;
        }
    }
    if (bill->models_count == VQ_BILL_MODELS_MAX) {
        bill->models_other++;
        return;
    }
    struct vq_bill_model *m = &bill->models[bill->models_count++];
    memcpy(m->name, name.at, bytes);
    m->name[bytes] = '\0';
    m->answers = 1;
}

/* Further tiers are not counted: no provider has more than this. */
static void add_tier(struct vq_bill *bill, struct vq_span name)
{
    uint32_t i = 0;
    while (i < bill->tiers_count && !vq_span_eq(name, vq_span_str(bill->tiers[i].name))) {
        i++;
    }
    if (name.bytes == 0 || name.bytes >= VQ_BILL_TIER_BYTES || i == VQ_BILL_TIERS_MAX) {
        return;
    }
    if (i == bill->tiers_count) {
        bill->tiers_count++;
        memcpy(bill->tiers[i].name, name.at, name.bytes);
    }
    bill->tiers[i].answers++;
}

static void add_length(struct vq_bill *bill, uint64_t tokens, uint64_t chars)
{
    if (tokens == 0 || tokens < bill->most_tokens) {
        return;
    }
    if (tokens > bill->most_tokens) {
        bill->most_tokens = tokens;
        bill->most_answers = 0;
        bill->most_chars_least = chars;
        bill->most_chars_most = chars;
    }
    bill->most_answers++;
    bill->most_chars_least = chars < bill->most_chars_least ? chars : bill->most_chars_least;
    bill->most_chars_most = chars > bill->most_chars_most ? chars : bill->most_chars_most;
}

void vq_bill_add(struct vq_bill *bill, const struct vq_bill_call *call)
{
    if (call->provider_nano > 0) {
        bill->charged++;
        bill->provider_usd += (double)call->provider_nano / NANO_A_DOLLAR;
        bill->own_usd += (double)call->cost_nano / NANO_A_DOLLAR;
    }
    bill->no_capacity += call->no_capacity ? 1 : 0;
    if (!call->answered) {
        return;
    }
    add_tier(bill, call->tier);
    bill->answers++;
    bill->unreported += call->unreported ? 1 : 0;
    if (vq_context_is_cut(call->prompt_chars, call->tokens_in)) {
        bill->cut++;
        bill->cut_tokens += call->tokens_in;
        bill->cut_chars += call->prompt_chars;
    }
    add_length(bill, call->tokens_in, call->prompt_chars);
    add_model(bill, call->model);
}

/* ---- sentences ---- */

static bool usage_note(const struct vq_bill *b, const char *name, struct vq_buf *out)
{
    char some[VQ_FMT_BYTES], all[VQ_FMT_BYTES];
    if (b->unreported == 0) {
        return false;
    }
    vq_buf_printf(
        out,
        "%s: the provider reports no usage (%s of %s answer%s). vibeq charges what it had "
        "reserved for these calls, an upper bound.",
        name, vq_fmt_count(b->unreported, some), vq_fmt_count(b->answers, all),
        vq_fmt_plural(b->answers));
    return true;
}

/* Prompts of different lengths with the same number of tokens. */
static bool is_at_its_context(const struct vq_bill *b)
{
    return b->most_answers >= SAME_ANSWERS && b->most_tokens >= SAME_TOKENS_MIN &&
           (double)b->most_chars_most >= SAME_LONGER * (double)b->most_chars_least &&
           b->most_chars_most > SAME_CHARS * b->most_tokens;
}

static bool cut_note(const struct vq_bill *b, const char *name, bool strict, struct vq_buf *out)
{
    char some[VQ_FMT_BYTES], all[VQ_FMT_BYTES], tokens[VQ_FMT_BYTES], chars[VQ_FMT_BYTES];
    if (b->cut > 0) {
        vq_buf_printf(out,
                      "%s: the server read about %s of the prompt; its context is too short (%s of "
                      "%s answers; on average %s tokens of %s characters). ",
                      name, vq_context_share(b->cut_chars, b->cut_tokens),
                      vq_fmt_count(b->cut, some), vq_fmt_count(b->answers, all),
                      vq_fmt_count(b->cut_tokens / b->cut, tokens),
                      vq_fmt_count(b->cut_chars / b->cut, chars));
    } else if (is_at_its_context(b)) {
        vq_buf_printf(out,
                      "%s: the server cuts long prompts; its context is too short (%s answers have "
                      "%s prompt tokens each, for prompts of %s to %s characters). ",
                      name, vq_fmt_count(b->most_answers, some),
                      vq_fmt_count(b->most_tokens, tokens), vq_fmt_count(b->most_chars_least, all),
                      vq_fmt_count(b->most_chars_most, chars));
    } else {
        return false;
    }
    vq_buf_printf(out, "Raise the context length of the server%s.",
                  strict ? "; these answers count as missing (judging.context_check: strict)"
                         : ", or set judging.context_check: strict to count such answers as "
                           "missing");
    return true;
}

static const char *dollars(double usd, char text[VQ_FMT_BYTES])
{
    if (usd >= 0.01) {
        return vq_fmt_dollars(usd, text);
    }
    (void)snprintf(text, VQ_FMT_BYTES, "$%.3g", usd);
    return text;
}

static bool cost_note(const struct vq_bill *b, const char *name, struct vq_buf *out)
{
    char calls[VQ_FMT_BYTES], theirs[VQ_FMT_BYTES], ours[VQ_FMT_BYTES];
    double larger = fmax(b->provider_usd, b->own_usd);
    if (b->charged == 0 || fabs(b->provider_usd - b->own_usd) <= COST_OFF * larger) {
        return false;
    }
    vq_buf_printf(out, "%s: the provider charges %s for %s call%s; ", name,
                  dollars(b->provider_usd, theirs), vq_fmt_count(b->charged, calls),
                  vq_fmt_plural(b->charged));
    if (b->own_usd > 0) {
        vq_buf_printf(out,
                      "by its prices vibeq makes it %s. Compare price_input_usd, price_cached_usd "
                      "and price_output_usd with the provider's price list.",
                      dollars(b->own_usd, ours));
    } else {
        vq_buf_puts(out, "vibeq has no prices for it. Set price_input_usd and price_output_usd.");
    }
    return true;
}

/* The most frequent first, independent of the order of arrival. */
static bool comes_before(const struct vq_bill_model *a, const struct vq_bill_model *b)
{
    return a->answers != b->answers ? a->answers > b->answers : strcmp(a->name, b->name) < 0;
}

static bool models_note(const struct vq_bill *b, const char *name, struct vq_buf *out)
{
    char count[VQ_FMT_BYTES];
    const struct vq_bill_model *order[VQ_BILL_MODELS_MAX];
    if (b->models_count < 2) {
        return false;
    }
    for (uint32_t i = 0; i < b->models_count; i++) {
        uint32_t at = i;
        for (; at > 0 && comes_before(&b->models[i], order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = &b->models[i];
    }
    vq_buf_printf(out, "%s: the provider answered with %u%s different models: ", name,
                  b->models_count, b->models_other > 0 ? " or more" : "");
    for (uint32_t i = 0; i < b->models_count; i++) {
        vq_buf_printf(out, "%s%s (%s)", i == 0 ? "" : ", ", order[i]->name,
                      vq_fmt_count(order[i]->answers, count));
    }
    if (b->models_other > 0) {
        vq_buf_printf(out, ", others (%s)", vq_fmt_count(b->models_other, count));
    }
    vq_buf_puts(out, ". Name an exact version of the model if the provider has one.");
    return true;
}

bool vq_bill_note(const struct vq_bill *bill, enum vq_bill_note note, const char *name, bool strict,
                  struct vq_buf *out)
{
    switch (note) {
    case VQ_BILL_USAGE: return usage_note(bill, name, out);
    case VQ_BILL_CUT: return cut_note(bill, name, strict, out);
    case VQ_BILL_COST: return cost_note(bill, name, out);
    case VQ_BILL_MODELS: return models_note(bill, name, out);
    case VQ_BILL_NOTES: break;
    }
    return false;
}
