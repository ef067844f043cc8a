/* One table (config_keys.def), read twice: once as libcyaml's schema, which moves values between YAML and the struct, and
 * once as our key table, which holds what libcyaml has no place for: defaults, ranges, meanings. Invariant: both list the same
 * keys in the same order (the test of this file walks them together). */
#include "common/conf/schema.h"

#include "common/conf/config.h"
#include "common/conf/config_keys.def"

#include <cyaml/cyaml.h>
#include <string.h>

/* Words of the enums, in the order of the enums in config.h. */
#define WORDS(name, ...)                                                                           \
    static const cyaml_strval_t name[] = {__VA_ARGS__};                                            \
    enum {                                                                                         \
        name##_count = VQ_COUNT(name)                                                              \
    }

WORDS(method_words, {"preset", VQ_METHOD_PRESET}, {"vibes", VQ_METHOD_VIBES},
      {"discover", VQ_METHOD_DISCOVER}, {"judge", VQ_METHOD_JUDGE}, {"persona", VQ_METHOD_PERSONA});
WORDS(preference_words, {"data", VQ_PREFERENCE_DATA}, {"judge", VQ_PREFERENCE_JUDGE});
WORDS(clustering_words, {"auto", VQ_CLUSTERING_AUTO}, {"always", VQ_CLUSTERING_ALWAYS},
      {"never", VQ_CLUSTERING_NEVER});
WORDS(linkage_words, {"ward", VQ_CONF_LINKAGE_WARD}, {"average", VQ_CONF_LINKAGE_AVERAGE},
      {"complete", VQ_CONF_LINKAGE_COMPLETE});
WORDS(misclassified_words, {"mm", VQ_MISCLASSIFIED_MM}, {"mm_or_pp", VQ_MISCLASSIFIED_MM_OR_PP});
WORDS(carried_words, {"surviving", VQ_CARRIED_SURVIVING}, {"all", VQ_CARRIED_ALL});
WORDS(final_order_words, {"lars", VQ_FINAL_LARS}, {"separability", VQ_FINAL_SEPARABILITY},
      {"p_value", VQ_FINAL_P_VALUE});
WORDS(design_words, {"all", VQ_PAIRS_ALL}, {"baseline", VQ_PAIRS_BASELINE},
      {"incomplete", VQ_PAIRS_INCOMPLETE});
WORDS(ties_words, {"keep", VQ_TIES_KEEP}, {"drop_all", VQ_TIES_DROP_ALL});
WORDS(pair_rule_words, {"strict", VQ_PAIR_STRICT}, {"lenient", VQ_PAIR_LENIENT},
      {"forward", VQ_PAIR_FORWARD});
WORDS(positions_words, {"both", VQ_POSITIONS_BOTH}, {"alternate", VQ_POSITIONS_ALTERNATE});
WORDS(orders_words, {"both", VQ_CONF_ORDERS_BOTH}, {"original", VQ_CONF_ORDERS_ORIGINAL});
WORDS(rating_policy_words, {"strict", VQ_RATING_STRICT}, {"paper", VQ_RATING_PAPER});
WORDS(system_role_words, {"system", VQ_SYSTEM_ROLE_SYSTEM}, {"developer", VQ_SYSTEM_ROLE_DEVELOPER},
      {"none", VQ_SYSTEM_ROLE_NONE});
WORDS(prefix_cache_words, {"auto", VQ_PREFIX_AUTO}, {"on", VQ_PREFIX_ON}, {"off", VQ_PREFIX_OFF});
WORDS(context_check_words, {"warn", VQ_CONTEXT_WARN}, {"strict", VQ_CONTEXT_STRICT},
      {"off", VQ_CONTEXT_OFF});
