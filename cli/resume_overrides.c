/* The overrides that `vibeq resume` accepts: always, or while the run has no answer. Both lists
 * name the keys that may change: a new key of the configuration is refused until it is added to one
 * of them. Not its job: changed files (the run folder compares their hashes), and whether the run
 * has answers. */
#include "cli/resume_overrides.h"

#include "common/base/buf.h"

#include <stdio.h>
#include <string.h>

#define KEY_BYTES 256

static const char *const may_change[] = {
    "workers",
    "deadline",
    "term_ms",
    "orphan_s",
    "redis",
    "redis.url",
    "redis.ca_file",
    "judging.tries_max",
    "judging.brake",
    "judging.prefix_cache",
    "judging.context_check",
    "alarm.idle_s",
    "alarm.slow_s",
    "alarm.command",
    "alarm.webhook",
    "attempts.max",
    "attempts.provider",
    "attempts.network",
    "attempts.lost",
    "attempts.bad_response",
    "attempts.closed",
    "attempts.unknown",
    "budget",
    "budget.usd",
    "pools",
};

/* The keys that name models; "[]" matches any index. */
static const char *const models[] = {"judges[].",   "preference_judges[].",
                                     "subjects[].", "repeat_proposers[].",
                                     "proposer.",   "reducer.",
                                     "embedder."};
static const char *const may_change_of_model[] = {
    "base_url",
    "allow_http",
    "key",
    "requests_per_minute",
    "input_tokens_per_minute",
    "output_tokens_per_minute",
    "tokens_per_minute",
    "requests_per_day",
    "tokens_per_day",
    "concurrency",
    "window_s",
    "share",
    "price_input_usd",
    "price_cached_usd",
    "price_cache_write_usd",
    "price_output_usd",
    "service_tier",
    "service_tier_price",
    "service_tier_tries",
    "connect_timeout_ms",
    "first_byte_timeout_ms",
    "total_timeout_ms",
};

/* The form of the question to the judges, but neither the models nor the data: it may change while
 * no answer to the old question exists. */
static const char *const may_change_unanswered[] = {"judging.structured", "judging.repair",
                                                    "judging.truncate", "judging.logprobs"};
static const char *const may_change_unanswered_of_model[] = {
    "dialect",    "api_version",      "identity",    "temperature",  "send_temperature",
    "max_tokens", "max_tokens_field", "system_role", "answer_field", "seed",
};

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The part of a key after the model; NULL: the key belongs to no model. */
static const char *of_model(const char *key)
{
    for (size_t i = 0; i < VQ_COUNT(models); i++) {
        size_t n = strlen(models[i]);
        if (strncmp(key, models[i], n) == 0) {
            return key + n;
        }
    }
    return NULL;
}

static bool changes_freely(const char *key)
{
    if (strncmp(key, "pools[]", 7) ==
        0) { /* a pool may change: the identity of requests is with the model */
        return true;
    }
    const char *part = of_model(key);
    return part != NULL ? is_one_of(part, may_change_of_model, VQ_COUNT(may_change_of_model))
                        : is_one_of(key, may_change, VQ_COUNT(may_change));
}

static bool changes_before_answers(const char *key)
{
    const char *part = of_model(key);
    return part != NULL ? is_one_of(part, may_change_unanswered_of_model,
                                    VQ_COUNT(may_change_unanswered_of_model))
                        : is_one_of(key, may_change_unanswered, VQ_COUNT(may_change_unanswered));
}

/* The key of "judges[0].key=...", without its indices. False: there is none. */
static bool plain_key(const char *assignment, char ret_key[KEY_BYTES])
{
    size_t n = 0;
    bool index = false;
    for (const char *at = assignment; *at != '='; at++) {
        if (*at == '\0' || n + 1 >= KEY_BYTES) {
            return false;
        }
        index = index && *at != ']';
        if (!index) {
            ret_key[n++] = *at;
        }
        index = index || *at == '[';
    }
    ret_key[n] = '\0';
    return n > 0;
}

