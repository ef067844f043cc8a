/* What a run will come to before it is sent: calls, tokens, dollars and time, each as the least it
 * can be, what is expected, and the most. Pure arithmetic over what the shell has counted, looked
 * up and rendered (methods/plan/files/forecast.h).
 *
 * Counts follow the call-count model of docs/method/method.md: a stage whose questions are known
 * already is counted task by task, one that depends on answers by the bounds that the settings
 * give. A retry after a failed call is in no number. */
#pragma once

#include "common/conf/config.h"
#include "methods/stage.h"
#include "methods/stats/intervals/power.h"

#define VQ_FORECAST_NAME_BYTES 64
#define VQ_FORECAST_STAGES_MAX 1024u /* stages that are not known yet; config bounds iterations */

struct vq_range {
    double least, expected, most;
};
struct vq_range vq_range_of(double exact);
struct vq_range vq_range_add(struct vq_range a, struct vq_range b);
struct vq_range vq_range_mul(struct vq_range a, struct vq_range b); /* of numbers from 0 on */
struct vq_range vq_range_scale(struct vq_range a, double by);
bool vq_range_is_exact(struct vq_range a);

/* ---- what is not known yet ---- */

/* What the known stages have shown of discovery's iterations. */
struct vq_forecast_seen {
    uint32_t iteration;        /* from 1: the last one that is known to happen */
    const uint32_t *evaluated; /* vibes that are ranked in iteration i + 1, as far as it is known */
    uint32_t evaluated_count;
};

/* What a prompt of a stage holds, for its size. */
enum vq_forecast_shape {
    VQ_SHAPE_TRAIN, /* a train row */
    VQ_SHAPE_TEST,
    VQ_SHAPE_ALL,
    VQ_SHAPE_BATCH,    /* rows as the proposer sees them */
    VQ_SHAPE_ANSWER,   /* an earlier answer */
    VQ_SHAPE_LIST,     /* axes */
    VQ_SHAPE_EXAMPLES, /* rows in short */
    VQ_SHAPE_BYTES,    /* `items` bytes, and `answers` */
};

struct vq_forecast_stage {
    char name[VQ_FORECAST_NAME_BYTES]; /* as the method will call it */
    enum vq_stage_kind kind;
    enum vq_role role;
    uint32_t proposer; /* of a proposer's stage: which one is asked */
    uint32_t alone;    /* 1 + the model of another role that is asked alone; 0: all are asked */
    enum vq_forecast_shape shape;
    double items; /* axes in a LIST, or asked in one joint call; BYTES: how many; 1 otherwise */
    struct vq_range cells;  /* of each model of the role: first askings */
    struct vq_range swaps;  /* and second ones, which lazy swap may save */
    struct vq_range unread; /* asked only for what could not be read in joint answers */
    double answers;         /* BYTES: of subjects, that stand in each prompt, on average */
    bool discovered;        /* its size depends on discovered vibes */
};

/* ---- limits, prices, figures ---- */

/* A pool: what a provider's limits and prices belong to. Several pools may serve one model, and
 * several models share one. */
struct vq_forecast_limits {
    const char *name;      /* borrowed */
    struct vq_rates rates; /* 0, here and below: unknown, or none */
    double requests_per_day, tokens_per_day;
    /* Calls in flight; 0: unknown, where no rate is known taken as VQ_ASSUMED_CONCURRENCY. Not a
     * struct vq_limit: a share of a concurrency may be a fraction, which counts in an average. */
    double concurrency;
    double price_input_usd;  /* a million tokens; negative: not known */
    double price_cached_usd; /* of input that the provider has cached; negative: as other input */
    double price_output_usd;
    double price_written_usd; /* of input that is written to a cache, if input has a price */
    const char *service_tier; /* NULL: none; else calls cost `tier_price` times these prices ... */
    double tier_price;        /* ... or the ordinary price, where the tier has no capacity */
    bool tier_price_assumed;
    bool batch;         /* its calls go into batches, at `batch_price` times these prices */
    double batch_price; /* 1: no batch */
    bool batch_price_assumed;
    bool can_batch;          /* its provider has a batch API */
    uint32_t batch_times;    /* recorded batches of this model; 0: their time is assumed */
    struct vq_range batch_s; /* by these */
};
#define VQ_FORECAST_POOLS_MAX 256u