WORDS(form_words, {"choose", VQ_FORM_CHOOSE}, {"clear", VQ_FORM_CLEAR});
WORDS(invalid_words, {"missing", VQ_INVALID_MISSING}, {"drop_row", VQ_INVALID_DROP_ROW});
WORDS(gate_separability_words, {"point", VQ_GATE_POINT}, {"interval", VQ_GATE_INTERVAL});
WORDS(gate_preference_words, {"separability", VQ_GATE_SEP_ONLY}, {"or", VQ_GATE_SEP_OR_PREF},
      {"and", VQ_GATE_SEP_AND_PREF});
WORDS(overlap_words, {"cosine", VQ_CONF_OVERLAP_COSINE}, {"pearson", VQ_CONF_OVERLAP_PEARSON},
      {"off", VQ_CONF_OVERLAP_OFF});
WORDS(cv_words, {"log_loss", VQ_CV_LOG_LOSS}, {"paper", VQ_CV_PAPER},
      {"sklearn_folds", VQ_CV_SKLEARN_FOLDS});
WORDS(estimator_words, {"l2_cv", VQ_ESTIMATOR_L2_CV}, {"elasticnet", VQ_ESTIMATOR_ELASTICNET},
      {"lasso", VQ_ESTIMATOR_LASSO}, {"legacy_bootstrap", VQ_ESTIMATOR_LEGACY_BOOTSTRAP});
WORDS(p_values_words, {"bootstrap", VQ_P_VALUES_BOOTSTRAP}, {"wald", VQ_P_VALUES_WALD});

/* The same words for sentences. */
#define method_words_text            "preset|vibes|discover|judge|persona"
#define preference_words_text        "data|judge"
#define clustering_words_text        "auto|always|never"
#define linkage_words_text           "ward|average|complete"
#define misclassified_words_text     "mm|mm_or_pp"
#define carried_words_text           "surviving|all"
#define final_order_words_text       "lars|separability|p_value"
#define design_words_text            "all|baseline|incomplete"
#define ties_words_text              "keep|drop_all"
#define pair_rule_words_text         "strict|lenient|forward"
#define positions_words_text         "both|alternate"
#define orders_words_text            "both|original"
#define rating_policy_words_text     "strict|paper"
#define system_role_words_text       "system|developer|none"
#define prefix_cache_words_text      "auto|on|off"
#define context_check_words_text     "warn|strict|off"
#define form_words_text              "choose|clear"
#define invalid_words_text           "missing|drop_row"
#define gate_separability_words_text "point|interval"
#define gate_preference_words_text   "separability|or|and"
#define overlap_words_text           "cosine|pearson|off"
#define cv_words_text                "log_loss|paper|sklearn_folds"
#define estimator_words_text         "l2_cv|elasticnet|lasso|legacy_bootstrap"
#define p_values_words_text          "bootstrap|wald"

#define TEXT_BYTES_MAX 65536u
#define TEXT_FLAGS     (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL | CYAML_FLAG_SCALAR_QUOTE_DOUBLE)

/* First reading: libcyaml's fields. */
#define CY_TEXT(s, m, k, d, c, t)                                                                  \
    CYAML_FIELD_STRING_PTR(k, TEXT_FLAGS, struct s, m, 0, TEXT_BYTES_MAX),
