/* The table of keys, from config_keys.def: the place of each value in struct vq_config, its
 * default, range and meaning. Not its job: copying values (fill.c), checking them (resolve.c). */
#include "common/conf/schema.h"

#include "common/conf/config.h"
#include "common/conf/config_keys.def"

#include <stddef.h>
#include <string.h>

/* The words of the enums, in the order of their constants: a word's place is its value. */
static const char method_list[] =
#define VQ_METHOD_ROW(name, word, folder) "|" word
#include "common/conf/methods.def"
#undef VQ_METHOD_ROW
    ;
#define method_words            (method_list + 1)
#define preference_words        "data|judge"
#define clustering_words        "auto|always|never"
#define linkage_words           "ward|average|complete"
#define misclassified_words     "mm|mm_or_pp"
#define carried_words           "surviving|all"
#define final_order_words       "lars|separability|p_value"
#define design_words            "all|baseline|incomplete"
#define ties_words              "keep|drop_all"
#define pair_rule_words         "strict|lenient|forward"
#define positions_words         "both|alternate"
#define orders_words            "both|original"
#define rating_policy_words     "strict|paper"
#define system_role_words       "system|developer|none"
#define early_stop_words        "off|exact|final"
#define prefix_cache_words      "auto|on|off"
#define context_check_words     "warn|strict|off"
#define form_words              "choose|clear"
#define invalid_words           "missing|drop_row"
#define gate_separability_words "point|interval"
#define gate_preference_words   "separability|or|and"
#define overlap_words           "cosine|pearson|off"
#define cv_words                "log_loss|paper|sklearn_folds"
#define estimator_words         "l2_cv|elasticnet|lasso|legacy_bootstrap"
#define p_values_words          "bootstrap|wald"

/* Convert rows of the .def to rows of the key table. */
#define ROW(kind_, s, m, k, ...)                                                                   \
    {.kind = VQ_KEY_KIND_##kind_, .offset = offsetof(struct s, m), .key = k, __VA_ARGS__},
#define SCALAR(kind_, s, m, k, d, t, ...)                                                          \
    ROW(kind_, s, m, k, .bytes = sizeof(((struct s *)0)->m), .by_default = d, .meaning = t,        \
        __VA_ARGS__)
#define KEY_TEXT(s, m, k, d, c, t)      SCALAR(TEXT, s, m, k, d, t, .choices = c)
#define KEY_UINT(s, m, k, d, lo, hi, t) SCALAR(UINT, s, m, k, d, t, .uint_min = lo, .int_max = hi)
#define KEY_INT(s, m, k, d, lo, hi, t)  SCALAR(INT, s, m, k, d, t, .int_min = lo, .int_max = hi)
#define KEY_REAL(s, m, k, d, lo, hi, t) SCALAR(REAL, s, m, k, d, t, .real_min = lo, .real_max = hi)
#define KEY_BOOL(s, m, k, d, t)         SCALAR(BOOL, s, m, k, d, t, .choices = NULL)
#define KEY_ENUM(s, m, k, d, w, t)      SCALAR(ENUM, s, m, k, d, t, .choices = w)
#define LIST(kind_, s, m, k, max, t, ...)                                                          \
    ROW(kind_, s, m, k, .count_offset = offsetof(struct s, m##_count),                             \
        .item_bytes = sizeof(((struct s *)0)->m[0]), .items_max = max, .meaning = t, __VA_ARGS__)
#define KEY_TEXTS(s, m, k, c, max, t) LIST(TEXTS, s, m, k, max, t, .choices = c)
#define KEY_ARRAY(s, m, k, max, t)    LIST(TEXTS, s, m, k, max, t, .in_place = true)
#define KEY_SECTIONS(s, m, k, section, scalar, max, t)                                             \
    LIST(SECTIONS, s, m, k, max, t, .keys = section, .scalar_key = scalar)
#define KEY_SECTION(s, m, k, section, scalar)                                                      \
    ROW(SECTION, s, m, k, .keys = section, .scalar_key = scalar)
#define KEY_FLAT(k, section, scalar)                                                               \
    {.kind = VQ_KEY_KIND_SECTION, .key = k, .keys = section, .scalar_key = scalar},
#define KEY_OPTIONAL(s, m, k, section, scalar, t)                                                  \
    ROW(SECTION, s, m, k, .keys = section, .scalar_key = scalar, .optional = true,                 \
        .item_bytes = sizeof(*((struct s *)0)->m), .meaning = t)
#define KEY(kind, ...) KEY_##kind(__VA_ARGS__)

/* A section is defined before the section that contains it. */
#define KEYS(name, ROWS) static const struct vq_key name##_keys[] = {ROWS(KEY){.key = NULL}}

KEYS(data, VQ_KEYS_DATA);
KEYS(pairs, VQ_KEYS_PAIRS);
KEYS(vibe, VQ_KEYS_VIBE);
KEYS(judge, VQ_KEYS_JUDGE);
KEYS(batch, VQ_KEYS_BATCH);
KEYS(pool_model, VQ_KEYS_POOL_MODEL);
KEYS(vibecheck, VQ_KEYS_VIBECHECK);
KEYS(rating, VQ_KEYS_RATING);
KEYS(dialogues, VQ_KEYS_DIALOGUES);
KEYS(judging, VQ_KEYS_JUDGING);
KEYS(escalate, VQ_KEYS_ESCALATE);
KEYS(cascade, VQ_KEYS_CASCADE);
KEYS(gates, VQ_KEYS_GATES);
KEYS(regression, VQ_KEYS_REGRESSION);
KEYS(report, VQ_KEYS_REPORT);
KEYS(attempts, VQ_KEYS_ATTEMPTS);
KEYS(alarm, VQ_KEYS_ALARM);
KEYS(offline, VQ_KEYS_OFFLINE);
KEYS(budget, VQ_KEYS_BUDGET);
KEYS(prompts, VQ_KEYS_PROMPTS);
KEYS(redis, VQ_KEYS_REDIS);
KEYS(criterion, VQ_KEYS_CRITERION);
KEYS(probe, VQ_KEYS_PROBE);
KEYS(pool, VQ_KEYS_POOL);

/* A subject has its own keys, and then those of a judge. */
#define SUBJECT_KEYS(K) VQ_KEYS_SUBJECT(K) VQ_KEYS_JUDGE(K)
KEYS(subject, SUBJECT_KEYS);

KEYS(run, VQ_KEYS_RUN);

const struct vq_key *vq_conf_keys(void)
{
    return run_keys;
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
