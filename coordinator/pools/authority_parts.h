/* The shared state of the authority, and the steps between its files. Private to authority*.c. */
#pragma once

#include "common/base/index.h"
#include "coordinator/pools/authority.h"
#include "coordinator/pools/purse.h"

#include <math.h>

#define VQ_AUTH_S         INT64_C(1000000000)
#define VQ_AUTH_MS        INT64_C(1000000)
#define VQ_AUTH_WINDOW_MS 60000u
#define VQ_AUTH_TICK_NS   (100 * VQ_AUTH_MS)
/* while a pool changes, it is dealt again at this interval ... */
#define VQ_AUTH_DEAL_NS (200 * VQ_AUTH_MS)
#define VQ_AUTH_DEAL_SOON_NS                                                                       \
    (5 * VQ_AUTH_MS)              /* ... if something is free again for which workers wait */
#define VQ_AUTH_IDLE_NS VQ_AUTH_S /* a holder without demand for this time loses its slice */
#define VQ_AUTH_STUCK_NS                                                                           \
    (3 * VQ_AUTH_S) /* ... and one that starts nothing, whatever it reports, if others wait */
#define VQ_AUTH_KEEN                                                                               \
    2u /* a worker that could take work reports 1 as waiting, though it may have none */
/* an unconfirmed GRANT is sent again after this time */
#define VQ_AUTH_UNANSWERED_NS (500 * VQ_AUTH_MS)
#define VQ_AUTH_BUCKETS       60u  /* parts of the last window, for use */
#define VQ_AUTH_KEYS_MAX      256u /* fingerprints of one pool that are compared */
#define VQ_AUTH_SAME          0.04 /* two ceilings with at most this difference are the same */
/* ... with a ceiling that is refused again and again */
#define VQ_AUTH_PATIENCE_NS (400 * VQ_AUTH_S)
#define VQ_AUTH_LONE_MOST   8u /* lone groups of refusals that are remembered */
#define VQ_AUTH_NOBODY      UINT32_MAX

/* One worker at one pool. Its slices are limits: a concurrency of 0 with rates of 0 is no slice; a
 * rate of INFINITY is not limited. */
struct vq_auth_seat {
    bool known;  /* reported */
    bool holder; /* chosen to have a slice */
    bool listed; /* in the pool's list of holders: chosen, or a slice of it is in force */
    uint8_t state;
    uint32_t member; /* its index in the pool's list of members */
    uint32_t in_flight, waiting, cap, pause_ms;
    uint32_t left; /* calls of a process that has ended, which may still be at the provider */
    uint64_t requests, answered, refused, slowed, timed, failed;
    uint64_t input_tokens, cached_tokens, output_tokens;
    struct vq_rates said, unit;
    int64_t park_unix_s;
    uint64_t keys_mix, organisation;
    uint64_t keys_had;
    double weight;        /* weight of its part; follows its demand */
    int64_t used_ns;      /* when it last had a call here, or was chosen */
    int64_t paused_ns;    /* end of the pause that the worker knows of */
    int64_t asked_ns;     /* end of the pause that its own refusals asked for */
    struct vq_limit next; /* for its next GRANT; already counts as in force */
    /* by the last GRANT; the most of all GRANTs that it may use */
    struct vq_limit granted, held;
    /* the GRANT that sent this slice; if it is confirmed, both slices are equal */
    uint64_t granted_at_n;
    bool granted_noisy; /* by the last GRANT */
    bool day_joined;
};

enum vq_auth_worker_state {
    VQ_AUTH_HERE,
    VQ_AUTH_OVER /* its process has ended; its calls may still be at the provider */
};

struct vq_auth_worker {
    struct vq_index_node node;
    struct vq_id id;
    uint32_t slot;
    enum vq_auth_worker_state state;
    int64_t heard_ns;
    bool noted; /* it has a spool */
    bool remote;
    uint64_t kept_nano; /* remote: its advance in the last list */
    bool lapsed;        /* no message for a term: it has no slice until its next message */
    int64_t over_ns;    /* VQ_AUTH_OVER: until this time */
    uint64_t granted_n, confirmed_n;
    int64_t granted_ns, said_ns; /* said_ns: its last report */
    bool due, urgent;            /* urgent: due although its last GRANT is not confirmed */
    bool spend_joined;
    uint32_t holds;             /* number of pools for which it is chosen */
    uint32_t open;              /* number of pools in which it could work */
    struct vq_auth_seat *seats; /* of every pool; NULL before its first report */
};

