/* run.yaml as a struct: all keys of a run's configuration, with defaults filled in. Loading checks
 * kinds, ranges and names and refuses unknown keys. It reads no data file, no API key and no
 * clock. */
#pragma once

#include "common/base/limit.h"
#include "common/base/status.h"
#include "common/judge/rating.h"
#include "common/judge/stage.h"

#define VQ_CONFIG_BYTES_MAX     (4u << 20)
#define VQ_JUDGES_MAX           16
#define VQ_MODELS_MAX           16u
#define VQ_REPEAT_PROPOSERS_MAX (VQ_JUDGES_MAX - 1) /* without the proposer itself */
#define VQ_CONF_POOLS_MAX       64
#define VQ_POOL_MODELS_MAX      64
#define VQ_POOL_KEYS_MAX        64
#define VQ_VIBES_MAX            1000
#define VQ_VIBES_PER_CALL_MAX   20u
#define VQ_CRITERIA_MAX         100
#define VQ_SUBJECTS_MAX         64
#define VQ_PROBES_MAX           32
/* value of a probe's `criterion`: the criterion of the item's trait */
#define VQ_PROBE_TRAIT    "trait"
#define VQ_NAME_BYTES_MAX 256
#define VQ_AXIS_BYTES_MAX 4096
#define VQ_PROPERTY_LOW                                                                            \
    "Shows nothing of this, or hardly anything." /* the low end of a vibe given as a property */
#define VQ_EMBEDDER_NONE     "none"          /* the embedder's model if nothing shall be embedded */
#define VQ_EMBEDDER_BUILT_IN "offline-embed" /* the embedder's model if none is named */

enum vq_conf_method {
#define VQ_METHOD_ROW(name, word, folder) VQ_METHOD_##name,
#include "common/conf/methods.def"
#undef VQ_METHOD_ROW
    VQ_METHOD__COUNT
};
enum vq_preference_source {
    VQ_PREFERENCE_DATA, /* the column of the data, if it exists */
    VQ_PREFERENCE_JUDGE /* preference_judges label the rows if the data has no column */
};
enum vq_clustering {
    VQ_CLUSTERING_AUTO, /* if there are cluster_threshold axes or more */
    VQ_CLUSTERING_ALWAYS,
    VQ_CLUSTERING_NEVER
};
enum vq_conf_linkage {
    VQ_CONF_LINKAGE_WARD,
    VQ_CONF_LINKAGE_AVERAGE,
    VQ_CONF_LINKAGE_COMPLETE
};
enum vq_misclassified {
    VQ_MISCLASSIFIED_MM,
    VQ_MISCLASSIFIED_MM_OR_PP
};
enum vq_carried {
    VQ_CARRIED_SURVIVING,
    VQ_CARRIED_ALL
};
enum vq_final_order {
    VQ_FINAL_LARS,
    VQ_FINAL_SEPARABILITY,
    VQ_FINAL_P_VALUE
};
enum vq_pair_rule {
    VQ_PAIR_STRICT,
    VQ_PAIR_LENIENT,
    VQ_PAIR_FORWARD
};
enum vq_form {
    VQ_FORM_CHOOSE,
    VQ_FORM_CLEAR
};

enum vq_pairs_design {
    VQ_PAIRS_ALL,
    VQ_PAIRS_BASELINE,  /* each other model against `baseline` */
    VQ_PAIRS_INCOMPLETE /* a balanced part of all pairs for each prompt */
};

enum vq_invalid {
    VQ_INVALID_MISSING,
    VQ_INVALID_DROP_ROW
};
enum vq_ties {
    VQ_TIES_KEEP,
    VQ_TIES_DROP_ALL
};
enum vq_gate_separability {
    VQ_GATE_POINT,
    VQ_GATE_INTERVAL
};
enum vq_gate_preference {
    VQ_GATE_SEP_ONLY,
    VQ_GATE_SEP_OR_PREF,
    VQ_GATE_SEP_AND_PREF
};
enum vq_conf_overlap {
    VQ_CONF_OVERLAP_COSINE,
    VQ_CONF_OVERLAP_PEARSON,
    VQ_CONF_OVERLAP_OFF
};
enum vq_cv {
    VQ_CV_LOG_LOSS,
    VQ_CV_PAPER,
    VQ_CV_SKLEARN_FOLDS
};
enum vq_estimator {
    VQ_ESTIMATOR_L2_CV,
    VQ_ESTIMATOR_ELASTICNET,
    VQ_ESTIMATOR_LASSO,
    VQ_ESTIMATOR_LEGACY_BOOTSTRAP
};
enum vq_p_values {
    VQ_P_VALUES_BOOTSTRAP,
    VQ_P_VALUES_WALD
};

