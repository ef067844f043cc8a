/* Numbers are parsed strictly: a mistyped limit must not become another one. */
#include "coordinator/run/ctl_pools.h"

#include "coordinator/run/parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define RATE_MAX        1e12
#define CONCURRENCY_MAX 20000.0
#define BUDGET_MAX      1e9

enum { /* of values: NAME first */
    AT_NAME,
    AT_RPM,
    AT_ITPM,
    AT_OTPM,
    AT_TPM,
    AT_CONCURRENCY
};

static const char *const options[] = {
    [AT_RPM] = "--rpm",
    [AT_ITPM] = "--itpm",
    [AT_OTPM] = "--otpm",
    [AT_TPM] = "--tpm",
    [AT_CONCURRENCY] = "--concurrency",
};

static enum vq_status number(const char *what, const char *text, double least, double most,
                             bool whole, double *ret_value, struct vq_error *err)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    bool good = text[0] != '\0' && strspn(text, "0123456789.") == strlen(text) && *end == '\0' &&
                errno == 0 && isfinite(value) && value >= least && value <= most &&
                (!whole || value == floor(value));
    if (!good) {
        return vq_fail(err, VQ_INVALID, "%s must be a %snumber from %g to %g, not '%.40s'", what,
                       whole ? "whole " : "", least, most, text);
    }
    *ret_value = value;
    return VQ_OK;
}

static enum vq_status find(const struct vq_run *run, const char *name, uint32_t *ret_p,
                           struct vq_error *err)
{
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX / 2);
    for (uint32_t p = 0; p < uses->count; p++) {
        if (strcmp(uses->uses[p].name, name) == 0) {
            *ret_p = p;
            vq_buf_free(&list);
            return VQ_OK;
        }
        vq_buf_printf(&list, "%s%s", p == 0 ? "" : ", ", uses->uses[p].name);
    }
    enum vq_status status =
        vq_fail(err, VQ_DENIED, "there is no pool '%.60s'; this run has %s", name,
                uses->count == 0       ? "none"
                : list.status == VQ_OK ? list.at
                                       : "those that vibeq status shows");
    vq_buf_free(&list);
    return status;
}

static enum vq_status ready(const struct vq_run *run, struct vq_error *err)
{
    return run->limits.authority == NULL || run->stop.finished || run->stop.stopped
               ? vq_fail(err, VQ_DENIED, "the run is ending")
               : VQ_OK;
}

/* ---- pool NAME --rpm N ... ---- */

enum vq_status vq_ctl_check_pool(const char *const *values, struct vq_error *err)
{
    bool any = false;
    for (int i = AT_RPM; i <= AT_CONCURRENCY; i++) {
        double value;
        if (values[i] != NULL) {
            bool calls = i == AT_CONCURRENCY;
            VQ_TRY(number(options[i], values[i], 1, calls ? CONCURRENCY_MAX : RATE_MAX, calls,
                          &value, err));
            any = true;
        }
    }
    return any ? VQ_OK
               : vq_fail(err, VQ_INVALID,
                         "give a limit: --rpm, --itpm, --otpm, --tpm or --concurrency");
}

enum vq_status vq_ctl_do_pool(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err)
{
    uint32_t p = 0;
    VQ_TRY(ready(run, err));
    VQ_TRY(find(run, values[AT_NAME], &p, err));
    static const enum vq_rate rates_at[] = {[AT_RPM] = VQ_RATE_REQUESTS,
                                            [AT_ITPM] = VQ_RATE_INPUT,
                                            [AT_OTPM] = VQ_RATE_OUTPUT,
                                            [AT_TPM] = VQ_RATE_TOKENS};
    struct vq_rates rates = {0}; /* the others stay unchanged: the limit in force may be learned */
    bool paced = false;
    vq_buf_printf(said, "%s:", vq_authority_pool_name(run->limits.authority, p));
    for (int i = AT_RPM; i <= AT_CONCURRENCY; i++) {
        double value;
        if (values[i] == NULL) {
            continue;
        }
        VQ_TRY(number(options[i], values[i], 1, RATE_MAX, false, &value, err));
        vq_buf_printf(said, " %s %.12g", options[i] + 2, value);
        if (i == AT_CONCURRENCY) {
            vq_authority_set_concurrency(run->limits.authority, p, (uint32_t)value, vq_run_now());
        } else {
            rates.of[rates_at[i]] = value;
            paced = true;
        }
    }
    if (paced) {
        vq_authority_set_rates(run->limits.authority, p, &rates, vq_run_now());
    }
    return VQ_OK;
}

