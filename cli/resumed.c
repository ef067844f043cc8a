/* Which overrides `vibeq resume` takes. A list of what may change, not of what may not: a key that is new in the configuration is
 * refused until somebody has thought about it. Not its job: changed files (the run folder compares their hashes). */
#include "cli/resumed.h"

#include "common/base/buf.h"

#include <string.h>

#define KEY_BYTES 256

/* "[]" stands for any index. */
static const char *const may_change[] = {
    "workers",
    "term_ms",
    "orphan_s",
    "redis",
    "redis.url",
    "judging.tries_max",
    "judges[].base_url",
    "judges[].key",
    "judges[].requests_per_minute",
    "judges[].tokens_per_minute",
    "judges[].concurrency",
    "judges[].price_input_usd",
    "judges[].price_output_usd",
    "judges[].connect_timeout_ms",
    "judges[].first_byte_timeout_ms",
    "judges[].total_timeout_ms",
};

/* The key of "judges[0].key=...", its indices left out. False: there is none. */
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

enum vq_status vq_resumed_keys_check(const struct vq_opt_list *set, struct vq_error *err)
{
    for (uint32_t i = 0; i < set->count; i++) {
        char key[KEY_BYTES];
        bool known = !plain_key(set->items[i], key);
        for (size_t k = 0; k < VQ_COUNT(may_change) && !known; k++) {
            known = strcmp(key, may_change[k]) == 0;
        }
        if (!known) {
            return vq_fail(
                err, VQ_INVALID,
                "--set %.*s: a run goes on with what it began with; workers, limits, keys, "
                "endpoints, prices and time limits may change. For anything else begin "
                "a new run: answers that are stored are not bought again",
                (int)strcspn(set->items[i], "="), set->items[i]);
        }
    }
    return VQ_OK;
}

/* Host and path, as the identity of a provider takes them. */
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

enum vq_status vq_resumed_judges_check(const struct vq_config *was, const struct vq_config *now,
                                       struct vq_error *err)
{
    for (uint32_t i = 0; i < was->judges_count && i < now->judges_count; i++) {
        if (!same_provider(&was->judges[i], &now->judges[i])) {
            return vq_fail(err, VQ_INVALID,
                           "--set judges[%u].base_url: another endpoint is another provider, whose "
                           "answers are not those of this run. Judges that may move between "
                           "endpoints have an `identity` from the start; else begin a new run",
                           i);
        }
    }
    return VQ_OK;
}