struct vq_conf_data {
    char *path; /* as given; resolved against the config file's folder in `path_abs` */
    char *path_abs;
    char *test_path; /* NULL: split by `test_share` */
    char *test_path_abs;
    char *format;            /* "auto", "csv", "jsonl" */
    char *prompt;            /* NULL: "question" if the data has it, else "prompt" */
    char *preference;        /* NULL: "preference" if the data has it */
    char *group;             /* NULL: none */
    char *image;             /* NULL: none */
    bool unwrap_lists;       /* a cell that is a list of one string is read as that string */
    uint32_t limit;          /* records in a seeded sample; 0: all records */
    double test_share;       /* default 0.5; 0: in-sample, marked as such */
    uint32_t near_duplicate; /* default 80; 0: off */
    enum vq_ties ties;
    uint32_t num_train_max; /* 0: no cap */
    uint32_t num_test_max;
};

struct vq_conf_pairs { /* if there are more than two models */
    enum vq_pairs_design design;
    char *baseline;      /* NULL: none */
    uint32_t per_prompt; /* 0: not given; the same for `calls` */
    uint64_t calls;
};

struct vq_conf_axis {
    char *name;
    char *low;
    char *high;
    char *property; /* NULL after loading: it becomes `high`, and VQ_PROPERTY_LOW becomes `low` */
};

/* of method judge; of method persona: a criterion of turns, or one that a probe names */
struct vq_conf_criterion {
    char *name;
    /* "likert", "binary", "pairwise"; NULL: the kind of the built-in criterion or file */
    char *kind;
    char *rubric;
    char *file; /* absolute after loading; NULL: `rubric` is given, or it is a built-in criterion */
    char **human; /* columns with human ratings, one per output; none: no human ratings */
    uint32_t human_count;
};

enum vq_positions {
    VQ_POSITIONS_BOTH,
    VQ_POSITIONS_ALTERNATE
};

struct vq_conf_rating {
    uint32_t repeats;
    enum vq_positions positions;
    enum vq_rating_policy policy;
};

struct vq_conf_limits {                        /* the limits and prices of a pool */
    struct vq_limit limit;                     /* 0: unknown */
    uint64_t requests_per_day, tokens_per_day; /* 0: no quota */
    uint32_t window_s;       /* over which the provider counts requests and tokens */
    double share;            /* the part of these limits that this run may use */
    double price_input_usd;  /* per million tokens; negative: not set */
    double price_cached_usd; /* negative: the price of other input */
    /* negative: the price of other input, 1.25 times it for anthropic */
    double price_cache_write_usd;
    double price_output_usd;
    char *service_tier;        /* as sent in requests; NULL: not sent */
    double service_tier_price; /* multiple of the other prices; negative: the tier's default */
    /* refusals for lack of capacity before a call goes to the ordinary tier */
    uint32_t service_tier_tries;
};

struct vq_conf_batch {     /* of a batch pool; common/conf/batches.h */
    bool enabled;          /* false: as without this section */
    uint32_t max_requests; /* of one batch; 0: the provider's limit */
    uint64_t max_bytes;    /* of one batch's document; 0: the provider's limit */
    uint32_t wait_s;       /* after it, a batch that is not full is submitted */
    uint32_t poll_s;       /* between two polls of a batch */
    double price;          /* multiple of the other prices; negative: 0.5 */
};

struct vq_conf_pool_model {
    char *model; /* the name that judges use */
    char *sent;  /* the name that the provider uses; NULL: the same */
    struct vq_conf_limits limits;
    struct vq_conf_batch *batch; /* NULL: an interactive pool */
    char *max_tokens_field;      /* NULL: the judge's */
    bool refuses_temperature, refuses_seed, refuses_schema;
};