#define CY_UINT(s, m, k, d, lo, hi, t) CYAML_FIELD_UINT(k, CYAML_FLAG_OPTIONAL, struct s, m),
#define CY_INT(s, m, k, d, lo, hi, t)  CYAML_FIELD_INT(k, CYAML_FLAG_OPTIONAL, struct s, m),
#define CY_REAL(s, m, k, d, lo, hi, t) CYAML_FIELD_FLOAT(k, CYAML_FLAG_OPTIONAL, struct s, m),
#define CY_BOOL(s, m, k, d, t)         CYAML_FIELD_BOOL(k, CYAML_FLAG_OPTIONAL, struct s, m),
#define CY_ENUM(s, m, k, d, w, t)                                                                  \
    CYAML_FIELD_ENUM(k, CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, struct s, m, w, w##_count),
#define CY(kind, ...) CY_##kind(__VA_ARGS__)

/* Second reading: our key table. */
#define OUR_TEXT(s, m, k, d, c, t)                                                                 \
    {.key = k, .kind = VQ_KEY_KIND_TEXT, .by_default = d, .choices = c, .meaning = t},
#define OUR_UINT(s, m, k, d, lo, hi, t)                                                            \
    {.key = k,                                                                                     \
     .kind = VQ_KEY_KIND_UINT,                                                                     \
     .by_default = d,                                                                              \
     .uint_min = lo,                                                                               \
     .int_max = hi,                                                                                \
     .meaning = t},
#define OUR_INT(s, m, k, d, lo, hi, t)                                                             \
    {.key = k,                                                                                     \
     .kind = VQ_KEY_KIND_INT,                                                                      \
     .by_default = d,                                                                              \
     .int_min = lo,                                                                                \
     .int_max = hi,                                                                                \
     .meaning = t},
#define OUR_REAL(s, m, k, d, lo, hi, t)                                                            \
    {.key = k,                                                                                     \
     .kind = VQ_KEY_KIND_REAL,                                                                     \
     .by_default = d,                                                                              \
     .real_min = lo,                                                                               \
     .real_max = hi,                                                                               \
     .meaning = t},
#define OUR_BOOL(s, m, k, d, t) {.key = k, .kind = VQ_KEY_KIND_BOOL, .by_default = d, .meaning = t},
#define OUR_ENUM(s, m, k, d, w, t)                                                                 \
    {.key = k, .kind = VQ_KEY_KIND_ENUM, .by_default = d, .choices = w##_text, .meaning = t},
#define OUR(kind, ...) OUR_##kind(__VA_ARGS__)

#define BOTH(name, LIST)                                                                           \
    static const cyaml_schema_field_t name##_fields[] = {LIST(CY) CYAML_FIELD_END};                \
    static const struct vq_key name##_keys[] = {LIST(OUR){.key = NULL}}

BOTH(data, VQ_KEYS_DATA);
BOTH(pairs, VQ_KEYS_PAIRS);
BOTH(vibe, VQ_KEYS_VIBE);
BOTH(judge, VQ_KEYS_JUDGE);
BOTH(pool_model, VQ_KEYS_POOL_MODEL);
BOTH(vibecheck, VQ_KEYS_VIBECHECK);
BOTH(rating, VQ_KEYS_RATING);
BOTH(dialogues, VQ_KEYS_DIALOGUES);
BOTH(judging, VQ_KEYS_JUDGING);
BOTH(gates, VQ_KEYS_GATES);
BOTH(regression, VQ_KEYS_REGRESSION);
BOTH(report, VQ_KEYS_REPORT);
BOTH(attempts, VQ_KEYS_ATTEMPTS);
BOTH(alarm, VQ_KEYS_ALARM);
BOTH(offline, VQ_KEYS_OFFLINE);

/* prompts.dir and redis.url are sections in YAML and plain members of struct vq_config: their offsets count from the
 * member itself. */
static const cyaml_schema_field_t prompts_fields[] = {
    {.key = "dir", .value = {CYAML_VALUE_STRING(TEXT_FLAGS, char *, 0, TEXT_BYTES_MAX)}},
    CYAML_FIELD_END};
static const cyaml_schema_field_t redis_fields[] = {
    {.key = "url", .value = {CYAML_VALUE_STRING(TEXT_FLAGS, char *, 0, TEXT_BYTES_MAX)}},
    CYAML_FIELD_END};
static const cyaml_schema_field_t budget_fields[] = {
    {.key = "usd", .value = {CYAML_VALUE_FLOAT(CYAML_FLAG_OPTIONAL, double)}}, CYAML_FIELD_END};
static const struct vq_key budget_keys[] = {VQ_KEYS_BUDGET(OUR){.key = NULL}};
static const struct vq_key prompts_keys[] = {VQ_KEYS_PROMPTS(OUR){.key = NULL}};
static const struct vq_key redis_keys[] = {VQ_KEYS_REDIS(OUR){.key = NULL}};

static const cyaml_schema_value_t model_value = {
    CYAML_VALUE_STRING(TEXT_FLAGS & ~(unsigned)CYAML_FLAG_OPTIONAL, char *, 0, TEXT_BYTES_MAX)};
static const cyaml_schema_value_t vibe_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_axis, vibe_fields)};
static const cyaml_schema_value_t judge_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_judge, judge_fields)};

