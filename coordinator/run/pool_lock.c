/* Locks of provider keys: the wanted keys of each pool, tried and renewed in turns of the loop.
 *
 * Invariants: a pool counts as ours only while each of its keys is held by file and, with a shared
 * Redis, within a term of the last renewal that Redis confirmed, counted from when it was sent. The
 * entry in Redis lives for two terms. A coordinator that loses the connection stops granting after
 * one term; its workers' slices are over after the second; only then may another run have the key.
 * There is one request per key at a time; it owns itself and may outlive the locks. Not its job:
 * the files (pool_file.c), the effects of a locked pool (the authority). */
#include "coordinator/run/pool_lock.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/run/pool_file.h"

#include <math.h>
#include <stdio.h>

#define NAME_BYTES   VQ_HEX_BYTES(16)
#define ME_BYTES     (2 * VQ_HEX_BYTES(VQ_ID_BYTES))
#define OWNER_BYTES  256u
#define REDIS_TERMS  2
#define REDIS_RENEWS 4 /* per term */
#define USES_MAX     (4 * VQ_POOL_LOCKS_MAX)
#define AGAIN        "; it is tried again every second"

struct request {
    struct vq_pool_locks *locks; /* NULL: they were destroyed */
    uint32_t entry;
    uint32_t share;
    int64_t sent_ns;
};

struct entry { /* one key */
    char name[NAME_BYTES];
    uint32_t share; /* wanted */
    struct vq_pool_file *file;
    uint32_t file_share;
    int64_t file_next_ns; /* next time to try or to touch */
    struct request *request;
    int64_t redis_until_ns; /* held in Redis until then */
    int64_t redis_next_ns;
    char text[VQ_AUTHORITY_TEXT_BYTES]; /* why it is not held */
};

struct use {
    uint32_t pool, entry;
};

struct pool {
    bool wanted, reported, ours;
    char text[VQ_AUTHORITY_TEXT_BYTES];
};

struct vq_pool_locks {
    struct vq_pool_locks_options options; /* its texts are owned */
    char *dir, *run_name;
    char me[ME_BYTES], uid[VQ_HEX_BYTES(VQ_ID_BYTES)], who[OWNER_BYTES];
    struct entry *entries;
    size_t entries_count, entries_cap;
    struct use *uses;
    size_t uses_count, uses_cap;
    struct pool pools[VQ_AUTHORITY_POOLS_MAX];
    int64_t wake_ns; /* time of the next tick */
};

/* One hash per key: owner -> "END_MS SHARE WHO". ARGV: owner, uid of the run, TTL in ms, share,
 * text about the owner, the whole. An earlier start of the same run is over, because this process
 * has the run's lock. */
static const struct vq_redis_script take_script = {
    "local t = redis.call('TIME')\n"
    "local now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
    "local sum, who, n = 0, '', 0\n"
    "local all = redis.call('HGETALL', KEYS[1])\n"
    "for i = 1, #all, 2 do\n"
    "  if all[i] ~= ARGV[1] then\n"
    "    local ends, share, text = string.match(all[i + 1], '^(%d+) (%d+) (.*)$')\n"
    "    local mine = string.sub(all[i], 1, #ARGV[2]) == ARGV[2]\n"
    "    if mine or not ends or tonumber(ends) <= now then\n"
    "      redis.call('HDEL', KEYS[1], all[i])\n"
    "    else\n"
    "      sum, n = sum + tonumber(share), n + 1\n"
    "      if n <= 3 then who = who .. (n == 1 and '' or ', ') .. text end\n"
    "    end\n"
    "  end\n"
    "end\n"
    "if sum + tonumber(ARGV[4]) > tonumber(ARGV[6]) then return {'held', who} end\n"
    "local mine = string.format('%.0f', now + tonumber(ARGV[3])) .. ' ' .. ARGV[4] .. ' ' .. "
    "ARGV[5]\n"
    "redis.call('HSET', KEYS[1], ARGV[1], mine)\n"
    "if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then\n"
    "  redis.call('PEXPIRE', KEYS[1], ARGV[3])\n"
    "end\n"
    "return {'ok', ''}\n"};

/* ARGV: owner */
static const struct vq_redis_script drop_script = {"redis.call('HDEL', KEYS[1], ARGV[1])\n"
                                                   "return {'ok', ''}\n"};