/* ---- park, unpark ---- */

static enum vq_status park(struct vq_run *run, const char *name, bool parked, struct vq_buf *said,
                           struct vq_error *err)
{
    uint32_t p = 0;
    VQ_TRY(ready(run, err));
    VQ_TRY(find(run, name, &p, err));
    vq_authority_park(run->limits.authority, p, parked, vq_run_now());
    vq_buf_printf(said,
                  parked ? "%s gets no more calls; calls in flight end and count"
                         : "%s gets calls again",
                  name);
    return VQ_OK;
}

enum vq_status vq_ctl_do_park(struct vq_run *run, const char *const *values, struct vq_buf *said,
                              struct vq_error *err)
{
    return park(run, values[0], true, said, err);
}

enum vq_status vq_ctl_do_unpark(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err)
{
    return park(run, values[0], false, said, err);
}

/* ---- budget, concurrency ---- */

enum vq_status vq_ctl_check_budget(const char *const *values, struct vq_error *err)
{
    double value;
    return number("the budget in dollars", values[0], 0.000001, BUDGET_MAX, false, &value, err);
}

enum vq_status vq_ctl_do_budget(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err)
{
    double usd;
    VQ_TRY(ready(run, err));
    VQ_TRY(number("the budget in dollars", values[0], 0.000001, BUDGET_MAX, false, &usd, err));
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    for (uint32_t p = 0; p < uses->count; p++) {
        if (uses->uses[p].base_url != NULL && uses->uses[p].limits.price_input_usd < 0) {
            return vq_fail(
                err, VQ_DENIED,
                "a budget needs prices, and pool %s has none; stop the run and resume it "
                "with prices and --set budget.usd=%s",
                uses->uses[p].name, values[0]);
        }
    }
    vq_authority_set_budget(run->limits.authority, (uint64_t)(usd * VQ_NANO_PER_USD), vq_run_now());
    struct vq_authority_money money;
    vq_authority_money(run->limits.authority, &money);
    vq_buf_printf(said,
                  "the run may cost %.6g dollars; so far it cost %.6g, and calls in flight "
                  "may cost %.6g",
                  usd, (double)money.spent_nano / VQ_NANO_PER_USD,
                  (double)money.out_nano / VQ_NANO_PER_USD);
    return VQ_OK;
}

enum vq_status vq_ctl_check_concurrency(const char *const *values, struct vq_error *err)
{
    double value;
    return number("the calls in flight", values[0], 1, CONCURRENCY_MAX, true, &value, err);
}

enum vq_status vq_ctl_do_concurrency(struct vq_run *run, const char *const *values,
                                     struct vq_buf *said, struct vq_error *err)
{
    double value;
    uint32_t p = 0;
    VQ_TRY(ready(run, err));
    VQ_TRY(number("the calls in flight", values[0], 1, CONCURRENCY_MAX, true, &value, err));
    bool all = values[1] == NULL;
    if (!all) {
        VQ_TRY(find(run, values[1], &p, err));
    }
    uint32_t last = all ? vq_authority_pools(run->limits.authority) : p + 1;
    for (; p < last; p++) {
        vq_authority_set_concurrency(run->limits.authority, p, (uint32_t)value, vq_run_now());
    }
    vq_buf_printf(said, "%s may have %g calls in flight", all ? "each pool" : values[1], value);
    return VQ_OK;
}
