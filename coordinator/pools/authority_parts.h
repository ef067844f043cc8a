/* What the parts of the authority share: its state and the steps between them. Private to
 * authority*.c. */
#pragma once

#include "common/base/index.h"
#include "coordinator/pools/authority.h"
#include "coordinator/pools/purse.h"

#include <math.h>

#define VQ_AUTH_S         INT64_C(1000000000)
#define VQ_AUTH_MS        INT64_C(1000000)
#define VQ_AUTH_WINDOW_MS 60000u
#define VQ_AUTH_TICK_NS   (100 * VQ_AUTH_MS)
/* the interval at which a pool is dealt again while things change */
#define VQ_AUTH_DEAL_NS (200 * VQ_AUTH_MS)
#define VQ_AUTH_DEAL_SOON_NS                                                                       \
    (5 * VQ_AUTH_MS)              /* ... when something came back that others wait for */
#define VQ_AUTH_IDLE_NS VQ_AUTH_S /* a holder that wants nothing for so long gives way */
#define VQ_AUTH_STUCK_NS                                                                           \
    (3 * VQ_AUTH_S) /* ... that starts nothing, whatever it says, once others wait */
#define VQ_AUTH_KEEN                                                                               \
    2u /* a worker that could take work says that 1 waits, though it may have none */
#define VQ_AUTH_UNANSWERED_NS (500 * VQ_AUTH_MS) /* a GRANT that is not confirmed is sent again */
#define VQ_AUTH_BUCKETS       60u                /* of what was used over the last window */
#define VQ_AUTH_KEYS_MAX      256u               /* fingerprints of one pool that are looked at */
#define VQ_AUTH_SAME          0.04               /* two ceilings that differ by no more are one */
#define VQ_AUTH_PATIENCE_NS   (400 * VQ_AUTH_S) /* with a ceiling that is refused again and again */
#define VQ_AUTH_LONE_MOST     8u                /* lone groups of refusals that are remembered */
#define VQ_AUTH_NOBODY        UINT32_MAX

/* One worker at one pool. Its slices are limits: a concurrency of 0 is nothing, with rates of 0; a
 * rate of INFINITY is not limited. */
struct vq_auth_seat {
    bool known;  /* reported */
    bool holder; /* chosen to have a slice */
    bool listed; /* stands in the pool's list of holders: chosen, or something of it is in force */
    uint8_t state;
    uint32_t member; /* its place in the pool's list of members */
    uint32_t in_flight, waiting, cap, pause_ms;
    uint32_t left; /* calls of a process that has ended, at their provider yet */
    uint64_t requests, answered, refused, slowed, timed, failed;
    uint64_t input_tokens, cached_tokens, output_tokens;
    struct vq_rates said, unit;
    int64_t park_unix_s;
    uint64_t keys_mix, organisation;
    uint64_t keys_had;
    double weight;              /* of its part; follows its demand */
    int64_t used_ns;            /* when it last had a call here, or was chosen */
    int64_t paused_ns;          /* the pause that it knows of ends */
    int64_t asked_ns;           /* the pause that its own refusals asked for ends */
    struct vq_limit next;       /* what a GRANT may give it; counts as in force already */
    struct vq_limit told, held; /* by the last GRANT; the most of all GRANTs that it may go by */
    uint64_t told_n;            /* the GRANT that sent it; if it is confirmed, both are equal */
    bool told_noisy;            /* by the last GRANT */
    bool day_joined;
};

enum vq_auth_worker_state {
    VQ_AUTH_HERE,
    VQ_AUTH_OVER /* its process has ended; what it had in flight may still be at its provider */
};

struct vq_auth_worker {
    struct vq_index_node node;
    struct vq_id id;
    uint32_t slot;
    enum vq_auth_worker_state state;
    int64_t heard_ns;
    bool noted; /* it has a spool */
    bool remote;
    uint64_t kept_nano; /* remote: listed last as its advance */
    bool lapsed;        /* a term of silence: it has nothing, until it is heard again */
    int64_t over_ns;    /* VQ_AUTH_OVER: until then */
    uint64_t granted_n, confirmed_n;
    int64_t granted_ns, said_ns; /* said_ns: its last report */
    bool due, urgent;            /* urgent: even though its last GRANT is not confirmed */
    bool spend_joined;
    uint32_t holds;             /* pools it is chosen for */
    uint32_t open;              /* pools where it could work */
    struct vq_auth_seat *seats; /* of every pool; NULL before its first report */
};