/* By which pools a line is figured that has both kinds. */
enum vq_forecast_way {
    VQ_WAY_INTERACTIVE,
    VQ_WAY_BATCH /* dialogues and embeddings stay interactive */
};

enum vq_forecast_bound {
    VQ_BOUND_NONE, /* nothing is asked */
    VQ_BOUND_REQUESTS,
    VQ_BOUND_INPUT,
    VQ_BOUND_OUTPUT,
    VQ_BOUND_TOKENS,
    VQ_BOUND_CONCURRENCY,
    VQ_BOUND_DAY,   /* the quota of a day: it is done on a later one */
    VQ_BOUND_BATCH, /* the provider's time for a batch */
    VQ_BOUND__COUNT
};
const char *vq_forecast_bound_word(enum vq_forecast_bound bound); /* "requests_per_minute" */
/* Whether its value is not set, but taken as usual. */
bool vq_forecast_bound_assumed(const struct vq_forecast_limits *limits,
                               enum vq_forecast_bound bound);
/* That limit; 0 where there is none. */
double vq_forecast_bound_value(const struct vq_forecast_limits *limits,
                               enum vq_forecast_bound bound);

/* Calls of one model in one stage. */
struct vq_forecast_line {
    char stage[VQ_FORECAST_NAME_BYTES];
    uint32_t stage_no; /* lines of a stage are neighbours and share it */
    enum vq_stage_kind kind;
    enum vq_role role;
    uint32_t model;     /* of the role */
    const char *judge;  /* its name; borrowed, as all texts here */
    const char *called; /* as its provider calls it */
    /* that may answer, by index into limits; pools_count of them, one at least */
    const uint32_t *pools;
    uint32_t pools_count;
    bool known; /* its questions are, and each was looked up */
    struct vq_range planned, calls, repairs;
    struct vq_range saved; /* by lazy swap: planned = calls + from_store + saved */
    double from_store;
    struct vq_range in_each, out_each, repair_in_each, repair_out_each; /* tokens a call */
    double cached_share, written_share; /* of input tokens: read from a cache, written to one */
    struct vq_range latency_s;
    /* of dialogues: the turns of the longest one, which are sent in sequence; else 0 */
    uint32_t turns;
    bool settles_known; /* the store shows how often first orders settle: the run uses it */
    /* From here on filled in by vq_forecast_figure. */
    bool seconds_wait; /* in batches: second orders go into one that follows the first ones' */
    struct vq_range tokens_in, tokens_out;
    /* at the cheapest pool, as the calls are shared out, at the dearest; 0 without a price */
    struct vq_range usd;
    bool priced;             /* all its pools are, or nothing is asked */
    struct vq_range seconds; /* if nothing else were asked meanwhile */
    enum vq_forecast_bound bound;
};

struct vq_forecast_sums {
    struct vq_range planned, calls, repairs, saved, tokens_in, tokens_out, usd;
    double from_store;
    bool priced; /* everything that is asked has a price */
};

struct vq_forecast_pool { /* of the limits entry of the same index */
    struct vq_range calls, tokens, seconds;
    enum vq_forecast_bound bound; /* where most of its expected time goes */
    bool serves;                  /* a line names it */
};

