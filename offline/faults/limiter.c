/* Sliding windows of admitted requests, one queue of (time, tokens) a pool. Invariant: over any
 * window of window_ns no pool admits more requests or tokens than its limit. Not its job: HTTP. */
#include "offline/faults/limiter.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define POOLS_MAX   4096
#define ENTRIES_MAX (4u << 20)

struct entry {
    int64_t at_ns;
    uint64_t tokens;
};

struct pool {
    uint64_t name;
    struct entry
        *entries; /* from `head`, `n` of them; older ones are dropped as they leave the window */
    size_t head;
    size_t n;
    size_t cap;
    uint64_t tokens; /* sum over the entries */
    uint64_t running;
};

struct vq_limiter {
    struct vq_limits limits;
    struct pool *pools;
    size_t n;
    size_t cap;
};

static bool parse_number(const char *text, uint64_t *ret_number)
{
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);
    *ret_number = number;
    return end != text && *end == '\0' && text[0] != '-';
}

static bool set_limit(struct vq_limits *limits, const char *name, const char *value)
{
    uint64_t number = 0;
    if (strcmp(name, "per") == 0) {
        limits->per_key = strcmp(value, "key") == 0 || strcmp(value, "both") == 0;
        limits->per_model = strcmp(value, "model") == 0 || strcmp(value, "both") == 0;
        return limits->per_key || limits->per_model || strcmp(value, "all") == 0;
    }
    if (strcmp(name, "hint") == 0 && strcmp(value, "absent") == 0) {
        limits->hint_percent = -1;
        return true;
    }
    if (strcmp(name, "hint") == 0 && strcmp(value, "right") == 0) {
        limits->hint_percent = 100;
        return true;
    }
    if (!parse_number(value, &number) || number > UINT32_MAX) {
        return false;
    }
    if (strcmp(name, "rpm") == 0) {
        limits->requests = number;
    } else if (strcmp(name, "tpm") == 0) {
        limits->tokens = number;
    } else if (strcmp(name, "concurrency") == 0) {
        limits->concurrency = number;
    } else if (strcmp(name, "window_ms") == 0 && number > 0) {
        limits->window_ns = (int64_t)number * VQ_NS_PER_MS;
    } else if (strcmp(name, "count_refused") == 0) {
        limits->count_refused = number != 0;
    } else if (strcmp(name, "hint") == 0 && number <= 10000) {
        limits->hint_percent = (int64_t)number;
    } else {
        return false;
    }
    return true;
}

