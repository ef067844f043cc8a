/* The size of a run before it is sent: calls, tokens, dollars and time, each as least, expected and
 * highest value. Pure arithmetic; methods/plan/files/forecast.h counts, looks up and renders.
 *
 * Counts follow the call-count model of docs/method/method.md: a stage with known questions is
 * counted task by task; a stage that depends on answers is bounded by the settings. Retries after
 * failed calls are not included. */
#pragma once

#include "common/conf/config.h"
#include "methods/stage.h"
#include "methods/stats/intervals/power.h"

#define VQ_FORECAST_NAME_BYTES 64
/* stages that are not known yet; the configuration limits iterations */
#define VQ_FORECAST_STAGES_MAX 1024u

struct vq_range {
    double least, expected, most;
};
struct vq_range vq_range_of(double exact);
struct vq_range vq_range_add(struct vq_range a, struct vq_range b);
/* of numbers that are not negative */
struct vq_range vq_range_mul(struct vq_range a, struct vq_range b);
struct vq_range vq_range_scale(struct vq_range a, double by);
bool vq_range_is_exact(struct vq_range a);

/* ---- stages that are not known yet ---- */

/* Facts about discovery's iterations from the known stages. */
struct vq_forecast_seen {
    uint32_t iteration; /* the last iteration that is known to happen, from 1 */
    /* [i]: number of vibes ranked in iteration i + 1, as far as it is known */
    const uint32_t *evaluated;
    uint32_t evaluated_count;
};

/* The contents of a stage's prompt, which give its size. */
enum vq_forecast_shape {
    VQ_SHAPE_TRAIN, /* a train row */
    VQ_SHAPE_TEST,
    VQ_SHAPE_ALL,
    VQ_SHAPE_BATCH,    /* rows in the form for the proposer */
    VQ_SHAPE_ANSWER,   /* an earlier answer */
    VQ_SHAPE_LIST,     /* axes */
    VQ_SHAPE_EXAMPLES, /* shortened rows */
    VQ_SHAPE_BYTES,    /* `items` bytes, plus `answers` answers */
};

struct vq_forecast_stage {
    char name[VQ_FORECAST_NAME_BYTES]; /* the name that the method will give it */
    enum vq_stage_kind kind;
    enum vq_role role;
    uint32_t proposer; /* PROPOSER: number of the proposer that is asked */
    uint32_t alone;    /* 1 + number of the only model that is asked; 0: all models of the role */
    enum vq_forecast_shape shape;
    double items;          /* axes in a LIST, or in one joint call; BYTES: bytes; else 1 */
    struct vq_range cells; /* per model of the role: questions in the first order */
    struct vq_range swaps; /* questions in the second order, which lazy swap may save */
    /* questions that are asked again, because a joint answer had no readable verdict for them */
    struct vq_range unread;
    double answers;  /* BYTES: mean number of subjects' answers in a prompt */
    bool discovered; /* the size depends on discovered vibes */
};

/* ---- limits, prices, figures ---- */

/* A pool: limits and prices of one provider account and model. Several pools may serve one model,
 * and several models may share one pool. */
struct vq_forecast_limits {
    const char *name;      /* borrowed */
    struct vq_rates rates; /* 0 here and below: unknown or no limit */
    double requests_per_day, tokens_per_day;
    /* Calls in flight. 0: unknown; then VQ_ASSUMED_CONCURRENCY is assumed if no rate is known. Not
     * a struct vq_limit, because a share of a concurrency may be a fraction, which matters in an
     * average. */
    double concurrency;
    double price_input_usd; /* per million tokens; negative: unknown */
    /* of input tokens that the provider has cached; negative: as other input */
    double price_cached_usd;
    double price_output_usd;
    /* of input tokens that are written to a cache, if input has a price */
    double price_written_usd;
    const char *service_tier; /* NULL: none; else calls cost `tier_price` times these prices ... */
    double tier_price;        /* ... or the ordinary price, if the tier has no capacity */
    bool tier_price_assumed;
    bool batch;         /* its calls go into batches and cost `batch_price` times these prices */
    double batch_price; /* 1: no batch */
    bool batch_price_assumed;
    bool can_batch;       /* the pool's provider has a batch API */
    uint32_t batch_times; /* number of recorded batches of this model; 0: their time is assumed */
    struct vq_range batch_s; /* time of a batch, from these records */
};
#define VQ_FORECAST_POOLS_MAX 256u

/* The pools that the figures use for a line with pools of both kinds. */
enum vq_forecast_way {
    VQ_WAY_INTERACTIVE,
    VQ_WAY_BATCH /* dialogues and embeddings stay interactive */
};

enum vq_forecast_bound {
    VQ_BOUND_NONE, /* no calls */
    VQ_BOUND_REQUESTS,
    VQ_BOUND_INPUT,
    VQ_BOUND_OUTPUT,
    VQ_BOUND_TOKENS,
    VQ_BOUND_CONCURRENCY,
    VQ_BOUND_DAY,   /* the daily quota: the line ends on a later day */
    VQ_BOUND_BATCH, /* the provider's time for a batch */
    VQ_BOUND__COUNT
};
const char *vq_forecast_bound_word(enum vq_forecast_bound bound); /* "requests_per_minute" */
/* Whether the limit is assumed, because the configuration has no value. */
bool vq_forecast_bound_assumed(const struct vq_forecast_limits *limits,
                               enum vq_forecast_bound bound);
/* The value of the limit; 0: none. */
double vq_forecast_bound_value(const struct vq_forecast_limits *limits,
                               enum vq_forecast_bound bound);