struct vq_auth_bucket {
    double requests, refused, input, output, answered;
    double timed; /* of the refused: the provider stated a wait */
    double peak;  /* the most calls in flight; not used in sums */
};

struct vq_auth_level { /* a concurrency that finds its level */
    double level;
    bool fast;            /* slow start: it doubles */
    uint64_t round_ended; /* number of answers when the round began */
    int64_t round_ns;
    uint32_t round_peak;       /* the most in flight in this round */
    double refused_at;         /* the level that was refused last; 0: none */
    double cut_at;             /* the level at the last refusal */
    double tried;              /* refused_at when the last trial began */
    uint32_t patience, waited; /* clean rounds to wait before that level is tried again */
    int64_t cut_ns;
};

struct vq_auth_doubt {         /* authority_doubt.c */
    double noise;              /* share of calls that are refused at any rate; 0: unknown */
    int64_t noise_ns, fell_ns; /* since when; time of the last check */
    bool again;                /* it must be tried again */
    /* since when noise does not explain the refusals of the last window; 0: it does */
    int64_t since_ns;
    /* groups of refusals that accepted calls followed soon, less twice the other groups */
    uint32_t lone;
    bool open; /* such a group is in progress: */
    int64_t first_ns;
    double in_flight, answered, refused, accepted;
    /* accepted in the window at the last group of refusals that looked like a full window; 0:
     * none */
    double full;
    int64_t full_ns;
    bool full_twice; /* full windows at the same count, not evaluated yet */
    bool crowded;    /* now far more calls are refused than noise and chance explain */
};

enum vq_auth_tries {
    VQ_AUTH_TRIES_NOTHING,
    VQ_AUTH_TRIES_LEVEL,
    VQ_AUTH_TRIES_RATES
};

struct vq_auth_trial { /* authority_trial.c */
    enum vq_auth_tries kind;
    int64_t from_ns; /* refusals count from then on */
    bool measures;
    struct vq_auth_bucket before, seen;
    double before_peak;
    struct vq_auth_level level; /* for undoing the trial */
    struct vq_rates learned;
    double ceiling;
    bool lifts; /* VQ_AUTH_TRIES_LEVEL: the learned rates are lifted during the trial */
    /* When a ceiling was found, and the time after which the level is suspected instead. */
    int64_t ceiling_ns, patience_ns;
    bool level_cleared, rates_cleared; /* in this doubt, lowering it did not help */
    int64_t cleared_ns;
    /* calls in flight when the level was cleared; a much higher level may still be the cause */
    double cleared_at;
};

struct vq_auth_why { /* of a learned limit, for people */
    int64_t at_ns;
    double refused;    /* in the window before */
    double per_minute; /* accepted */
};

/* ---- the parts of a pool: each belongs to the file in its comment ---- */

struct vq_auth_named { /* the limits that the configuration or a person set */
    double share;
    struct vq_limit limit;
    bool by_hand[VQ_RATE__COUNT], concurrency_by_hand;
};

struct vq_auth_lock {
    char *holder; /* the run that has the lock, for people; NULL */
    bool locked, ours;
};

struct vq_auth_park {
    bool by_hand;
    bool rests;                 /* for a deadline */
    int64_t pause_ns, until_ns; /* the ends of the pause and of the park */
    int64_t until_unix_s;       /* end of the park as reported; 0: no park */
};

/* authority_report.c, authority_word.c: limits that workers reported from their provider. */
struct vq_auth_word {
    struct vq_rates said;
    uint32_t cap;
    struct vq_rates unit;                        /* the largest of this window and the last one */
    struct vq_rates unit_now;                    /* the largest of this window */
    struct vq_rates unit_gone, unit_gone_before; /* of workers that left in these windows */
    /* Until then the reports of a worker that has left count; 0: there are none. */
    int64_t until_ns;
    uint32_t params_refused; /* enum vq_param: refused by its model */
};