struct vq_auth_bucket {
    double requests, refused, input, output, answered;
    double timed; /* of the refused: the provider said when to ask again */
    double peak;  /* the most calls in flight; of a sum: not kept */
};

struct vq_auth_level { /* a concurrency that finds itself */
    double level;
    bool fast;            /* slow start: it doubles */
    uint64_t round_ended; /* answers at which the round began */
    int64_t round_ns;
    uint32_t round_peak;       /* the most in flight in this round */
    double refused_at;         /* the level that was refused last; 0: none */
    double cut_at;             /* the level at the last refusal */
    double tried;              /* the same when a trial began last */
    uint32_t patience, waited; /* clean rounds to wait before that level is tried again */
    int64_t cut_ns;
};

struct vq_auth_doubt {         /* authority_doubt.c */
    double noise;              /* share of calls that are refused at any rate; 0: none is known */
    int64_t noise_ns, fell_ns; /* since when; looked at last */
    bool again;                /* it is to be tried again */
    /* noise has not explained the refusals of the last window since; 0: it does */
    int64_t since_ns;
    uint32_t lone; /* groups of refusals that accepted calls followed soon, less twice the others */
    bool open;     /* such a group is under way: */
    int64_t first_ns;
    double in_flight, answered, refused, accepted;
    double full; /* accepted in the window when a group was refused as by a full window; 0: never */
    int64_t full_ns;
    bool full_twice; /* at the same count: not looked at yet */
    bool crowded;    /* far more is refused now than noise and chance */
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
    struct vq_auth_level level; /* for undoing it */
    struct vq_rates learned;
    double ceiling;
    bool lifts; /* VQ_AUTH_TRIES_LEVEL: the learned rates are lifted meanwhile */
    /* When a ceiling was found; how long later the level is suspected in its place. */
    int64_t ceiling_ns, patience_ns;
    bool level_cleared, rates_cleared; /* lowering it did not help, in this doubt */
    int64_t cleared_ns;
    double cleared_at; /* calls in flight at which the level was cleared: it may be one far above */
};

struct vq_auth_why { /* of what was learned, for people */
    int64_t at_ns;
    double refused;    /* in the window before */
    double per_minute; /* accepted */
};

/* ---- the parts of a pool: each belongs to the file that its comment names ---- */

struct vq_auth_named { /* the limits that the configuration or a person named */
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
    bool rests;                 /* a deadline wants it so */
    int64_t pause_ns, until_ns; /* the ends of the pause and of the park */
    int64_t until_unix_s;       /* the end of the park as it was reported; 0: never */
};

/* authority_report.c, authority_word.c: what workers reported of their provider. */
struct vq_auth_word {
    struct vq_rates said;
    uint32_t cap;
    struct vq_rates unit;                        /* the largest of this window and the last one */
    struct vq_rates unit_now;                    /* the largest of this window */
    struct vq_rates unit_gone, unit_gone_before; /* of workers that left the pool in them */
    /* Until then the reports of a worker that has left count; 0: there are none. */
    int64_t until_ns;
    uint32_t params_refused; /* enum vq_param: by its model */
};

struct vq_auth_price { /* nano-dollars a token */
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
    uint32_t known, keyed; /* workers that reported it; with a key */
    /* Members with something waiting; with more than one, see VQ_AUTH_KEEN. */
    uint32_t hungry, keen;
    uint64_t in_flight, waiting;
};

struct vq_auth_holders { /* authority_split.c: workers with a slice */
    uint32_t *list;      /* slots */
    size_t cap;
    uint32_t count;
    uint32_t peak, peak_before; /* slices in force together, in this window and the one before */
    int64_t peak_ns;
    bool past_unknown; /* others had it before: another run, an earlier process */
    int64_t moved_ns;
};