/* Calls of one model in one stage. */
struct vq_forecast_line {
    char stage[VQ_FORECAST_NAME_BYTES];
    uint32_t stage_no; /* lines of a stage are neighbours and have the same number */
    enum vq_stage_kind kind;
    enum vq_role role;
    uint32_t model;     /* number within the role */
    const char *judge;  /* the model's name; borrowed, as are all texts here */
    const char *called; /* name of the model at its provider */
    /* the pools that may serve it, by index into limits; pools_count is at least 1 */
    const uint32_t *pools;
    uint32_t pools_count;
    bool known; /* its questions are known, and each was looked up */
    struct vq_range planned, calls, repairs;
    struct vq_range saved; /* saved by lazy swap: planned = calls + from_store + saved */
    double from_store;
    struct vq_range in_each, out_each, repair_in_each, repair_out_each; /* tokens per call */
    /* shares of the input tokens: read from a cache, written to one */
    double cached_share, written_share;
    struct vq_range latency_s;
    /* for dialogues: turns of the longest one, which are sent in sequence; else 0 */
    uint32_t turns;
    bool settles_known; /* the run uses the share of settling first orders that the store shows */
    /* vq_forecast_figure fills in the following members. */
    /* in batches: second orders go into a batch after that of the first orders */
    bool seconds_wait;
    struct vq_range tokens_in, tokens_out;
    /* at the cheapest pool, as the calls are distributed, at the most expensive pool; 0 without a
     * price */
    struct vq_range usd;
    bool priced;             /* all its pools have a price, or it has no calls */
    struct vq_range seconds; /* time of this line alone */
    enum vq_forecast_bound bound;
};

struct vq_forecast_sums {
    struct vq_range planned, calls, repairs, saved, tokens_in, tokens_out, usd;
    double from_store;
    bool priced; /* every line with calls has a price */
};

struct vq_forecast_pool { /* figures of the pool with the same index in limits */
    struct vq_range calls, tokens, seconds;
    enum vq_forecast_bound bound; /* the limit that takes most of its expected time */
    bool serves;                  /* some line may use it */
};

/* The assumptions that were needed because answers are missing; bits. */
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
const char *vq_forecast_assumed_text(unsigned bit); /* a sentence, by number of the bit */

/* The assumed values. */
#define VQ_ASSUMED_BYTES_A_TOKEN  4.0 /* 3 to 5 */
#define VQ_ASSUMED_CONCURRENCY    16.0
#define VQ_ASSUMED_BATCH_LEAST_S  60.0
#define VQ_ASSUMED_BATCH_S        3600.0
#define VQ_ASSUMED_BATCH_MOST_S   86400.0 /* the limit that providers promise */
#define VQ_ASSUMED_VERDICT_TOKENS 120.0
#define VQ_ASSUMED_TEXT_TOKENS    400.0
/* Low on purpose: if the true share is higher, the run takes less time than planned; if it is
 * lower, hardly more. */
#define VQ_ASSUMED_SETTLED_SHARE     0.05
#define VQ_ASSUMED_REPAIR_SHARE      0.01
#define VQ_ASSUMED_REPAIR_SHARE_MOST 0.1
/* share of discovery's iterations that another one follows */
#define VQ_ASSUMED_FURTHER_SHARE   0.5
#define VQ_ASSUMED_ESCALATED_SHARE 0.3 /* share of a cascade's cells */
#define VQ_ASSUMED_PASS_SHARE      0.6 /* share of the ranked vibes */

struct vq_forecast {
    struct vq_forecast_line *lines;
    uint32_t lines_count;
    struct vq_forecast_limits *limits;
    struct vq_forecast_pool *pools;
    uint32_t limits_count;
    unsigned assumed; /* enum vq_forecast_assumed */
    enum vq_forecast_way way;
    /* of the test rows, or of all rows without a test split; .units 0: no vibes are ranked */
    struct vq_power power;
    /* vq_forecast_figure fills in the following members. */
    struct vq_forecast_sums all;
    struct vq_range seconds; /* stages one after the other, the pools of a stage at the same time */
    uint32_t batches;        /* length of the longest chain of batches */
};

/* Computes all figures from the lines. */
void vq_forecast_figure(struct vq_forecast *forecast);
/* The sums and the time of one stage, whose lines begin at `first`. *ret_next: the first line of
 * the next stage. */
struct vq_forecast_sums vq_forecast_stage_sums(const struct vq_forecast *forecast, uint32_t first,
                                               struct vq_range *ret_seconds, uint32_t *ret_next);

/* The highest number of calls over all models of a role. */
uint64_t vq_forecast_calls_of(const struct vq_forecast *forecast, enum vq_role role);
/* Appends "At most 1,200 calls, about 300 k tokens in and 100 k out, about $2:" */
void vq_forecast_show_total(const struct vq_forecast *forecast, struct vq_buf *out);

enum vq_forecast_verdict {
    VQ_HOLDS_SURELY,  /* it holds even at the highest value */
    VQ_HOLDS_LIKELY,  /* it holds at the expected value */
    VQ_HOLDS_NOT,     /* it does not hold at the expected value */
    VQ_HOLDS_UNKNOWN, /* some price is not known */
};
const char *vq_forecast_verdict_word(enum vq_forecast_verdict verdict);

/* How a sum of dollars, or a number of seconds, compares with the forecast. */
struct vq_forecast_bounded {
    enum vq_forecast_verdict verdict;
    double reached;    /* share of the expected calls, in order, that fit into it */
    const char *stage; /* the stage in which it ends; NULL: it suffices as expected */
    double factor;     /* expected need / available sum; infinite if the sum is 0 */
};
struct vq_forecast_bounded vq_forecast_budget(const struct vq_forecast *forecast, double usd);
struct vq_forecast_bounded vq_forecast_deadline(const struct vq_forecast *forecast, double seconds);