struct vq_conf_pool { /* an account: one pool for each of its models (common/conf/pools.h) */
    char *name;
    char *dialect;
    char *base_url;
    char *api_version; /* NULL: none */
    char *identity;    /* NULL: host and path of base_url */
    bool allow_http;   /* plain http to another machine */
    uint32_t connect_timeout_ms, first_byte_timeout_ms, total_timeout_ms;
    char **keys; /* "env:NAME" or "file:PATH"; none: no key is sent */
    uint32_t keys_count;
    struct vq_conf_pool_model *models;
    uint32_t models_count;
};

struct vq_conf_judge {
    char *name; /* defaults to `model`; unique */
    char *model;
    char *dialect; /* "openai", "azure", "anthropic", "gemini" */
    /* NULL: the pools that have the model answer, or the built-in server if an offline-* model has
     * no pool */
    char *base_url;
    char *api_version; /* for azure; else NULL */
    char *identity;    /* NULL: host and path of base_url; "offline/SEED" for the built-in server */
    char *key;         /* "env:NAME" or "file:PATH"; NULL: no key is sent */
    bool allow_http;   /* plain http to another machine */
    double temperature;
    bool send_temperature;  /* some models refuse it */
    uint32_t max_tokens;    /* default 600 */
    char *max_tokens_field; /* "max_tokens" or "max_completion_tokens" */
    enum vq_system_role system_role;
    int64_t seed;              /* -1: not sent */
    bool structured, logprobs; /* for judges: the values of `judging` */
    char *answer_field;        /* NULL: `content` only */
    struct vq_conf_limits limits;
    uint32_t connect_timeout_ms;    /* default 10,000 */
    uint32_t first_byte_timeout_ms; /* default 120,000 */
    uint32_t total_timeout_ms;      /* default 300,000 */
};

/* The next three are of method: persona. */
struct vq_conf_subject {
    struct vq_conf_judge judge; /* must be the first member: a subject has all keys of a judge */
    char *role;                 /* "system", "developer", "none" */
    char *line;                 /* NULL: none */
    char *called;               /* NULL: its name */
    char *family;               /* NULL: its family has no other member */
    uint32_t size;              /* 0: unknown */
};

enum vq_conf_orders {
    VQ_CONF_ORDERS_BOTH,
    VQ_CONF_ORDERS_ORIGINAL
};

struct vq_conf_dialogues { /* paths are absolute after loading */
    char *preset;          /* "none", "paper" */
    char *personas;
    char *labels, *label_set; /* NULL: none */
    bool baseline;
    char *directed, *opening, *closing, *goal; /* NULL: none, or the one of the file */
    enum vq_conf_orders orders;
    uint32_t rounds; /* 0: the length of the shorter list */
    uint32_t checkpoints;
    char *measured, *measured_name;
    char *human;
};

struct vq_conf_probe {
    char *name;
    char *file;      /* absolute after loading */
    char *criterion; /* NULL: chosen by the columns of the items */
    char *text, *id, *persona, *trait, *label, *reference; /* columns; NULL: the default names */
    char **references;                                     /* none: the references of the items */
    uint32_t references_count;
};

/* Discovery, reduction and iteration, for `method: discover`. */
struct vq_conf_vibecheck {
    char *preset;   /* "none", "paper-hc3", ...: defaults of other keys */
    uint32_t d;     /* rows shown to the proposer in an iteration */
    uint32_t batch; /* rows in one call */
    uint32_t iterations;
    uint32_t num_eval_vibes;  /* new vibes validated in an iteration; 0: all */
    uint32_t num_final_vibes; /* 0: keep all that pass */
    uint32_t k;               /* "K": the most axes after the final reducer */
    uint32_t clusters;
    uint32_t cluster_threshold; /* the least number of axes that `auto` clusters */
    enum vq_clustering clustering;
    enum vq_conf_linkage linkage;
    uint32_t discovery_calls; /* 1 or 2 */
    bool dedup;
    bool list_rejected; /* the proposer's prompt lists the rejected axes */
    enum vq_carried carried;
    enum vq_misclassified misclassified;
    uint32_t min_misclassified; /* iterate only if there are more rows than this; 0: d */
    double mm_stop;             /* stop at this MM train accuracy; 0: off */
    enum vq_final_order final_order;
    bool shuffle_outputs; /* the output that is shown first changes from batch to batch */
    bool compare_presets; /* the preset vibes are scored beside the discovered ones */
    uint32_t repeats;     /* repeats of the first round of discovery with other seeds; 0: none */
    /* one more call per final vibe: the kinds of questions on which it shows */
    bool question_types;
};

