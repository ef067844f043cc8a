/* The one authority over the pools of a run: it splits each pool's limits into slices for the
 * workers that hold the pool's keys, and moves slices to the demand. It lives as long as the
 * coordinator's process, over all stages.
 *
 * What always holds, for each pool and each rate, at every moment (I4, rule 7):
 *     sum of the rates in force * window + (slices + 1) * unit + jitter * rate limit
 *         <= limit * window
 * and for the concurrency: sum of the slices in force, or of the calls in flight if they are more,
 * <= limit. `slices` is the highest number that were in force together at any moment of the last
 * window: a worker whose slice began before a window and ended within it had its unit in that
 * window, too. `unit` is the largest one that a worker reported. Limits are per minute; a window W
 * holds limit * W / 60 s.
 *
 * Rules for workers, so that this bounds every window of their sends by the limit:
 * - GCRA without tolerance, as a debt: a request adds its cost to the debt, which falls by
 *   rate * time, and the next request starts at 0 or below. If the rate changes, the debt falls at
 *   another speed but stays. If a rate begins (the pool was not in force, or had no such rate), the
 *   debt is at least one unit. A rate of 0 in a slice with a concurrency means: not limited.
 * - A slice ends with the worker's term, for good: a later renewal does not restore it, and a GRANT
 *   that is read after the term does not count (the next one comes, as granted_n did not rise).
 *   This epoch does not renew slices of an earlier one.
 * - `unit` covers waiting requests, too, so that it is known before the first of its size starts.
 *   `pause_ms` is the pause that this worker's own refusals asked for, not the one of a GRANT.
 *
 * A slice of a lowered or withdrawn rate stays in force until its worker confirms the later GRANT,
 * or is lost: its process ended, or it sent nothing for a whole term. If the process is known to
 * have ended, its rate is free at once (its calls went out at that rate). Its concurrency is free
 * only after the term, because the provider may still work on its calls. Spent amounts stay spent:
 * no rest of a slice is carried into another one.
 *
 * If 1.5 units are more than a window holds, one worker has the pool and starts one request per
 * window. This is within the limit unless a single request exceeds it; then the state's text says
 * so.
 *
 * The limit in force is the lower one of the configured limit (times the share) and the limit in
 * the provider's headers (times the share). The limit learned from refusals applies below it, or if
 * there is neither. Dollars and daily quotas are purses (purse.h).
 *
 * The number of slices of a pool is limited, so that the amount held back stays small
 * (VQ_AUTHORITY_HELD_BACK). Slices go to workers with demand, and stay there unless another worker
 * has more use for them.
 *
 * Pure: (state, event, now) -> grants. Not its job: the choice of a worker for a task (lease.c),
 * the wire, locks and the ledger (the shell). */
#pragma once

#include "proto/pool.h"

#define VQ_AUTHORITY_POOLS_MAX   256u /* VQ_WIRE_POOLS_MAX */
#define VQ_AUTHORITY_WORKERS_MAX 4096u
#define VQ_AUTHORITY_HELD_BACK                                                                     \
    0.02 /* share of a limit: (slices + 1) units are at most this, or there is one slice */
#define VQ_AUTHORITY_TEXT_BYTES 256u

struct vq_authority;

struct vq_authority_pool {
    const char *name;  /* copied */
    const char *model; /* copied: the provider's name of it; NULL: unknown. For same_account */
    /* pools of one account share keys by intent; NULL: an account of its own */
    const void *account;
    double share; /* the run's share of limits in headers; 0: all */
    /* The share is already applied. 0: unknown; a concurrency of 0 finds its level. */
    struct vq_limit limit;
    uint64_t day_requests; /* 0: no quota */
    uint64_t day_tokens;
    uint64_t day_requests_spent, day_tokens_spent; /* from the ledger */
    int64_t day_ends_ns;                           /* monotonic; both quotas begin again then */
    uint32_t window_ms; /* over which the provider measures rates; 0: 60,000 */
    /* prices are known (the next two); otherwise a call may cost up to VQ_CLAIM_NANO_MAX */
    bool priced;
    double input_nano, output_nano; /* nano-dollars per token */
    /* another run may have the pool: no slice before vq_authority_lock reports that it is ours */
    bool locked;
};

/* The most that a worker on another machine may have spent beyond the ledger. */
struct vq_advance {
    struct vq_id worker;
    uint64_t nano;
};