/* What was assumed for want of answers; bits. */
enum vq_forecast_assumed {
    VQ_ASSUMED_TOKENS = 1u << 0,
    VQ_ASSUMED_OUTPUT = 1u << 1,
    VQ_ASSUMED_LATENCY = 1u << 2,
    VQ_ASSUMED_SETTLED = 1u << 3,
    VQ_ASSUMED_REPAIRS = 1u << 4,
    VQ_ASSUMED_DISCOVERY = 1u << 5,
    VQ_ASSUMED_EARLY_STOP = 1u << 6,
    VQ_ASSUMED_TIES = 1u << 7,
    VQ_ASSUMED_FLIGHT = 1u << 8,
    VQ_ASSUMED_BATCH = 1u << 9,
    VQ_ASSUMED_ESCALATED = 1u << 10,
};
#define VQ_ASSUMED_BITS 11u
const char *vq_forecast_assumed_text(unsigned bit); /* a sentence, for the bit of that number */

/* The numbers that are assumed. */
#define VQ_ASSUMED_BYTES_A_TOKEN  4.0 /* 3 to 5 */
#define VQ_ASSUMED_CONCURRENCY    16.0
#define VQ_ASSUMED_BATCH_LEAST_S  60.0
#define VQ_ASSUMED_BATCH_S        3600.0
#define VQ_ASSUMED_BATCH_MOST_S   86400.0 /* what providers promise */
#define VQ_ASSUMED_VERDICT_TOKENS 120.0
#define VQ_ASSUMED_TEXT_TOKENS    400.0
/* Low on purpose: with more of them a run takes less time than planned, with fewer hardly more. */
#define VQ_ASSUMED_SETTLED_SHARE     0.05
#define VQ_ASSUMED_REPAIR_SHARE      0.01
#define VQ_ASSUMED_REPAIR_SHARE_MOST 0.1
#define VQ_ASSUMED_FURTHER_SHARE     0.5 /* of discovery's iterations, that another one follows */
#define VQ_ASSUMED_ESCALATED_SHARE   0.3 /* of a cascade's cells */
#define VQ_ASSUMED_PASS_SHARE        0.6 /* of the vibes that are ranked */

struct vq_forecast {
    struct vq_forecast_line *lines;
    uint32_t lines_count;
    struct vq_forecast_limits *limits;
    struct vq_forecast_pool *pools;
    uint32_t limits_count;
    unsigned assumed; /* enum vq_forecast_assumed */
    enum vq_forecast_way way;
    /* of the test rows, or of all without a test split; .units 0: no vibes are ranked */
    struct vq_power power;
    /* Filled in by vq_forecast_figure. */
    struct vq_forecast_sums all;
    struct vq_range seconds; /* stages one after the other, pools of a stage side by side */
    uint32_t batches;        /* the longest chain of batches */
};

/* Fills in what follows from the lines. */
void vq_forecast_figure(struct vq_forecast *forecast);
/* Sums and time of one stage, its lines from `first` on; *ret_next: the first line of the next
 * stage. */
struct vq_forecast_sums vq_forecast_stage_sums(const struct vq_forecast *forecast, uint32_t first,
                                               struct vq_range *ret_seconds, uint32_t *ret_next);

/* The most calls of all models in a role. */
uint64_t vq_forecast_calls_of(const struct vq_forecast *forecast, enum vq_role role);
/* "At most 1,200 calls, about 300 k tokens in and 100 k out, about $2:" */
void vq_forecast_show_total(const struct vq_forecast *forecast, struct vq_buf *out);

enum vq_forecast_verdict {
    VQ_HOLDS_SURELY,  /* also at the most */
    VQ_HOLDS_LIKELY,  /* as expected */
    VQ_HOLDS_NOT,     /* not as expected */
    VQ_HOLDS_UNKNOWN, /* a price is not known */
};
const char *vq_forecast_verdict_word(enum vq_forecast_verdict verdict);

/* How a sum of dollars or of seconds compares with what there is. */
struct vq_forecast_bounded {
    enum vq_forecast_verdict verdict;
    double reached;    /* share of the expected calls that can be made within it, in order */
    const char *stage; /* where it ends; NULL: it suffices as expected */
    double factor;     /* expected need over what there is; infinite if that is nothing */
};
struct vq_forecast_bounded vq_forecast_budget(const struct vq_forecast *forecast, double usd);
struct vq_forecast_bounded vq_forecast_deadline(const struct vq_forecast *forecast, double seconds);