enum vq_conf_prefix_cache {
    VQ_CONF_PREFIX_AUTO,
    VQ_CONF_PREFIX_ON,
    VQ_CONF_PREFIX_OFF
};

enum vq_context_check {
    VQ_CONTEXT_WARN,
    VQ_CONTEXT_STRICT,
    VQ_CONTEXT_OFF
};

enum vq_early_stop {
    VQ_EARLY_STOP_OFF,
    VQ_EARLY_STOP_EXACT,
    VQ_EARLY_STOP_FINAL
};

struct vq_conf_judging {
    enum vq_pair_rule pair_rule;
    bool lazy_swap;     /* default: on under the strict pair rule; refused under the others */
    double audit_share; /* share of settled cells whose second order is asked anyway, default 0.1 */
    bool repair;
    bool truncate;
    uint32_t tries_max; /* sends of one call, default 6 */
    /* the number of first calls of a judge that fail the same way before its pool is parked;
     * default 8; 0: off */
    uint32_t brake;
    /* EXACT stops vibes that cannot pass any more, FINAL also those that surely pass. Default:
     * EXACT with discovery, if possible */
    enum vq_early_stop early_stop;
    double early_stop_alpha;  /* 0: exactly */
    uint32_t early_stop_rows; /* rows before the first check if alpha > 0; default 50 */
    uint32_t vibes_per_call;  /* default 1; more: one call asks about several vibes */
    enum vq_form form;
    enum vq_invalid invalid;
    double retest; /* share of the cells that are asked again, for the judges' flip rate */
    enum vq_conf_prefix_cache prefix_cache;
    enum vq_context_check context_check;
    bool structured; /* a schema in the request makes the verdict JSON */
    bool logprobs;   /* the log-probabilities of the verdict's tokens are requested */
};

struct vq_conf_escalate {
    /* escalate below this margin between the first judge's two likeliest labels; 0: off */
    double margin;
    bool disagree; /* escalate if the first judge's two orders disagree */
};

/* A cascade: the first of two judges answers all cells, the other one some
 * (docs/method/cascade.md). */
struct vq_conf_cascade {
    char *first; /* a judge's name */
    struct vq_conf_escalate escalate;
    double audit; /* share of all cells that both answer, default 0.1 */
};

struct vq_conf_gates {
    enum vq_gate_separability separability;
    double separability_min; /* default 0.05, strict inequality */
    enum vq_gate_preference preference;
    bool kappa;
    double kappa_min;             /* default 0.2 */
    enum vq_conf_overlap overlap; /* default for preset runs: off */
    double overlap_max;           /* default 0.8 */
};

struct vq_conf_regression {
    enum vq_cv cv;
    enum vq_estimator estimator;
    bool length;      /* default on */
    bool standardise; /* default off */
    enum vq_p_values p_values;
    uint32_t bootstrap_draws; /* default 1,000 */
};

struct vq_conf_report {
    char *by;          /* NULL, or a user's column: separability and MM for each of its values */
    uint32_t examples; /* for each vibe and direction */
};

struct vq_conf_attempts { /* over all leases of a task; 0: no cap */
    uint32_t max;
    uint32_t provider, network, lost, bad_response, closed, unknown;
};

struct vq_conf_alarm {
    uint32_t idle_s; /* default 600; 0: off */
    uint32_t slow_s; /* default 180; 0: off */
    char *command;   /* a shell command; NULL: none */
    char *webhook;   /* env:NAME, file:PATH or a URL; NULL: none. Never printed */
};

struct vq_conf_offline { /* the built-in server, for judges that need it */
    uint64_t seed;
    char *oracle;  /* NULL, or its file of true answers */
    char *faults;  /* NULL, or its script of faults */
    char *subject; /* NULL, or its option `subject` */
};