struct vq_auth_price { /* nano-dollars per token */
    bool known;
    double input_nano, output_nano;
};

struct vq_auth_day {
    int64_t ends_ns;
    struct vq_purse *requests, *tokens; /* NULL: no quota */
};

struct vq_auth_members { /* workers that reported the pool open */
    uint32_t *list;      /* slots */
    size_t cap;
    uint32_t count;
    uint32_t known, keyed; /* known: workers that reported it; keyed: those with a key */
    /* hungry: members with waiting calls; keen: with more than one, see VQ_AUTH_KEEN. */
    uint32_t hungry, keen;
    uint64_t in_flight, waiting;
};

struct vq_auth_holders { /* authority_split.c: workers with a slice */
    uint32_t *list;      /* slots */
    size_t cap;
    uint32_t count;
    uint32_t peak, peak_before; /* slices in force together, in this window and the one before */
    int64_t peak_ns;
    bool past_unknown; /* others had the pool before: another run, or an earlier process */
    int64_t moved_ns;
};

struct vq_auth_force {     /* authority_split.c: the limits in force */
    struct vq_limit limit; /* a rate of INFINITY: no limit */
    enum vq_limit_source rates_by[VQ_RATE__COUNT], concurrency_by;
    bool fell;   /* a limit fell, and more slices are in force than it allows */
    bool single; /* one request per window */
    bool too_large;
};

struct vq_auth_dealing {
    bool due;
    int64_t at_ns, last_ns;
};

struct vq_auth_used { /* authority_doubt.c: over the last window */
    struct vq_auth_bucket buckets[VQ_AUTH_BUCKETS], sum;
    uint32_t bucket;
    int64_t bucket_ns, began_ns;
};

struct vq_auth_finding { /* authority_level.c */
    struct vq_auth_level level;
    struct vq_auth_bucket round;
    double calm_refused, calm_ended; /* below the level that was refused */
    struct vq_auth_why why;
};

struct vq_auth_learning { /* authority_learn.c */
    struct vq_rates rates, ramp, ramp_from;
    /* requests per window, sent; above it calls were refused when that was last seen; 0: none */
    double ceiling;
    bool counted;              /* the noise below the ceiling was counted since the last cut */
    int64_t clean_ns, over_ns; /* since the last cut; since it is above the ceiling */
    int64_t down_ns;           /* since when a learned rate of requests is in force */
    int64_t grown_ns, slowed_ns, ramp_ns;
    struct vq_auth_why why;
};

struct vq_auth_totals { /* of all workers, in this process */
    uint64_t requests, answered, refused, slowed, failed, cost_nano, ended;
    uint64_t input_tokens, cached_tokens, output_tokens;
};

struct vq_auth_keyset { /* authority_status.c */
    uint64_t *list;     /* fingerprints */
    size_t cap;
    uint32_t count, reported;
    char *closed_why, *why; /* by the last report; why: of one refused key among several */
    uint32_t refused;
    /* bit k: list[k] was refused; in a seat's keys_had: it is good there */
    uint64_t lost;
    uint64_t organisation;
};

struct vq_auth_shown { /* authority_status.c: the state for people */
    enum vq_authority_state is;
    int64_t since_ns, until_ns;
    char *text;
};

/* One pool. A function that needs only one part takes only that part. */
struct vq_auth_pool {
    char *name, *model;
    uint32_t index;
    const void *account; /* compared, never read */
    int64_t window_ns, jitter_ns;
    bool workless; /* no tasks are left for it */

    struct vq_auth_named named;
    struct vq_auth_lock lock;
    struct vq_auth_park park;
    struct vq_auth_word word;
    struct vq_auth_price price;
    struct vq_auth_day day;
    struct vq_auth_members members;
    struct vq_auth_holders holders;
    struct vq_auth_force force;
    struct vq_auth_dealing deal;
    struct vq_auth_used used;
    struct vq_auth_finding find;
    struct vq_auth_doubt doubt;
    struct vq_auth_trial trial;
    struct vq_auth_learning learn;
    struct vq_auth_totals totals;
    struct vq_auth_keyset keys;
    struct vq_auth_shown state;
};