struct vq_authority_params {
    const struct vq_authority_pool *pools;
    uint32_t pools_count;
    int64_t term_ns;
    /* the largest delay between a send and its arrival at the provider; 0: 1 % of the pool's
     * window */
    int64_t jitter_ns;
    uint64_t budget_nano; /* nano-dollars; VQ_AMOUNT_ANY: none */
    uint64_t spent_nano;  /* from the ledger; unknown costs count */
    /* as stored last (vq_authority_advances); they count as spent until the worker reports its
     * spending */
    const struct vq_advance *advances;
    uint32_t advances_count;
    /* rule 4: until then slices of workers of an earlier process may be in force, so every limit
     * counts as fully used and no worker gets a slice. Workers continue with the slices that they
     * have. The wait is up to a term longer for a worker that sent a message within a term and has
     * not reported since (nor confirmed a GRANT of this process), because its calls at providers
     * are unknown. It gets a GRANT, which it answers */
    int64_t wait_until_ns;
};

/* VQ_INVALID, VQ_NOMEM. */
enum vq_status vq_authority_create(const struct vq_authority_params *params, int64_t now_ns,
                                   struct vq_authority **ret_authority,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_authority_destroy(struct vq_authority **authority);

/* ---- reports of workers. A worker is a process (vq_msg_hello.worker) ---- */

/* HELLO. A known worker continues with its slices. noted: it has a spool, so every call that it
 * ever starts will be known. remote: this machine cannot read that spool, so its grants are
 * advances. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_authority_join(struct vq_authority *a, const struct vq_id *worker, bool noted,
                                 bool remote, int64_t now_ns) VQ_WARN_UNUSED;
/* CREDIT. Unknown workers and pools are ignored. VQ_NOMEM. */
enum vq_status vq_authority_report(struct vq_authority *a, const struct vq_id *worker,
                                   const struct vq_msg_credit *credit,
                                   int64_t now_ns) VQ_WARN_UNUSED;
/* The worker sent a message: its term counts from now. (Its slices end by themselves one term after
 * its last message.) */
void vq_authority_heard(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns);
/* The worker broke a rule: the limits that it reported are dropped. */
void vq_authority_drop_report(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns);
enum vq_authority_end {
    VQ_AUTHORITY_LEFT,  /* it sent BYE: nothing of it is in flight */
    VQ_AUTHORITY_ENDED, /* its process is known to have ended */
    VQ_AUTHORITY_SILENT /* it sent nothing for a whole term */
};
void vq_authority_leave(struct vq_authority *a, const struct vq_id *worker,
                        enum vq_authority_end how, int64_t now_ns);
/* A call record is durable; `pool` is its pool's name. For every worker, connected or lost. */
void vq_authority_committed(struct vq_authority *a, const struct vq_result *result, int64_t now_ns);
/* The amount that a call of a batch counts until its result comes. */
struct vq_authority_bound {
    uint64_t cost_nano, requests, tokens;
};
struct vq_authority_bound vq_authority_bound_of(const struct vq_result *result);
/* The result of such a call is durable, and replaces its bound. */
void vq_authority_corrected(struct vq_authority *a, const struct vq_result *result,
                            const struct vq_authority_bound *bound);
/* The largest call of this start: bytes of a request, max_tokens of an answer. The maximum over all
 * stages counts. */
void vq_authority_asks(struct vq_authority *a, double request_bytes, double answer_tokens);
/* The most that one call can cost, in nano-dollars. */
uint64_t vq_authority_call_most(const struct vq_authority *a);
/* Whether a worker's message is within its bounds; if not, *ret_text names the excess, for the log.
 * earlier: the call was leased by an earlier start. */
bool vq_authority_result_can_be(const struct vq_authority *a, const struct vq_result *result,
                                bool earlier, char *ret_text, size_t bytes);
bool vq_authority_credit_can_be(const struct vq_authority *a, const struct vq_msg_credit *credit,
                                int64_t now_ns, char *ret_text, size_t bytes);
/* All results of lost workers are committed. The possible spending of those without a spool stays
 * counted. */
void vq_authority_settle_left(struct vq_authority *a);

/* The end: no connected worker has a call in flight, or will start one. */
void vq_authority_over(struct vq_authority *a, int64_t now_ns);
/* A worker that reported counts all calls in the spool of `before`, a process that has ended, as
 * its own. */
void vq_authority_succeeded(struct vq_authority *a, const struct vq_id *before);

/* ---- advances: dollars granted to workers on other machines, which must survive a crash. Without
 * a budget there are none ---- */

/* more are stored as one entry without a worker, which never ends */
#define VQ_AUTHORITY_ADVANCES_MAX 65536u

enum vq_advances_due {
    VQ_ADVANCES_KEPT, /* the last list covers all */
    VQ_ADVANCES_LESS, /* it does, and some of it is over: write a new list when there is time */
    /* it does not cover a new GRANT: the GRANT must wait until a new list is durable */
    VQ_ADVANCES_MORE
};
enum vq_advances_due vq_authority_advances_due(const struct vq_authority *a);
/* The maximum number of entries now. */
uint32_t vq_authority_advances_count(const struct vq_authority *a);
/* Lists all advances, of connected and of lost workers; from now on they count as stored. A
 * connected worker is listed with 1.5 times its amount, so that not every GRANT needs a new list.
 * Returns the number of entries. */
uint32_t vq_authority_advances(struct vq_authority *a, struct vq_advance *advances, uint32_t max);
/* The sum of those of `params.advances` that are not over yet, and their number of workers. */
uint64_t vq_authority_advances_missed(const struct vq_authority *a, uint32_t *ret_workers);

/* ---- input from the shell and from people ---- */

/* Parameters that the model of pool p refuses, as an earlier process learned: all workers leave
 * them out. */
void vq_authority_params(struct vq_authority *a, uint32_t p, uint32_t params);
/* The lock of pool p: ours, or held by `holder` (a sentence for people). */
void vq_authority_lock(struct vq_authority *a, uint32_t p, bool ours, const char *holder,
                       int64_t now_ns);
void vq_authority_hold(struct vq_authority *a, bool hold,
                       int64_t now_ns); /* ctl pause: no call starts */
/* The spools of an earlier process are being read: no call starts yet, because their spending is
 * not counted yet. */
void vq_authority_unread(struct vq_authority *a, bool unread, int64_t now_ns);
void vq_authority_park(struct vq_authority *a, uint32_t p, bool park,
                       int64_t now_ns); /* ctl park */
/* A deadline: for now no call starts in pool p, and this is no incident. */
void vq_authority_rest(struct vq_authority *a, uint32_t p, bool rest, int64_t now_ns);
/* Whether a judge that pool p serves has tasks to ask. Without tasks, no worker needs money or
 * daily quota for the pool. Initially true. */
void vq_authority_work(struct vq_authority *a, uint32_t p, bool work);
/* A rate of 0 leaves that rate unchanged. Everything that refusals taught about any limit of the
 * pool is forgotten: otherwise a learned concurrency, or learned tokens, would limit the pool
 * instead. Concurrency 0: it finds its level. */
void vq_authority_set_rates(struct vq_authority *a, uint32_t p, const struct vq_rates *rates,
                            int64_t now_ns);
void vq_authority_set_concurrency(struct vq_authority *a, uint32_t p, uint32_t concurrency,
                                  int64_t now_ns);
void vq_authority_set_budget(struct vq_authority *a, uint64_t budget_nano, int64_t now_ns);
/* At the monotonic time `mono_ns` the wall clock shows `unix_s`. Parks are wall times, so they move
 * if the clock is set. Days do not move: a wrong clock must not renew a quota. Call it at the start
 * and regularly. */
void vq_authority_clock(struct vq_authority *a, int64_t unix_s, int64_t mono_ns);

/* ---- output ---- */

/* Timers: learning, days, parks, terms. See vq_authority_wake_ns for the next time. */
void vq_authority_tick(struct vq_authority *a, int64_t now_ns);
int64_t vq_authority_wake_ns(const struct vq_authority *a);
/* Whether a new GRANT for the worker is due. */
bool vq_authority_due(const struct vq_authority *a, const struct vq_id *worker);
/* The GRANT for the worker, with a higher n than its last one; the caller sets `session`. `slices`
 * has room for VQ_AUTHORITY_POOLS_MAX. Lowered slices stay in force at their old size until the
 * worker confirms the GRANT. */
void vq_authority_grant(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns,
                        struct vq_slice *slices, struct vq_msg_grant *ret_grant);

enum vq_authority_state { /* of a pool */
    VQ_AUTHORITY_OPEN,
    VQ_AUTHORITY_PAUSED, /* a refusal asked to wait */
    VQ_AUTHORITY_PARKED, /* a quota; until `until_ns` */
    VQ_AUTHORITY_HELD,   /* by command */
    VQ_AUTHORITY_LOCKED, /* another run has it */
    VQ_AUTHORITY_CLOSED, /* keys, money or model, on every worker that has the pool */
    VQ_AUTHORITY_NOBODY  /* no worker has it */
};

enum vq_limit_source {
    VQ_LIMIT_BY_NOBODY,
    VQ_LIMIT_BY_CONFIG,
    VQ_LIMIT_BY_HEADERS,
    VQ_LIMIT_BY_LEARNING,
    VQ_LIMIT_BY_HAND
};

enum vq_authority_tries { /* the limit that a trial has lowered now */
    VQ_AUTHORITY_TRIES_NOTHING,
    VQ_AUTHORITY_TRIES_LEVEL,
    VQ_AUTHORITY_TRIES_RATES
};

struct vq_authority_why { /* when a limit was learned; 0: never */
    int64_t at_ns;
    double refused;    /* in the window before */
    double per_minute; /* accepted in it */
};

struct vq_authority_pool_status {
    const char *name;
    enum vq_authority_state state;
    int64_t since_ns, until_ns; /* of the state; until 0: unknown */
    const char *text;           /* the reason; borrowed until the next event */
    uint32_t keys_refused;      /* if it has several: the pool continues with the others */
    const char *key_text;       /* why the last key was refused; borrowed likewise */
    struct vq_limit limit;      /* in force; a rate of 0: none */
    enum vq_limit_source rates_by[VQ_RATE__COUNT], concurrency_by;
    struct vq_limit configured;                   /* or set by command; 0: none */
    struct vq_authority_why rates_why, level_why; /* for learned limits */
    enum vq_authority_tries tries;
    double noise; /* share of calls that are refused at any rate, as far as known */
    bool noisy;   /* refusals come at random: only the refused call waits, not the pool */
    bool workless;
    uint32_t workers;            /* with a slice in force */
    uint32_t in_flight, waiting; /* by the last reports */
    uint32_t in_flight_most;     /* lately: this second and the one before */
    bool work_waits;             /* a worker could start more calls here than its slice allows */
    struct vq_rates lately;      /* used per minute, over the last quarter of a window */
    struct vq_limit dealt;       /* sum of the slices in force now; a rate of 0: not limited */
    double refused_part;         /* share of the calls of the last window */
    double requests_per_minute, input_per_minute,
        output_per_minute;                                /* used, over the last window or minute */
    uint64_t requests, answered, refused, slowed, failed; /* of all workers, this process */
    /* likewise; cached ones are part of the input */
    uint64_t input_tokens, cached_tokens, output_tokens;
    uint64_t day_requests_spent, day_tokens_spent;
    int64_t day_ends_ns;
    uint64_t cost_nano;      /* committed in this process */
    uint64_t organisation;   /* 0: none reported */
    uint32_t params_refused; /* enum vq_param: refused by its model, not sent */
};
uint32_t vq_authority_pools(const struct vq_authority *a);
const char *vq_authority_pool_name(const struct vq_authority *a, uint32_t p);
void vq_authority_status(const struct vq_authority *a, uint32_t p, int64_t now_ns,
                         struct vq_authority_pool_status *ret_status);
/* A pair of pools of different accounts and one model, whose workers share a key or that answer for
 * one organisation. Each pair is returned once, for a warning. false: no (further) pair. */
bool vq_authority_same_account(struct vq_authority *a, uint32_t *ret_p, uint32_t *ret_q);
/* A fingerprint of a key of pool p that a worker holds and the shell does not know yet, so that the
 * shell locks the key. false: no (further) key. */
bool vq_authority_new_key(struct vq_authority *a, uint32_t *ret_p, uint64_t *ret_fingerprint);

struct vq_authority_money {
    uint64_t budget_nano, spent_nano, out_nano;
    /* the budget allows nothing more, and nothing is out that could change that: stop */
    bool empty;
};
void vq_authority_money(const struct vq_authority *a, struct vq_authority_money *ret_money);

/* The earliest time at which one of these pools (indices) can start a call: now_ns or earlier: now;
 * INT64_MAX: unknown. Returns false if all of them are closed or have no worker. */
bool vq_authority_when(const struct vq_authority *a, const uint32_t *pools, uint32_t count,
                       int64_t now_ns, int64_t *ret_when_ns);