enum vq_status vq_resume_overrides_keys_check(const struct vq_opt_list *set, struct vq_error *err)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char key[KEY_BYTES];
        if (plain_key(set->items[i], key) && !changes_freely(key) && !changes_before_answers(key)) {
            return vq_fail(
                err, VQ_INVALID,
                "--set %.*s: a resumed run keeps its settings; only workers, pools, limits, keys, "
                "endpoints, prices, the budget and time limits may change. For anything else start "
                "a new run: answers that are stored are not bought again",
                (int)strcspn(set->items[i], "="), set->items[i]);
        }
    }
    return VQ_OK;
}

bool vq_resume_overrides_may_change(const char *key)
{
    char assignment[KEY_BYTES + 1], plain[KEY_BYTES];
    (void)snprintf(assignment, sizeof(assignment), "%s=", key);
    return plain_key(assignment, plain) && changes_freely(plain);
}

bool vq_resume_overrides_changes_requests(const char *assignment)
{
    char key[KEY_BYTES];
    if (!plain_key(assignment, key)) {
        return false;
    }
    const char *part = of_model(key);
    return changes_before_answers(key) || (part != NULL && strcmp(part, "base_url") == 0);
}

const char *vq_resume_overrides_before_answers(const struct vq_opt_list *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char key[KEY_BYTES];
        if (plain_key(set->items[i], key) && changes_before_answers(key)) {
            return set->items[i];
        }
    }
    return NULL;
}

/* Host and path, as in the identity of a provider. */
static struct vq_span place(const char *base_url)
{
    const char *host = strstr(base_url, "://");
    struct vq_span at = vq_span_str(host == NULL ? base_url : host + 3);
    while (at.bytes > 0 && at.at[at.bytes - 1] == '/') {
        at.bytes--;
    }
    return at;
}

static bool same_provider(const struct vq_conf_judge *a, const struct vq_conf_judge *b)
{
    if (a->identity != NULL || (a->base_url == NULL && b->base_url == NULL)) {
        return true;
    }
    return a->base_url != NULL && b->base_url != NULL &&
           vq_span_eq(place(a->base_url), place(b->base_url));
}

static enum vq_status check_one(const char *role, uint32_t i, const struct vq_conf_judge *was,
                                const struct vq_conf_judge *now, struct vq_error *err)
{
    if (same_provider(was, now)) {
        return VQ_OK;
    }
    return vq_fail(err, VQ_INVALID,
                   "--set %s[%u].base_url: another endpoint is another provider, whose answers are "
                   "not those of this run. Models that may move between endpoints have an "
                   "`identity` from the start; else start a new run",
                   role, i);
}

static enum vq_status check_list(const char *role, const struct vq_conf_judge *was,
                                 uint32_t was_count, const struct vq_conf_judge *now,
                                 uint32_t now_count, struct vq_error *err)
{
    for (uint32_t i = 0; i < was_count && i < now_count; i++) {
        VQ_TRY(check_one(role, i, &was[i], &now[i], err));
    }
    return VQ_OK;
}

enum vq_status vq_resume_overrides_judges_check(const struct vq_config *was,
                                                const struct vq_config *now, struct vq_error *err)
{
    VQ_TRY(
        check_list("judges", was->judges, was->judges_count, now->judges, now->judges_count, err));
    VQ_TRY(check_list("preference_judges", was->preference_judges, was->preference_judges_count,
                      now->preference_judges, now->preference_judges_count, err));
    VQ_TRY(check_list("repeat_proposers", was->repeat_proposers, was->repeat_proposers_count,
                      now->repeat_proposers, now->repeat_proposers_count, err));
    for (uint32_t i = 0; i < was->subjects_count && i < now->subjects_count; i++) {
        VQ_TRY(check_one("subjects", i, &was->subjects[i].judge, &now->subjects[i].judge, err));
    }
    const struct {
        const char *role;
        const struct vq_conf_judge *was, *now;
    } roles[] = {{"proposer", was->proposer, now->proposer},
                 {"reducer", was->reducer, now->reducer},
                 {"embedder", was->embedder, now->embedder}};
    for (size_t i = 0; i < VQ_COUNT(roles); i++) {
        VQ_TRY(check_list(roles[i].role, roles[i].was, roles[i].was != NULL, roles[i].now,
                          roles[i].now != NULL, err));
    }
    return VQ_OK;
}