enum vq_status vq_pool_locks_create(const struct vq_pool_locks_options *options,
                                    struct vq_pool_locks **ret_locks)
{
    struct vq_pool_locks *locks;
    VQ_TRY(VQ_ALLOC(locks, 1));
    locks->options = *options;
    locks->options.dir = locks->dir = vq_strdup(options->dir);
    locks->options.run_name = locks->run_name = vq_strdup(options->run_name);
    if (locks->dir == NULL || locks->run_name == NULL) {
        vq_pool_locks_destroy(&locks);
        return VQ_NOMEM;
    }
    char nonce[VQ_HEX_BYTES(VQ_ID_BYTES)];
    vq_hex(options->run.b, VQ_ID_BYTES, locks->uid);
    vq_hex(options->nonce.b, VQ_ID_BYTES, nonce);
    (void)snprintf(locks->me, sizeof(locks->me), "%s:%s", locks->uid, nonce);
    struct vq_pool_owner owner = {.run = locks->run_name};
    vq_pool_owner_text(&owner, vq_clock_unix_ms(), locks->who, sizeof(locks->who));
    *ret_locks = locks;
    return VQ_OK;
}

/* ---- wanted keys ---- */

/* A name that reveals neither identity nor fingerprint, and is the same on all machines. */
static void name_of(const char *identity, uint64_t fingerprint, char ret_name[NAME_BYTES])
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "vibeq-pool-lock");
    vq_hasher_field(&h, vq_span_str(identity));
    vq_hasher_u64(&h, fingerprint);
    vq_hasher_final(&h, &hash);
    vq_hex(hash.b, (NAME_BYTES - 1) / 2, ret_name);
}

static uint32_t share_of(double share)
{
    double millionths = share > 0 ? round(share * VQ_POOL_WHOLE) : 1;
    millionths = millionths < 1 ? 1 : millionths;
    return millionths < VQ_POOL_WHOLE ? (uint32_t)millionths : VQ_POOL_WHOLE;
}

static enum vq_status entry_of(struct vq_pool_locks *locks, const char *name, uint32_t *ret_entry)
{
    for (uint32_t i = 0; i < locks->entries_count; i++) {
        if (strcmp(locks->entries[i].name, name) == 0) {
            *ret_entry = i;
            return VQ_OK;
        }
    }
    VQ_TRY(
        VQ_GROW(locks->entries, &locks->entries_cap, locks->entries_count + 1, VQ_POOL_LOCKS_MAX));
    *ret_entry = (uint32_t)locks->entries_count++;
    struct entry *entry = &locks->entries[*ret_entry];
    *entry = (struct entry){.redis_until_ns = INT64_MIN,
                            .redis_next_ns = INT64_MIN,
                            .file_next_ns = INT64_MIN,
                            .text = "its key is being locked"};
    memcpy(entry->name, name, NAME_BYTES);
    return VQ_OK;
}

enum vq_status vq_pool_locks_want(struct vq_pool_locks *locks, uint32_t pool, const char *identity,
                                  uint64_t fingerprint, double share)
{
    char name[NAME_BYTES];
    uint32_t at, wanted = share_of(share);
    VQ_ASSERT(pool < VQ_AUTHORITY_POOLS_MAX);
    name_of(identity, fingerprint, name);
    VQ_TRY(entry_of(locks, name, &at));
    struct entry *entry = &locks->entries[at];
    if (wanted > entry->share) { /* a key that is held with a smaller share must be taken again */
        entry->share = wanted;
        entry->redis_until_ns = entry->redis_next_ns = entry->file_next_ns = INT64_MIN;
        locks->wake_ns = INT64_MIN;
    }
    for (size_t i = 0; i < locks->uses_count; i++) {
        if (locks->uses[i].pool == pool && locks->uses[i].entry == at) {
            return VQ_OK;
        }
    }
    VQ_TRY(VQ_GROW(locks->uses, &locks->uses_cap, locks->uses_count + 1, USES_MAX));
    locks->uses[locks->uses_count++] = (struct use){.pool = pool, .entry = at};
    locks->pools[pool].wanted = true;
    locks->wake_ns = INT64_MIN;
    return VQ_OK;
}

/* ---- by file ---- */