/* A list of its own behind the plain keys, here and of an account. */
static const cyaml_schema_field_t criterion_fields[] = {
    VQ_KEYS_CRITERION(CY) CYAML_FIELD_SEQUENCE("human", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                                               struct vq_conf_criterion, human, &model_value, 0, 2),
    CYAML_FIELD_END};
static const cyaml_schema_value_t criterion_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_criterion, criterion_fields)};
static const struct vq_key criterion_keys[] = {
    VQ_KEYS_CRITERION(OUR){
        .key = "human",
        .kind = VQ_KEY_KIND_TEXTS,
        .items_max = 2,
        .meaning =
            "The column with what a person says, for agreement: 1 to 5, yes or no, or the better "
            "of the `models` (or `A`, `B`, `tie`); empty is unlabelled. With two `models`, and not "
            "pairwise: a list of two columns, one for each, `\"\"` for none. Not set: nobody was "
            "asked."},
    {.key = NULL},
};

/* A subject has keys of its own in front of a judge's. */
#define SUBJECT_KEYS(K) VQ_KEYS_SUBJECT(K) VQ_KEYS_JUDGE(K)
BOTH(subject, SUBJECT_KEYS);
static const cyaml_schema_value_t subject_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_subject, subject_fields)};

static const cyaml_schema_field_t probe_fields[] = {
    VQ_KEYS_PROBE(CY) CYAML_FIELD_SEQUENCE("references", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                                           struct vq_conf_probe, references, &model_value, 0, 3),
    CYAML_FIELD_END};
static const cyaml_schema_value_t probe_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_probe, probe_fields)};
static const struct vq_key probe_keys[] = {
    VQ_KEYS_PROBE(OUR){
        .key = "references",
        .kind = VQ_KEY_KIND_TEXTS,
        .items_max = 3,
        .choices = "dataset|zero|previous",
        .meaning =
            "With what the answers are compared by a pairwise criterion, some of: `dataset`, "
            "the item's reference; `zero`, the model's own answer before the dialogue; "
            "`previous`, its answer at the checkpoint before. Not set: `dataset`."},
    {.key = NULL},
};

/* An account has lists of its own: they come behind its plain keys. */
static const cyaml_schema_value_t pool_model_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_pool_model, pool_model_fields)};
static const cyaml_schema_field_t pool_fields[] = {
    VQ_KEYS_POOL(CY)
        CYAML_FIELD_SEQUENCE("keys", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_conf_pool,
                             keys, &model_value, 0, VQ_POOL_KEYS_MAX),
    CYAML_FIELD_SEQUENCE("models", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_conf_pool,
                         models, &pool_model_value, 0, VQ_POOL_MODELS_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t pool_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct vq_conf_pool, pool_fields)};

static const struct vq_key pool_keys[] = {
    VQ_KEYS_POOL(OUR){.key = "keys",
                      .kind = VQ_KEY_KIND_TEXTS,
                      .items_max = VQ_POOL_KEYS_MAX,
                      .meaning = "Where the account's keys are: `env:NAME` or `file:PATH`, each "
                                 "as of a judge. Not set: none is sent."},
    {.key = "models",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = pool_model_keys,
     .scalar_key = "model",
     .items_max = VQ_POOL_MODELS_MAX,
     .meaning = "The models it has, each with limits of its own: maps of the keys below, or plain "
                "names. Required."},
    {.key = NULL},
};

#define CY_SECTION(key, member, fields)                                                            \
    CYAML_FIELD_MAPPING(key, CYAML_FLAG_OPTIONAL, struct vq_config, member, fields)

/* One model in a role of its own; left out, another model stands in. */
#define CY_ROLE(role)                                                                              \
    CYAML_FIELD_MAPPING_PTR(#role, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,     \
                            role, judge_fields)

