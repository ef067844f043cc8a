/* The one authority over the pools of a run: it splits each pool's limits into slices for the
 * workers that hold the pool's keys, and moves them to where the demand is. It lives as long as the
 * coordinator's process, over all stages.
 *
 * What always holds, for each pool and each rate, at every moment (I4, rule 7):
 *     sum of the rates in force * window + (slices + 1) * unit + jitter * rate limit
 *         <= limit * window
 * and for concurrency: sum of the slices in force, or of the calls in flight where they are more,
 * <= limit. `slices` is the most that were in force together at any moment of the last window: a
 * worker whose slice began before a window and ended within it had its unit in that window too.
 * `unit` is the largest one that a worker said. Limits are a minute's; over a window of another
 * length they count by its part: in W they are limit * W / 60 s.
 *
 * What workers do, for this to bound every window of their sends by the limit:
 * - GCRA without tolerance as a debt: a request adds its cost to it, it falls by rate * time, the
 *   next one starts at 0 or below; a rate that changes changes how fast it falls, not what is owed.
 *   A rate that begins (the pool was not in force, or had no such rate) owes one unit at least. A
 *   rate of 0 in a slice with a concurrency means: not limited.
 * - A slice ends with the worker's term, for good: a later renewal does not bring it back, and a
 *   GRANT that is read when the term is over counts for nothing (the next one comes: granted_n did
 *   not rise). Slices of an earlier epoch are not renewed by this one.
 * - `unit` covers what waits too, so that it is known before the first of its size starts;
 *   `pause_ms` is what refusals asked this worker itself, not what came with a GRANT.
 *
 * A slice of a lowered or withdrawn rate stays in force until its worker said that it goes by the
 * later GRANT, or has gone: its process ended, or a whole term was silent. When the end of its
 * process is known, its rate comes back at once (what it sent went out at that rate); its
 * concurrency only after the term: the provider may still be at work on what it sent. Spent is
 * spent: nothing of a slice is carried into another.
 *
 * Where 1.5 units are more than a window holds, one worker has the pool and starts one request a
 * window: it is within the limit unless it exceeds it alone, and then the state's text says so.
 *
 * Which limit counts: the lower one of what the configuration says (times the share) and of what
 * the provider's headers say (times the share); below that, or where neither says anything, what
 * refusals taught (learned). Dollars and quotas of a day are purses (purse.h).
 *
 * Few hold much: the number of slices of a pool is limited, so that what is held back stays small
 * (VQ_AUTHORITY_HELD_BACK); they go to workers that want, and stay where they are unless another
 * worker has more use for them.
 *
 * Pure: (state, event, now) -> grants. Not its job: who gets which task (lease.c), the wire, locks
 * and the ledger (the shell). */
#pragma once

#include "proto/pool.h"

#define VQ_AUTHORITY_POOLS_MAX   256u /* VQ_WIRE_POOLS_MAX */
#define VQ_AUTHORITY_WORKERS_MAX 4096u
#define VQ_AUTHORITY_HELD_BACK                                                                     \
    0.02 /* of a limit: slices are so few that (slices + 1) units are not more, but at least one */
#define VQ_AUTHORITY_TEXT_BYTES 256u

struct vq_authority;

struct vq_authority_pool {
    const char *name;  /* copied */
    const char *model; /* copied: as its provider calls it; NULL: may be any. For same_account */
    /* pools of one account have keys in common by intent; NULL: one of its own */
    const void *account;
    double share; /* of what headers say, for this run; 0: all of it */
    /* The share is taken off already. 0: unknown; of the concurrency: it finds its level. */
    struct vq_limit limit;
    uint64_t day_requests; /* 0: no quota */
    uint64_t day_tokens;
    uint64_t day_requests_spent, day_tokens_spent; /* by the ledger */
    int64_t day_ends_ns;                           /* monotonic; when both begin again */
    uint32_t window_ms; /* over which the provider looks at rates; 0: 60,000 */
    bool priced; /* with the next two; else a call may cost anything up to VQ_CLAIM_NANO_MAX */
    double input_nano, output_nano; /* nano-dollars a token */
    /* another run may have it: no slice before vq_authority_lock says that it is ours */
    bool locked;
};