static void try_file(struct vq_pool_locks *locks, struct entry *entry, int64_t now_ns)
{
    if (entry->file != NULL && entry->file_share < entry->share) {
        vq_pool_file_release(&entry->file);
    }
    if (now_ns < entry->file_next_ns) {
        return;
    }
    entry->file_next_ns = now_ns + VQ_POOL_LOCK_RETRY_NS;
    if (entry->file != NULL) {
        vq_pool_file_touch(entry->file);
        return;
    }
    struct vq_pool_owner me = {.run = locks->run_name,
                               .uid = locks->options.run,
                               .term_ms = locks->options.term_ms,
                               .share = entry->share};
    struct vq_error err = {""};
    enum vq_status status =
        vq_pool_file_take(locks->dir, entry->name, &me, vq_clock_unix_ms(), &entry->file, &err);
    entry->file_share = entry->share;
    if (status != VQ_OK) {
        (void)snprintf(entry->text, sizeof(entry->text), "%.*s" AGAIN,
                       (int)(sizeof(entry->text) - sizeof(AGAIN)),
                       err.text[0] != '\0' ? err.text : vq_status_text(status));
    } else if (locks->options.redis != NULL) {
        (void)snprintf(entry->text, sizeof(entry->text),
                       "its key is being locked on the shared Redis");
    }
}

/* ---- by Redis ---- */

static struct vq_span key_of(const struct entry *entry, char *buf, size_t bytes)
{
    (void)snprintf(buf, bytes, "vibeq:pool:%s", entry->name);
    return vq_span_str(buf);
}

static void on_taken(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct request *request = ctx;
    struct vq_pool_locks *locks = request->locks;
    if (locks != NULL) {
        struct entry *entry = &locks->entries[request->entry];
        int64_t term_ns = (int64_t)locks->options.term_ms * VQ_NS_PER_MS;
        entry->request = NULL;
        locks->wake_ns = INT64_MIN;
        bool said = status == VQ_OK && reply->type == VQ_REDIS_ARRAY && reply->items == 2;
        struct vq_span word = said ? vq_redis_reply_item(reply, 0).text : vq_span("", 0);
        struct vq_span who = said ? vq_redis_reply_item(reply, 1).text : vq_span("", 0);
        if (vq_span_eq(word, vq_span_str("ok")) && request->share >= entry->share) {
            entry->redis_until_ns = request->sent_ns + term_ns;
        } else if (vq_span_eq(word, vq_span_str("held"))) {
            entry->redis_until_ns = INT64_MIN;
            (void)snprintf(entry->text, sizeof(entry->text), "%.*s has its key" AGAIN,
                           (int)(who.bytes < 190 ? who.bytes : 190), who.at);
        } else if (!said) { /* it may still be held until its time is over */
            (void)snprintf(entry->text, sizeof(entry->text),
                           "the shared Redis does not answer for its key" AGAIN);
        }
    }
    vq_free(request);
}

static void try_redis(struct vq_pool_locks *locks, uint32_t at, int64_t now_ns)
{
    struct entry *entry = &locks->entries[at];
    if (entry->file == NULL || entry->request != NULL || now_ns < entry->redis_next_ns) {
        return;
    }
    struct request *request = vq_alloc(1, sizeof(*request));
    if (request == NULL) {
        return;
    }
    char key[64], ttl[24], share[24], whole[24];
    (void)snprintf(ttl, sizeof(ttl), "%llu",
                   (unsigned long long)locks->options.term_ms * REDIS_TERMS);
    (void)snprintf(share, sizeof(share), "%u", entry->share);
    (void)snprintf(whole, sizeof(whole), "%u", VQ_POOL_WHOLE);
    struct vq_span keys[] = {key_of(entry, key, sizeof(key))};
    struct vq_span args[] = {vq_span_str(locks->me), vq_span_str(locks->uid), vq_span_str(ttl),
                             vq_span_str(share),     vq_span_str(locks->who), vq_span_str(whole)};
    *request =
        (struct request){.locks = locks, .entry = at, .share = entry->share, .sent_ns = now_ns};
    if (vq_redis_eval(locks->options.redis, &take_script, keys, 1, args, VQ_COUNT(args), on_taken,
                      request) != VQ_OK) {
        vq_free(request);
        (void)snprintf(entry->text, sizeof(entry->text),
                       "the shared Redis cannot be asked for its key" AGAIN);
        entry->redis_next_ns = now_ns + VQ_POOL_LOCK_RETRY_NS;
        return;
    }
    entry->request = request;
    int64_t renew_ns = (int64_t)locks->options.term_ms * VQ_NS_PER_MS / REDIS_RENEWS;
    entry->redis_next_ns =
        now_ns + (renew_ns < VQ_POOL_LOCK_RETRY_NS ? renew_ns : VQ_POOL_LOCK_RETRY_NS);
}

/* ---- results ---- */

static bool is_held(const struct vq_pool_locks *locks, const struct entry *entry, int64_t now_ns)
{
    return entry->file != NULL && (locks->options.redis == NULL || now_ns < entry->redis_until_ns);
}