static const cyaml_schema_field_t run_fields[] = {
    VQ_KEYS_RUN(CY) CY_SECTION("data", data, data_fields),
    CYAML_FIELD_SEQUENCE("models", CYAML_FLAG_OPTIONAL, struct vq_config, models, &model_value, 0,
                         VQ_MODELS_MAX),
    CYAML_FIELD_MAPPING_PTR("pairs", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                            pairs, pairs_fields),
    CYAML_FIELD_SEQUENCE("vibes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config, vibes,
                         &vibe_value, 0, VQ_VIBES_MAX),
    CYAML_FIELD_SEQUENCE("criteria", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                         criteria, &criterion_value, 0, VQ_CRITERIA_MAX),
    CY_SECTION("rating", rating, rating_fields),
    CYAML_FIELD_MAPPING_PTR("dialogues", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                            dialogues, dialogues_fields),
    CYAML_FIELD_SEQUENCE("subjects", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                         subjects, &subject_value, 0, VQ_SUBJECTS_MAX),
    CYAML_FIELD_SEQUENCE("probes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                         probes, &probe_value, 0, VQ_PROBES_MAX),
    CYAML_FIELD_SEQUENCE("pools", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config, pools,
                         &pool_value, 0, VQ_CONF_POOLS_MAX),
    CY_SECTION("budget", budget_usd, budget_fields),
    CYAML_FIELD_SEQUENCE("judges", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct vq_config,
                         judges, &judge_value, 0, VQ_JUDGES_MAX),
    CYAML_FIELD_SEQUENCE("preference_judges", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct vq_config, preference_judges, &judge_value, 0, VQ_JUDGES_MAX),
    CY_ROLE(proposer),
    CYAML_FIELD_SEQUENCE("repeat_proposers", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                         struct vq_config, repeat_proposers, &judge_value, 0,
                         VQ_REPEAT_PROPOSERS_MAX),
    CY_ROLE(reducer),
    CY_ROLE(embedder),
    CY_SECTION("vibecheck", vibecheck, vibecheck_fields),
    CY_SECTION("judging", judging, judging_fields),
    CY_SECTION("gates", gates, gates_fields),
    CY_SECTION("regression", regression, regression_fields),
    CY_SECTION("report", report, report_fields),
    CY_SECTION("attempts", attempts, attempts_fields),
    CY_SECTION("alarm", alarm, alarm_fields),
    CY_SECTION("offline", offline, offline_fields),
    CY_SECTION("prompts", prompts_dir, prompts_fields),
    CY_SECTION("redis", redis_url, redis_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t run_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct vq_config, run_fields)};

#define OUR_SECTION(name, scalar)                                                                  \
    {                                                                                              \
        .key = #name, .kind = VQ_KEY_KIND_SECTION, .keys = name##_keys, .scalar_key = scalar       \
    }

#define OUR_ROLE(role, text)                                                                       \
    {                                                                                              \
        .key = #role, .kind = VQ_KEY_KIND_SECTION, .keys = judge_keys, .scalar_key = "model",      \
        .optional = true, .meaning = text                                                          \
    }

static const struct vq_key run_keys[] = {
    VQ_KEYS_RUN(OUR) OUR_SECTION(data, "path"),
    {.key = "models",
     .kind = VQ_KEY_KIND_TEXTS,
     .items_max = VQ_MODELS_MAX,
     .meaning =
         "The two columns that hold the outputs: model A, then model B. Three to 16 columns "
         "are compared in pairs and ranked. Of `method: judge` one or two columns, two for a "
         "pairwise criterion; `method: persona` has none. Required."},
    {.key = "pairs",
     .kind = VQ_KEY_KIND_SECTION,
     .keys = pairs_keys,
     .scalar_key = "design",
     .optional = true,
     .meaning = "Of more than two `models`: which pairs of them are compared on each prompt. Not "
                "set: all."},
    {.key = "vibes",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = vibe_keys,
     .items_max = VQ_VIBES_MAX,
     .meaning = "Your own vibes: maps of the keys below, or texts `\"Name: High: ... Low: ...\"`."},
    {.key = "criteria",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = criterion_keys,
     .scalar_key = "name",
     .items_max = VQ_CRITERIA_MAX,
     .meaning = "What outputs are rated by, with `method: judge`: names of built-in criteria, or "
                "maps of the keys below. With `method: persona`: by what the turns of the "
                "dialogues are rated, but for those that a probe names; not set, by `knowledge`, "
                "`style` and `in_character`."},
    OUR_SECTION(rating, NULL),
    {.key = "dialogues",
     .kind = VQ_KEY_KIND_SECTION,
     .keys = dialogues_keys,
     .scalar_key = "personas",
     .optional = true,
     .meaning =
         "Through what the subjects are led, with `method: persona`: who they play, and what "
         "they are asked."},
    {.key = "subjects",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = subject_keys,
     .scalar_key = "model",
     .items_max = VQ_SUBJECTS_MAX,
     .meaning = "The models that play the personas, with `method: persona`: maps of the keys below "
                "and of those of a judge, or plain model names. `offline-subject` is built in."},
    {.key = "probes",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = probe_keys,
     .scalar_key = "file",
     .items_max = VQ_PROBES_MAX,
     .meaning = "What is asked behind the beginnings of dialogues, with `method: persona`: maps of "
                "the keys below, or plain names of files."},
    {.key = "pools",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = pool_keys,
     .items_max = VQ_CONF_POOLS_MAX,
     .meaning = "Accounts at providers: their keys, and the limits of each model. A judge that "
                "names no `base_url` is answered by any of them that has its model."},
    OUR_SECTION(budget, "usd"),
    {.key = "judges",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = judge_keys,
     .scalar_key = "model",
     .items_max = VQ_JUDGES_MAX,
     .meaning = "Who compares or rates the outputs: maps of the keys below, or plain model names. "
                "Required."},
    {.key = "preference_judges",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = judge_keys,
     .scalar_key = "model",
     .items_max = VQ_JUDGES_MAX,
     .meaning = "Who labels rows under `preference: judge`, written like `judges`. Not set: the "
                "judges."},
    OUR_ROLE(proposer, "Who proposes axes, written like a judge. Not set: the first judge."),
    {.key = "repeat_proposers",
     .kind = VQ_KEY_KIND_SECTIONS,
     .keys = judge_keys,
     .scalar_key = "model",
     .items_max = VQ_REPEAT_PROPOSERS_MAX,
     .meaning = "Who proposes axes in the repeats of discovery (`vibecheck.repeats`), written like "
                "`judges`: "
                "the first repeat asks the first of them, and after the last one the first follows "
                "again. Not set: the proposer."},
    OUR_ROLE(reducer, "Who merges and shortens lists of axes. Not set: the proposer."),
    OUR_ROLE(embedder, "Who turns axes into vectors. Not set: the built-in `offline-embed`; "
                       "`none`: nobody, and all axes are one group."),
    OUR_SECTION(vibecheck, "preset"),
    OUR_SECTION(judging, NULL),
    OUR_SECTION(gates, NULL),
    OUR_SECTION(regression, NULL),
    OUR_SECTION(report, "by"),
    OUR_SECTION(attempts, "max"),
    OUR_SECTION(alarm, "idle_s"),
    OUR_SECTION(offline, NULL),
    OUR_SECTION(prompts, "dir"),
    OUR_SECTION(redis, "url"),
    {.key = NULL},
};

const struct vq_key *vq_conf_keys(void)
{
    return run_keys;
}

const void *vq_conf_cyaml_schema(void)
{
    return &run_schema;
}

const struct vq_key *vq_conf_find_key(const struct vq_key *keys, const char *name)
{
    for (; keys->key != NULL; keys++) {
        if (strcmp(keys->key, name) == 0) {
            return keys;
        }
    }
    return NULL;
}