/* The possible spending of a worker that is not connected, beyond its reports. */
struct vq_auth_owed {
    struct vq_advance advance;
    /* of an earlier process, and without a message since; otherwise the worker was lost ... */
    bool earlier;
    /* ... with a spool: the debt ends when the results of all lost workers are settled */
    bool noted;
};

struct vq_authority {
    struct vq_auth_pool *pools;
    uint32_t pools_count;
    int64_t term_ns, wait_until_ns, now_ns, tick_ns, wake_ns;
    int64_t wait_ns; /* as set at the start; wait_until_ns may become later (wait_ends) */
    /* calls of processes that ended before they reported may be at providers until then */
    int64_t unreported_ns;
    /* wait_ns is over: workers that had not reported the rest of their earlier slices got a
     * GRANT */
    bool asked;
    bool waited; /* wait_until_ns is over */
    bool hold, unread;
    double input_most, output_most; /* tokens of one call */
    struct vq_purse *spend;
    struct vq_auth_worker *workers[VQ_AUTHORITY_WORKERS_MAX];
    uint32_t slots;    /* slots in use are below */
    uint32_t able;     /* number of workers that could work in any pool */
    uint32_t workable; /* number of pools with members */
    struct vq_index ids;
    int64_t clock_unix_s, clock_ns;
    bool clocked;
    bool accounts_changed;
    uint8_t *pairs_told; /* bits */
    struct vq_auth_owed *owed;
    size_t owed_cap;
    uint32_t owed_count;
    enum vq_advances_due advances;
};

/* limit per minute -> limit per window */
static inline double vq_auth_windows(const struct vq_auth_pool *p)
{
    return (double)p->window_ns / (60.0 * (double)VQ_AUTH_S);
}