static void report(struct vq_pool_locks *locks, uint32_t p, const struct entry *missing)
{
    struct pool *pool = &locks->pools[p];
    bool ours = missing == NULL;
    const char *text = ours ? "" : missing->text;
    if (pool->reported && pool->ours == ours && strcmp(pool->text, text) == 0) {
        return;
    }
    pool->reported = true;
    pool->ours = ours;
    (void)snprintf(pool->text, sizeof(pool->text), "%s", text);
    if (locks->options.changed != NULL) {
        locks->options.changed(locks->options.ctx, p, ours, ours ? NULL : pool->text);
    }
}

/* When the key's file or its entry in Redis is tried again, or when the entry expires. */
static int64_t entry_wake_ns(const struct vq_pool_locks *locks, const struct entry *entry,
                             int64_t now_ns)
{
    int64_t wake_ns = entry->file_next_ns;
    if (locks->options.redis != NULL && entry->file != NULL) {
        if (entry->request == NULL && entry->redis_next_ns < wake_ns) {
            wake_ns = entry->redis_next_ns;
        }
        if (entry->redis_until_ns > now_ns && entry->redis_until_ns < wake_ns) {
            wake_ns = entry->redis_until_ns;
        }
    }
    return wake_ns;
}

int64_t vq_pool_locks_wake_ns(const struct vq_pool_locks *locks)
{
    return locks->wake_ns;
}

void vq_pool_locks_tick(struct vq_pool_locks *locks, int64_t now_ns)
{
    const struct entry *missing[VQ_AUTHORITY_POOLS_MAX] = {NULL};
    locks->wake_ns = INT64_MAX;
    for (uint32_t i = 0; i < locks->entries_count; i++) {
        try_file(locks, &locks->entries[i], now_ns);
        if (locks->options.redis != NULL) {
            try_redis(locks, i, now_ns);
        }
        int64_t wake_ns = entry_wake_ns(locks, &locks->entries[i], now_ns);
        locks->wake_ns = wake_ns < locks->wake_ns ? wake_ns : locks->wake_ns;
    }
    for (size_t i = 0; i < locks->uses_count; i++) {
        const struct entry *entry = &locks->entries[locks->uses[i].entry];
        if (!is_held(locks, entry, now_ns) && missing[locks->uses[i].pool] == NULL) {
            missing[locks->uses[i].pool] = entry;
        }
    }
    for (uint32_t p = 0; p < VQ_AUTHORITY_POOLS_MAX; p++) {
        if (locks->pools[p].wanted) {
            report(locks, p, missing[p]);
        }
    }
}

bool vq_pool_locks_ours(const struct vq_pool_locks *locks, uint32_t pool)
{
    return pool < VQ_AUTHORITY_POOLS_MAX && locks->pools[pool].ours;
}

/* A request that still waits for a reply drops the reply. */
static void forget_request(struct entry *entry)
{
    if (entry->request != NULL) {
        entry->request->locks = NULL;
        entry->request = NULL;
    }
}

void vq_pool_locks_release(struct vq_pool_locks *locks)
{
    for (size_t i = 0; i < locks->entries_count; i++) {
        struct entry *entry = &locks->entries[i];
        char key[64];
        struct vq_span keys[] = {key_of(entry, key, sizeof(key))};
        struct vq_span args[] = {vq_span_str(locks->me)};
        bool asked = entry->request != NULL || entry->redis_until_ns != INT64_MIN;
        if (locks->options.redis != NULL && asked) { /* without a connection, the entry expires */
            enum vq_status status =
                vq_redis_eval(locks->options.redis, &drop_script, keys, 1, args, 1, NULL, NULL);
            (void)status;
        }
        forget_request(entry);
        vq_pool_file_release(&entry->file);
    }
    locks->entries_count = locks->uses_count = 0;
    memset(locks->pools, 0, sizeof(locks->pools));
}

void vq_pool_locks_destroy(struct vq_pool_locks **locks)
{
    if (*locks == NULL) {
        return;
    }
    for (size_t i = 0; i < (*locks)->entries_count; i++) {
        forget_request(&(*locks)->entries[i]);
        vq_pool_file_abandon(&(*locks)->entries[i].file);
    }
    vq_free((*locks)->entries);
    vq_free((*locks)->uses);
    vq_free((*locks)->dir);
    vq_free((*locks)->run_name);
    vq_free(*locks);
    *locks = NULL;
}