/* What a worker on another machine may have spent that the ledger does not know, at most. */
struct vq_advance {
    struct vq_id worker;
    uint64_t nano;
};

struct vq_authority_params {
    const struct vq_authority_pool *pools;
    uint32_t pools_count;
    int64_t term_ns;
    /* how late a request may come to its provider; 0: 1 % of the pool's window */
    int64_t jitter_ns;
    uint64_t budget_nano; /* nano-dollars; VQ_AMOUNT_ANY: none */
    uint64_t spent_nano;  /* by the ledger, what is unknown counts */
    /* as they were kept last (vq_authority_advances); count as spent until the worker says itself
     * what it spent */
    const struct vq_advance *advances;
    uint32_t advances_count;
    /* rule 4: slices of workers that an earlier process knew may be in force until then, and all of
     * every limit counts as in force: no worker gets a slice. Workers go on with what they have. Up
     * to a term longer for a worker that was heard within a term and has not reported since (nor
     * confirmed a GRANT of this process): its calls at providers are unknown. It is sent a GRANT,
     * which it answers */
    int64_t wait_until_ns;
};

/* VQ_INVALID, VQ_NOMEM. */
enum vq_status vq_authority_create(const struct vq_authority_params *params, int64_t now_ns,
                                   struct vq_authority **ret_authority,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_authority_destroy(struct vq_authority **authority);

/* ---- reports of workers. A worker is a process (vq_msg_hello.worker) ---- */

/* HELLO. The same worker again goes on with what it has. noted: it has a spool, so that all it ever
 * starts will be known. remote: this machine cannot read that spool, so that what it is granted is
 * an advance. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_authority_join(struct vq_authority *a, const struct vq_id *worker, bool noted,
                                 bool remote, int64_t now_ns) VQ_WARN_UNUSED;
/* CREDIT. Unknown workers and pools are ignored. VQ_NOMEM. */
enum vq_status vq_authority_report(struct vq_authority *a, const struct vq_id *worker,
                                   const struct vq_msg_credit *credit,
                                   int64_t now_ns) VQ_WARN_UNUSED;
/* The worker was heard: its term counts from here. (Its slices end a term after it was heard last,
 * by themselves.) */
void vq_authority_heard(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns);
/* The worker broke a rule: the limits that it reported are dropped. */
void vq_authority_unsay(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns);
enum vq_authority_end {
    VQ_AUTHORITY_LEFT,  /* it said BYE: nothing of it is in flight */
    VQ_AUTHORITY_ENDED, /* its process is known to have ended */
    VQ_AUTHORITY_SILENT /* a whole term of silence */
};
void vq_authority_leave(struct vq_authority *a, const struct vq_id *worker,
                        enum vq_authority_end how, int64_t now_ns);
/* A call record is durable; `pool` is its pool's name. Of every worker, alive or gone. */
void vq_authority_committed(struct vq_authority *a, const struct vq_result *result, int64_t now_ns);
/* What a call that is part of a batch counts as, until its result comes. */
struct vq_authority_bound {
    uint64_t cost_nano, requests, tokens;
};
struct vq_authority_bound vq_authority_bound_of(const struct vq_result *result);
/* The result of such a call is durable, and replaces its bound. */
void vq_authority_corrected(struct vq_authority *a, const struct vq_result *result,
                            const struct vq_authority_bound *bound);
/* What this start asks is never larger: bytes of a request, max_tokens of an answer. The largest of
 * all stages counts. */
void vq_authority_asks(struct vq_authority *a, double request_bytes, double answer_tokens);
/* The most that one call can cost, in nano-dollars. */
uint64_t vq_authority_call_most(const struct vq_authority *a);
/* Whether a worker can say that; if not, *ret_text says what it claims, for the log. earlier: the
 * call was leased by an earlier start. */
bool vq_authority_result_can_be(const struct vq_authority *a, const struct vq_result *result,
                                bool earlier, char *ret_text, size_t bytes);
bool vq_authority_credit_can_be(const struct vq_authority *a, const struct vq_msg_credit *credit,
                                int64_t now_ns, char *ret_text, size_t bytes);
/* Everything that workers which are gone have left is committed. What those without a spool could
 * have spent stays counted. */
void vq_authority_settle_left(struct vq_authority *a);

/* The end: no worker that is here has a call in flight, or will start one. */
void vq_authority_over(struct vq_authority *a, int64_t now_ns);
/* `worker` has reported, and what it said counts all that was in the spool of `before`, a process
 * that has ended. */
void vq_authority_succeeded(struct vq_authority *a, const struct vq_id *before);

/* ---- advances: dollars granted to workers of other machines, which a crash must not forget.
 * Nothing without a budget ---- */

/* more are kept as one without a worker, which is never over */
#define VQ_AUTHORITY_ADVANCES_MAX 65536u

enum vq_advances_due {
    VQ_ADVANCES_KEPT, /* what was listed last covers all */
    VQ_ADVANCES_LESS, /* and something of it is over: when there is time */
    /* a GRANT was made that it does not cover: it must not go out before a list is durable */
    VQ_ADVANCES_MORE
};
enum vq_advances_due vq_authority_advances_due(const struct vq_authority *a);
/* The largest number that may be listed now. */
uint32_t vq_authority_advances_count(const struct vq_authority *a);
/* All of them, of workers that are here and of those that have gone; counts as kept from here on. A
 * worker that is here is listed with half as much again, so that not each GRANT asks for a new
 * list. The number of entries. */
uint32_t vq_authority_advances(struct vq_authority *a, struct vq_advance *advances, uint32_t max);
/* Of `params.advances`, what is not over yet, and of how many workers. */
uint64_t vq_authority_advances_missed(const struct vq_authority *a, uint32_t *ret_workers);

/* ---- what the shell and people say ---- */

/* Parameters that pool p's model refuses, as an earlier process learned: all workers leave them
 * out. */
void vq_authority_params(struct vq_authority *a, uint32_t p, uint32_t params);
/* The lock of pool p: ours, or held by `holder` (a sentence for people). */
void vq_authority_lock(struct vq_authority *a, uint32_t p, bool ours, const char *holder,
                       int64_t now_ns);
void vq_authority_hold(struct vq_authority *a, bool hold,
                       int64_t now_ns); /* ctl pause: nothing is started */
/* What an earlier process left is being read: nothing is started yet, since it may have cost what
 * would be spent again. */
void vq_authority_unread(struct vq_authority *a, bool unread, int64_t now_ns);
void vq_authority_park(struct vq_authority *a, uint32_t p, bool park,
                       int64_t now_ns); /* ctl park */
/* A deadline: nothing is started in pool p for now, which is no incident. */
void vq_authority_rest(struct vq_authority *a, uint32_t p, bool rest, int64_t now_ns);
/* Whether a judge that pool p serves has anything left to ask: without, no worker needs money or a
 * day's quota for it. At first: yes. */
void vq_authority_work(struct vq_authority *a, uint32_t p, bool work);
/* A rate of 0 leaves that one as it is. What refusals taught about any limit of the pool is
 * forgotten: a learned concurrency, or learned tokens, would hold the pool instead. Concurrency 0:
 * it finds its level. */
void vq_authority_set_rates(struct vq_authority *a, uint32_t p, const struct vq_rates *rates,
                            int64_t now_ns);
void vq_authority_set_concurrency(struct vq_authority *a, uint32_t p, uint32_t concurrency,
                                  int64_t now_ns);
void vq_authority_set_budget(struct vq_authority *a, uint64_t budget_nano, int64_t now_ns);
/* The monotonic time of the wall clock's `unix_s` is `mono_ns`: parks name wall time, and move
 * when the clock is set. Days do not: a quota is not renewed because a clock was wrong. Call it at
 * the start and now and then. */
void vq_authority_clock(struct vq_authority *a, int64_t unix_s, int64_t mono_ns);

/* ---- what comes of it ---- */

/* Timers: learning, days, parks, terms. Often enough: see wake. */
void vq_authority_tick(struct vq_authority *a, int64_t now_ns);
int64_t vq_authority_wake_ns(const struct vq_authority *a);
/* Whether a new GRANT for the worker is due. */
bool vq_authority_due(const struct vq_authority *a, const struct vq_id *worker);
/* The GRANT for the worker, with a higher n than its last one; session is left to the caller.
 * `slices` has room for VQ_AUTHORITY_POOLS_MAX. What was lowered stays in force until it is
 * confirmed. */
void vq_authority_grant(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns,
                        struct vq_slice *slices, struct vq_msg_grant *ret_grant);

enum vq_authority_state { /* of a pool */
    VQ_AUTHORITY_OPEN,
    VQ_AUTHORITY_PAUSED, /* a refusal asked to wait */
    VQ_AUTHORITY_PARKED, /* a quota; until `until_ns` */
    VQ_AUTHORITY_HELD,   /* by hand */
    VQ_AUTHORITY_LOCKED, /* another run has it */
    VQ_AUTHORITY_CLOSED, /* keys, money or model, on every worker that has it */
    VQ_AUTHORITY_NOBODY  /* no worker has it */
};

enum vq_limit_source {
    VQ_LIMIT_BY_NOBODY,
    VQ_LIMIT_BY_CONFIG,
    VQ_LIMIT_BY_HEADERS,
    VQ_LIMIT_BY_LEARNING,
    VQ_LIMIT_BY_HAND
};

enum vq_authority_tries { /* what is lowered as a trial now */
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
    int64_t since_ns, until_ns; /* of the state; until 0: not known */
    const char *text;           /* why; borrowed until the next event */
    uint32_t keys_refused;      /* of several: the pool goes on with the others */
    const char *key_text;       /* the last one; borrowed likewise */
    struct vq_limit limit;      /* in force; a rate of 0: none */
    enum vq_limit_source rates_by[VQ_RATE__COUNT], concurrency_by;
    struct vq_limit configured;                   /* or set by hand; 0: none */
    struct vq_authority_why rates_why, level_why; /* of what is learned */
    enum vq_authority_tries tries;
    double noise; /* share of calls that are refused at any rate, as far as it is known */
    bool noisy;   /* refusals come at random: a refused call waits alone */
    bool workless;
    uint32_t workers;            /* with a slice in force */
    uint32_t in_flight, waiting; /* as workers said last */
    uint32_t in_flight_most;     /* lately: this second and the one before */
    bool work_waits;             /* a worker has more to ask here than it may */
    struct vq_rates lately;      /* used, a minute, over the last quarter of a window */
    struct vq_limit dealt;       /* what workers may use now, together; a rate of 0: not limited */
    double refused_part;         /* of the calls of the last window */
    double requests_per_minute, input_per_minute,
        output_per_minute;                                /* used, over the last window or minute */
    uint64_t requests, answered, refused, slowed, failed; /* of all workers, this process */
    uint64_t input_tokens, cached_tokens, output_tokens;  /* likewise; cached ones are input too */
    uint64_t day_requests_spent, day_tokens_spent;
    int64_t day_ends_ns;
    uint64_t cost_nano;      /* committed in this process */
    uint64_t organisation;   /* 0: none reported */
    uint32_t params_refused; /* enum vq_param: by its model; not sent */
};
uint32_t vq_authority_pools(const struct vq_authority *a);
const char *vq_authority_pool_name(const struct vq_authority *a, uint32_t p);
void vq_authority_status(const struct vq_authority *a, uint32_t p, int64_t now_ns,
                         struct vq_authority_pool_status *ret_status);
/* Two pools of different accounts and one model whose workers hold a key in common or that answer
 * for one organisation: each pair once. false: none (more). For a warning. */
bool vq_authority_same_account(struct vq_authority *a, uint32_t *ret_p, uint32_t *ret_q);
/* Fingerprints that workers hold for pool p and the shell does not know yet: the keys to lock.
 * false: none (more). */
bool vq_authority_new_key(struct vq_authority *a, uint32_t *ret_p, uint64_t *ret_fingerprint);

struct vq_authority_money {
    uint64_t budget_nano, spent_nano, out_nano;
    /* the budget allows nothing more, and nothing is out that could change that: stop */
    bool empty;
};
void vq_authority_money(const struct vq_authority *a, struct vq_authority_money *ret_money);

/* Of a judge's pools (a list of indices): the earliest moment at which one may start a call: now or
 * before: now; INT64_MAX: not known. All of them closed or without a worker: false. */
bool vq_authority_when(const struct vq_authority *a, const uint32_t *pools, uint32_t count,
                       int64_t now_ns, int64_t *ret_when_ns);