/* Sums of reports of many workers. */
static inline uint32_t vq_auth_u32(uint64_t sum)
{
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* authority.c */
struct vq_auth_worker *vq_auth_find(const struct vq_authority *a, const struct vq_id *id);
/* Deals the pool again, at when_ns or as soon after it as the interval allows. */
void vq_auth_touch(struct vq_authority *a, struct vq_auth_pool *p, int64_t when_ns);

/* authority_split.c: the slices */
void vq_auth_limits(struct vq_auth_pool *p);
/* Whether any call may start at all (locks, parks, holds, the wait after a start). */
bool vq_auth_startable(const struct vq_authority *a, const struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_deal(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);
/* Ends all slices of the worker; `flights`: its calls in flight still count. */
void vq_auth_void(struct vq_authority *a, struct vq_auth_worker *w, bool flights, int64_t now_ns);
/* Adds the worker to the pool's members (it may have a slice), or removes it. The lists have room
 * since its first report. */
void vq_auth_member(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w,
                    bool member);
/* Adds it to the pool's list of holders, if something of it is in force. */
void vq_auth_list(struct vq_auth_pool *p, struct vq_auth_worker *w);
/* Removes it from all lists of the pool. */
void vq_auth_forget(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w);
bool vq_auth_differs(const struct vq_limit *a, const struct vq_limit *b);

/* authority_word.c: the limits that `w` reported count for `kept_ns` more */
#define VQ_AUTH_WORD_NS (60 * VQ_AUTH_S)
void vq_auth_word_left(struct vq_authority *a, struct vq_auth_worker *w, int64_t kept_ns,
                       int64_t now_ns);
void vq_auth_word_tick(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);

/* authority_doubt.c: use of the last window, and refusals that noise explains */
void vq_auth_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns);
void vq_auth_used_turn(struct vq_auth_pool *p, int64_t now_ns);
/* The refusals of the last window do not count for learning any more. */
void vq_auth_used_forgive(struct vq_auth_pool *p);

/* Use in the last quarter of a window. */
struct vq_auth_bucket vq_auth_used_lately(const struct vq_auth_used *used);
/* The most calls in flight in the last window. */
double vq_auth_peak(const struct vq_auth_used *used);
/* Requests of the last window that started and were not refused. */
double vq_auth_accepted(const struct vq_auth_used *used);
/* The use of rate r if this number of requests is accepted in a window; the tokens of calls in
 * flight are estimated by those of others. Negative: unknown. */
double vq_auth_accepted_of(const struct vq_auth_used *used, enum vq_rate r, double requests);
/* More calls are refused than noise explains. */
bool vq_auth_unexplained(const struct vq_auth_pool *p, double refused, double answered);
/* ... and a larger share than over the last window. */
bool vq_auth_unusual(const struct vq_auth_pool *p, double refused, double answered);
/* Most refusals of this window state a wait, and a known rate is not cleared by a trial. */
bool vq_auth_blames_rate(const struct vq_auth_pool *p);
bool vq_auth_noisy(const struct vq_auth_pool *p);
/* The last window was below the ceiling: its refusals are noise. */
void vq_auth_noise_below(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_noise_is(struct vq_auth_pool *p, double share, int64_t now_ns);
void vq_auth_doubt_tick(struct vq_auth_pool *p, int64_t now_ns);

/* authority_level.c: a concurrency that finds its level */
void vq_auth_level_init(struct vq_auth_pool *p, int64_t now_ns);
/* Neither the configuration nor a person set the concurrency. */
bool vq_auth_level_free(const struct vq_auth_pool *p);
/* Returns true if the level changed. */
bool vq_auth_level_round(struct vq_auth_pool *p, int64_t now_ns);
/* Lowers it to a part of the calls in flight; the share `accepted` of these was not refused. */
void vq_auth_level_cut(struct vq_auth_pool *p, double accepted, int64_t now_ns);
/* Calls that end below the refused level count as noise. */
void vq_auth_level_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns);
/* A refusal at the level that is known as refused: cuts the level. false: another refusal. */
bool vq_auth_level_refused(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_level_is(struct vq_auth_pool *p, const struct vq_auth_level *was, int64_t now_ns);

/* authority_trial.c: trials that lower a limit, and their result */
void vq_auth_trial_step(struct vq_auth_pool *p, int64_t now_ns);
/* Refusals at the known ceiling: cuts the rates. false: the refusals are not there. */
bool vq_auth_rates_refused(struct vq_auth_pool *p, int64_t now_ns);

/* authority_learn.c: limits that are not configured, or configured too high */
/* The configuration sets a limit of a rate. */
bool vq_auth_is_named(const struct vq_auth_named *named);
void vq_auth_learn_init(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_learn_refused(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_learn_slowed(struct vq_auth_pool *p, int64_t now_ns);
/* Returns true if a limit changed. */
bool vq_auth_learn_tick(struct vq_auth_pool *p, int64_t now_ns);
/* A person set a limit: forgets everything that refusals taught, except the known share of
 * noise. */
void vq_auth_learn_forget(struct vq_auth_pool *p, int64_t now_ns);

/* authority_report.c: the monotonic time at which the wall clock shows `unix_s` */
int64_t vq_auth_mono_of(const struct vq_authority *a, int64_t unix_s);

/* authority_advance.c: spending that must survive a crash. Makes room for `more` entries, because
 * each connected worker may leave one. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_auth_owed_room(struct vq_authority *a, size_t more) VQ_WARN_UNUSED;
enum vq_status vq_auth_owed_begin(struct vq_authority *a,
                                  const struct vq_authority_params *params) VQ_WARN_UNUSED;
/* Call it before the worker leaves its purse. */
void vq_auth_owed_leave(struct vq_authority *a, struct vq_auth_worker *w, bool settled);
void vq_auth_owed_settle(struct vq_authority *a);
void vq_auth_granted(struct vq_authority *a, const struct vq_auth_worker *w);

/* authority_status.c */
void vq_auth_state(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);
/* VQ_NOMEM */
enum vq_status vq_auth_keys(struct vq_authority *a, struct vq_auth_keyset *keys,
                            struct vq_auth_seat *seat,
                            const struct vq_pool_report *report) VQ_WARN_UNUSED;