struct vq_auth_force {     /* authority_split.c: the limits in force */
    struct vq_limit limit; /* a rate of INFINITY: none */
    enum vq_limit_source rates_by[VQ_RATE__COUNT], concurrency_by;
    bool fell;   /* a limit, and more slices than it bears are in force yet */
    bool single; /* one request a window */
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
    double ceiling; /* requests a window, sent: refused above it when that was seen last; 0: none */
    bool counted;   /* the noise below the ceiling, since the last cut */
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
    uint32_t count, told;
    char *closed_why, *why; /* as the worker said last; of a key: of one among several */
    uint32_t refused;
    /* bit k: list[k] was refused; so with a seat's keys_had: it is good there */
    uint64_t lost;
    uint64_t organisation;
};

struct vq_auth_shown { /* authority_status.c: the state for people */
    enum vq_authority_state is;
    int64_t since_ns, until_ns;
    char *text;
};

/* One pool. A function that needs one part only takes that part. */
struct vq_auth_pool {
    char *name, *model;
    uint32_t index;
    const void *account; /* never looked into */
    int64_t window_ns, jitter_ns;
    bool workless; /* nothing is left to ask here */

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

/* What a worker that is not here may have spent, or may have had left to spend. */
struct vq_auth_owed {
    struct vq_advance advance;
    bool earlier; /* of an earlier process, and not heard of since; else: it has gone ... */
    bool noted;   /* ... with a spool: over when all that gone workers left is settled */
};

struct vq_authority {
    struct vq_auth_pool *pools;
    uint32_t pools_count;
    int64_t term_ns, wait_until_ns, now_ns, tick_ns, wake_ns;
    int64_t wait_ns; /* as it was given at the start; wait_until_ns may become later (wait_ends) */
    /* as long as calls may be at providers of processes that ended before they reported */
    int64_t unsaid_ns;
    bool asked; /* wait_ns is over: who had not said what is left of slices of an earlier process */
    bool waited; /* wait_until_ns is over */
    bool hold, unread;
    double input_most, output_most; /* tokens of one call */
    struct vq_purse *spend;
    struct vq_auth_worker *workers[VQ_AUTHORITY_WORKERS_MAX];
    uint32_t slots;    /* used ones are below */
    uint32_t able;     /* workers that could work anywhere */
    uint32_t workable; /* pools that have members */
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

static inline double vq_auth_windows(const struct vq_auth_pool *p) /* a minute's -> a window's */
{
    return (double)p->window_ns / (60.0 * (double)VQ_AUTH_S);
}

/* Sums of what many workers say. */
static inline uint32_t vq_auth_u32(uint64_t sum)
{
    return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* authority.c */
struct vq_auth_worker *vq_auth_find(const struct vq_authority *a, const struct vq_id *id);
/* The pool shall be dealt again, at when_ns or as soon after it as is due. */
void vq_auth_touch(struct vq_authority *a, struct vq_auth_pool *p, int64_t when_ns);

/* authority_split.c: the slices */
void vq_auth_limits(struct vq_auth_pool *p);
/* May anything be started at all (locks, parks, holds, the wait after a start). */
bool vq_auth_startable(const struct vq_authority *a, const struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_deal(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);
/* Nothing of it is in force any more, but for its calls in flight when `flights` says so. */
void vq_auth_void(struct vq_authority *a, struct vq_auth_worker *w, bool flights, int64_t now_ns);
/* It may have a slice of the pool, or may not any more. There is room in the lists since its first
 * report. */
void vq_auth_member(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w,
                    bool member);
/* Takes it into the pool's list of those with something in force, when it has. */
void vq_auth_list(struct vq_auth_pool *p, struct vq_auth_worker *w);
/* Out of all lists of the pool. */
void vq_auth_forget(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w);
bool vq_auth_differs(const struct vq_limit *a, const struct vq_limit *b);

/* authority_word.c: what `w` said of limits counts for `kept_ns` more */
#define VQ_AUTH_WORD_NS (60 * VQ_AUTH_S)
void vq_auth_word_left(struct vq_authority *a, struct vq_auth_worker *w, int64_t kept_ns,
                       int64_t now_ns);
void vq_auth_word_tick(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);

/* authority_doubt.c: what was used, and which refusals noise explains */
void vq_auth_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns);
void vq_auth_used_turn(struct vq_auth_pool *p, int64_t now_ns);
/* The refusals of the last window teach nothing more. */
void vq_auth_used_forgive(struct vq_auth_pool *p);

/* In the last quarter of a window. */
struct vq_auth_bucket vq_auth_used_lately(const struct vq_auth_used *used);
/* The most calls in flight in the last window. */
double vq_auth_peak(const struct vq_auth_used *used);
/* Requests of the last window; what was started and is not refused counts. */
double vq_auth_accepted(const struct vq_auth_used *used);
/* The rate's use, if this number of requests was accepted in the last window; tokens of calls in
 * flight are estimated by those of others. Negative: not known. */
double vq_auth_accepted_of(const struct vq_auth_used *used, enum vq_rate r, double requests);
/* More are refused than noise explains. */
bool vq_auth_unexplained(const struct vq_auth_pool *p, double refused, double answered);
/* ... and more than are refused over the last window. */
bool vq_auth_unusual(const struct vq_auth_pool *p, double refused, double answered);
/* Most refusals of this window state a wait, and a rate is known that no trial has cleared. */
bool vq_auth_blames_rate(const struct vq_auth_pool *p);
bool vq_auth_noisy(const struct vq_auth_pool *p);
/* The last window was below the ceiling: what was refused in it is noise. */
void vq_auth_noise_below(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_noise_is(struct vq_auth_pool *p, double share, int64_t now_ns);
void vq_auth_doubt_tick(struct vq_auth_pool *p, int64_t now_ns);

/* authority_level.c: a concurrency that finds its level */
void vq_auth_level_init(struct vq_auth_pool *p, int64_t now_ns);
/* The configuration and people have not named it. */
bool vq_auth_level_free(const struct vq_auth_pool *p);
/* true: it changed */
bool vq_auth_level_round(struct vq_auth_pool *p, int64_t now_ns);
/* To a part of what is in flight, of which the share `accepted` was not refused. */
void vq_auth_level_cut(struct vq_auth_pool *p, double accepted, int64_t now_ns);
/* What ended counts as noise below the level that was refused. */
void vq_auth_level_used(struct vq_auth_pool *p, const struct vq_auth_bucket *used, int64_t now_ns);
/* A refusal at the level that is known as refused: it is cut. false: it was another one. */
bool vq_auth_level_refused(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_level_is(struct vq_auth_pool *p, const struct vq_auth_level *was, int64_t now_ns);

/* authority_trial.c: what is lowered, and whether it helped */
void vq_auth_trial_step(struct vq_auth_pool *p, int64_t now_ns);
/* Refusals at the ceiling that is known: the rates are cut. false: it was something else. */
bool vq_auth_rates_refused(struct vq_auth_pool *p, int64_t now_ns);

/* authority_learn.c: limits that are not configured, or configured too high */
/* The configuration names a limit of a rate. */
bool vq_auth_is_named(const struct vq_auth_named *named);
void vq_auth_learn_init(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_learn_refused(struct vq_auth_pool *p, int64_t now_ns);
void vq_auth_learn_slowed(struct vq_auth_pool *p, int64_t now_ns);
/* true: a limit changed */
bool vq_auth_learn_tick(struct vq_auth_pool *p, int64_t now_ns);
/* A person set a limit: all that refusals taught is forgotten, but not which share of them is
 * noise. */
void vq_auth_learn_forget(struct vq_auth_pool *p, int64_t now_ns);

/* authority_report.c: the monotonic time at which the wall clock says `unix_s` */
int64_t vq_auth_mono_of(const struct vq_authority *a, int64_t unix_s);

/* authority_advance.c: what a crash must not forget. Room for that number more: each worker that is
 * here may leave something. VQ_NOMEM, VQ_LIMIT */
enum vq_status vq_auth_owed_room(struct vq_authority *a, size_t more) VQ_WARN_UNUSED;
enum vq_status vq_auth_owed_begin(struct vq_authority *a,
                                  const struct vq_authority_params *params) VQ_WARN_UNUSED;
/* Before it leaves its purse. */
void vq_auth_owed_leave(struct vq_authority *a, struct vq_auth_worker *w, bool settled);
void vq_auth_owed_settle(struct vq_authority *a);
void vq_auth_granted(struct vq_authority *a, const struct vq_auth_worker *w);

/* authority_status.c */
void vq_auth_state(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns);
/* VQ_NOMEM */
enum vq_status vq_auth_keys(struct vq_authority *a, struct vq_auth_keyset *keys,
                            struct vq_auth_seat *seat,
                            const struct vq_pool_report *report) VQ_WARN_UNUSED;