enum vq_status vq_limits_parse(const char *text, struct vq_limits *ret_limits, struct vq_error *err)
{
    struct vq_limits limits = {.window_ns = 60 * VQ_NS_PER_S, .per_key = true, .hint_percent = 100};
    char *copy = vq_strdup(text);
    if (copy == NULL) {
        return VQ_NOMEM;
    }
    enum vq_status status = VQ_OK;
    char *rest = NULL;
    for (char *pair = strtok_r(copy, ",", &rest); status == VQ_OK && pair != NULL;
         pair = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(pair, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        if (equals == NULL || !set_limit(&limits, pair, equals + 1)) {
            status = vq_fail(err, VQ_INVALID,
                             "\"%s\" is not a limit; write for example rpm=60,tpm=90000,"
                             "concurrency=4,window_ms=60000,per=key",
                             pair);
        }
    }
    vq_free(copy);
    if (status == VQ_OK) {
        *ret_limits = limits;
    }
    return status;
}

bool vq_limits_any(const struct vq_limits *limits)
{
    return limits->requests > 0 || limits->tokens > 0 || limits->concurrency > 0;
}

enum vq_status vq_limiter_create(const struct vq_limits *limits, struct vq_limiter **ret_limiter)
{
    struct vq_limiter *limiter = vq_alloc(1, sizeof(*limiter));
    if (limiter == NULL) {
        return VQ_NOMEM;
    }
    limiter->limits = *limits;
    *ret_limiter = limiter;
    return VQ_OK;
}

void vq_limiter_destroy(struct vq_limiter **limiter)
{
    if (*limiter == NULL) {
        return;
    }
    for (size_t i = 0; i < (*limiter)->n; i++) {
        vq_free((*limiter)->pools[i].entries);
    }
    vq_free((*limiter)->pools);
    vq_free(*limiter);
    *limiter = NULL;
}

static struct pool *find_pool(struct vq_limiter *limiter, uint64_t name)
{
    for (size_t i = 0; i < limiter->n; i++) {
        if (limiter->pools[i].name == name) {
            return &limiter->pools[i];
        }
    }
    return NULL;
}

static enum vq_status open_pool(struct vq_limiter *limiter, uint64_t name, struct pool **ret_pool)
{
    struct pool *pool = find_pool(limiter, name);
    if (pool == NULL) {
        void *array = limiter->pools;
        VQ_TRY(vq_grow(&array, &limiter->cap, limiter->n + 1, sizeof(*pool), POOLS_MAX));
        limiter->pools = array;
        pool = &limiter->pools[limiter->n++];
        *pool = (struct pool){.name = name};
    }
    *ret_pool = pool;
    return VQ_OK;
}

static void drop_old(struct pool *pool, int64_t window_ns, int64_t now_ns)
{
    while (pool->n > 0 && pool->entries[pool->head].at_ns <= now_ns - window_ns) {
        pool->tokens -= pool->entries[pool->head].tokens;
        pool->head++;
        pool->n--;
    }
    if (pool->n == 0) {
        pool->head = 0;
    }
}

static enum vq_status push(struct pool *pool, int64_t now_ns, uint64_t tokens)
{
    if (pool->head > pool->cap / 2 && pool->head + pool->n == pool->cap) {
        memmove(pool->entries, pool->entries + pool->head, pool->n * sizeof(*pool->entries));
        pool->head = 0;
    }
    void *array = pool->entries;
    VQ_TRY(
        vq_grow(&array, &pool->cap, pool->head + pool->n + 1, sizeof(struct entry), ENTRIES_MAX));
    pool->entries = array;
    pool->entries[pool->head + pool->n] = (struct entry){now_ns, tokens};
    pool->n++;
    pool->tokens += tokens;
    return VQ_OK;
}

/* Until enough of the oldest entries have left for one more request of `tokens`. */
static int64_t wait_for(const struct vq_limits *limits, const struct pool *pool, uint64_t tokens,
                        int64_t now_ns)
{
    size_t n = pool->n;
    uint64_t sum = pool->tokens;
    for (size_t i = 0; i < pool->n; i++) {
        n--;
        sum -= pool->entries[pool->head + i].tokens;
        bool fits = (limits->requests == 0 || n < limits->requests) &&
                    (limits->tokens == 0 || sum + tokens <= limits->tokens);
        if (fits) {
            return pool->entries[pool->head + i].at_ns + limits->window_ns - now_ns;
        }
    }
    return limits->window_ns;
}

static enum vq_limit_kind refusal(const struct vq_limits *limits, const struct pool *pool,
                                  uint64_t tokens)
{
    if (limits->concurrency > 0 && pool->running >= limits->concurrency) {
        return VQ_LIMIT_CONCURRENCY;
    }
    if (limits->requests > 0 && pool->n >= limits->requests) {
        return VQ_LIMIT_REQUESTS;
    }
    if (limits->tokens > 0 && pool->tokens + tokens > limits->tokens) {
        return VQ_LIMIT_TOKENS;
    }
    return VQ_LIMIT_NONE;
}

static uint64_t left(uint64_t limit, uint64_t used)
{
    return limit > used ? limit - used : 0;
}

enum vq_status vq_limiter_ask(struct vq_limiter *limiter, uint64_t pool_name, uint64_t tokens,
                              int64_t now_ns, struct vq_admission *ret_admission)
{
    const struct vq_limits *limits = &limiter->limits;
    struct pool *pool = NULL;
    VQ_TRY(open_pool(limiter, pool_name, &pool));
    drop_old(pool, limits->window_ns, now_ns);
    struct vq_admission admission = {.refused_by = refusal(limits, pool, tokens)};
    bool windowed = limits->requests > 0 || limits->tokens > 0;
    if (admission.refused_by == VQ_LIMIT_REQUESTS || admission.refused_by == VQ_LIMIT_TOKENS) {
        admission.wait_ns = wait_for(limits, pool, tokens, now_ns);
        admission.never = limits->tokens > 0 && tokens > limits->tokens;
    }
    if (admission.refused_by == VQ_LIMIT_NONE) {
        if (windowed) {
            VQ_TRY(push(pool, now_ns, tokens));
        }
        pool->running++;
    } else if (windowed && limits->count_refused) {
        VQ_TRY(push(pool, now_ns, 0));
    }
    admission.requests_left = left(limits->requests, pool->n);
    admission.tokens_left = left(limits->tokens, pool->tokens);
    if (pool->n > 0) {
        admission.reset_ns =
            pool->entries[pool->head + pool->n - 1].at_ns + limits->window_ns - now_ns;
    }
    *ret_admission = admission;
    return VQ_OK;
}

void vq_limiter_done(struct vq_limiter *limiter, uint64_t pool_name)
{
    struct pool *pool = find_pool(limiter, pool_name);
    if (pool != NULL && pool->running > 0) {
        pool->running--;
    }
}