struct vq_config {
    char *file; /* path of the file; "(command line)" if there is none */
    char *name; /* run id; NULL: the CLI makes it from data and time */
    struct vq_conf_data data;
    /* Column names: A and B, or up to VQ_MODELS_MAX; the rest NULL. Method judge may have one,
     * method persona has none */
    char *models[VQ_MODELS_MAX];
    uint32_t models_count;
    struct vq_conf_pairs *pairs; /* NULL: all pairs of the models */
    enum vq_conf_method method;
    struct vq_conf_axis *vibes;
    uint32_t vibes_count;
    struct vq_conf_criterion *criteria;
    uint32_t criteria_count;
    struct vq_conf_rating rating;
    struct vq_conf_subject *subjects;
    uint32_t subjects_count;
    struct vq_conf_dialogues *dialogues; /* NULL: another method */
    struct vq_conf_probe *probes;
    uint32_t probes_count;
    struct vq_conf_pool *pools;
    uint32_t pools_count;
    double budget_usd; /* 0: none */
    char *deadline;    /* as vq_when_parse reads it; NULL: none */
    struct vq_conf_judge *judges;
    uint32_t judges_count;
    enum vq_preference_source preference;
    struct vq_conf_judge *preference_judges; /* none: `judges` */
    uint32_t preference_judges_count;
    struct vq_conf_judge *proposer; /* NULL: the first judge */
    /* proposers of vibecheck.repeats, in turn; none: the proposer */
    struct vq_conf_judge *repeat_proposers;
    uint32_t repeat_proposers_count;
    struct vq_conf_judge *reducer;  /* NULL: the proposer */
    struct vq_conf_judge *embedder; /* NULL: the built-in one; model "none": no embedding */
    struct vq_conf_vibecheck vibecheck;
    struct vq_conf_judging judging;
    struct vq_conf_cascade *cascade; /* NULL: all judges answer everything */
    struct vq_conf_gates gates;
    struct vq_conf_regression regression;
    struct vq_conf_report report;
    struct vq_conf_attempts attempts;
    struct vq_conf_alarm alarm;
    struct vq_conf_offline offline;
    char *human;       /* a file of human verdicts on vibes, absolute after loading; NULL: none */
    char *prompts_dir; /* NULL: the built-in templates */
    char *redis_url;   /* redis://, rediss:// or unix:// (net/redis.h); NULL: a private server */
    char *redis_ca;    /* NULL: the certificates that the system trusts */
    uint64_t seed;     /* default 42 */
    uint32_t workers;  /* local worker processes, default 2; 0: remote workers only */
    uint32_t term_ms;  /* of a lease, default 30,000 */
    uint32_t orphan_s; /* how long a remote worker waits for a lost coordinator, default 3,600 */
};

/* Reads, validates and fills defaults. `overrides`: "a.b=value" and "judges[0].model=x" strings,
 * applied before validation; an index equal to a list's length appends, a value is YAML if it
 * begins with [, {, " or ', else the text itself. Errors name file, line, column and key. On VQ_OK
 * the caller owns *ret_config. */
enum vq_status vq_config_load(const char *path, const char *const *overrides,
                              size_t overrides_count, struct vq_config **ret_config,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* The same from YAML text; relative paths resolve against `base_dir`, and a relative `base_dir`
 * against the working folder. An empty text with overrides is allowed. */
enum vq_status vq_config_parse(const char *yaml, size_t bytes, const char *name_for_errors,
                               const char *base_dir, const char *const *overrides,
                               size_t overrides_count, struct vq_config **ret_config,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the content of runs/ID/run.yaml: YAML in a stable order, with all defaults and absolute
 * paths. It parses back to an equal config. The caller frees *ret_yaml with vq_free. */
enum vq_status vq_config_write(const struct vq_config *config, char **ret_yaml,
                               size_t *ret_bytes) VQ_WARN_UNUSED;
void vq_config_destroy(struct vq_config **config);

#define VQ_CONFIG_KEY_BYTES 256
/* Calls `fn` for each key of run.yaml whose value differs, in the order of the file:
 * "judges[0].model". For a section or an item that only one of them has, `fn` gets the name of the
 * section or item. Returns VQ_OK, or the first other status of `fn`. */
typedef enum vq_status (*vq_config_key_fn)(void *ctx, const char *key);
enum vq_status vq_config_differences(const struct vq_config *was, const struct vq_config *now,
                                     vq_config_key_fn fn, void *ctx) VQ_WARN_UNUSED;

/* The index of the first judge of a cascade; the other judge has 1 - this. The rules have checked
 * the name. */
static inline uint32_t vq_config_first_judge(const struct vq_config *config)
{
    return strcmp(config->judges[0].name, config->cascade->first) == 0 ? 0 : 1;
}

/* Whether there are more than two models: then rows compare pairs of models, and each vibe ranks
 * the models. */
static inline bool vq_config_ranks(const struct vq_config *config)
{
    return config->models_count > 2;
}
