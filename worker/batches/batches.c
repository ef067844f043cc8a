/* The batches of a worker: gathering, closing, and all ways by which a batch starts. actions.c has
 * a batch's actions from its submission on. Invariants: each pool has at most one batch that
 * GATHERS; a draft is in the index while its batch exists. Not its job: HTTP, the meaning of a
 * result. */
#include "worker/batches/batches.h"

#include "common/base/alloc.h"
#include "worker/batches/inside.h"

#include <stdio.h>

/* ---- entries ---- */

enum vq_status vq_batches_create(const struct vq_batches_options *options,
                                 struct vq_batches **ret_batches)
{
    struct vq_batches *b = vq_alloc(1, sizeof(*b));
    if (b == NULL) {
        return VQ_NOMEM;
    }
    b->options = *options;
    vq_list_init(&b->list);
    vq_buf_init(&b->note, sizeof(b->text) * VQ_BATCH_ODD_MAX);
    *ret_batches = b;
    return VQ_OK;
}

static struct vq_batches_entry *entry_at(struct vq_link *link)
{
    return VQ_CONTAINER_OF(link, struct vq_batches_entry, link);
}

void vq_entry_free(struct vq_batches *b, struct vq_batches_entry *entry)
{
    for (uint32_t i = 0; i < entry->calls; i++) {
        if (entry->drafts[i] != NULL) {
            vq_index_remove(&b->by_call, &entry->drafts[i]->node);
            vq_free(entry->drafts[i]);
        }
    }
    vq_free(entry->drafts);
    vq_buf_free(&entry->document);
    if (entry->lives) {
        vq_batch_life_free(&entry->life);
    }
    vq_unlink(&entry->link);
    vq_free(entry);
    b->count--;
}

void vq_batches_destroy(struct vq_batches **batches)
{
    struct vq_batches *b = *batches;
    if (b == NULL) {
        return;
    }
    while (!vq_list_empty(&b->list)) {
        vq_entry_free(b, entry_at(b->list.next));
    }
    vq_index_free(&b->by_call);
    vq_free(b->sizes);
    vq_buf_free(&b->note);
    vq_free(b);
    *batches = NULL;
}

void vq_batches_now(struct vq_batches *b, int64_t now_ms)
{
    b->now_ms = now_ms > b->now_ms ? now_ms : b->now_ms;
}

static struct vq_batches_size *size_of(const struct vq_batches *b, struct vq_span pool)
{
    for (size_t i = 0; i < b->sizes_count; i++) {
        if (vq_span_eq(vq_span_str(b->sizes[i].pool), pool)) {
            return &b->sizes[i];
        }
    }
    return NULL;
}

/* Whether another batch of its pool is at the provider, or is about to be. */
static bool has_company(const struct vq_batches *b, const struct vq_batches_entry *entry)
{
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        const struct vq_batches_entry *other = entry_at(at);
        if (other != entry && other->state == VQ_ENTRY_LIVES &&
            strcmp(other->pool, entry->pool) == 0) {
            return true;
        }
    }
    return false;
}

/* The size is halved if the only batch at the provider is over the limit, and doubled after a full
 * batch that was not. Without memory nothing is learned. */
void vq_entry_learn_size(struct vq_batches *b, const struct vq_batches_entry *entry)
{
    struct vq_batches_size *size = size_of(b, vq_span_str(entry->pool));
    void *sizes = b->sizes;
    if (!entry->is_limited) {
        if (size != NULL && size->calls > 0 && entry->calls >= size->calls) {
            size->calls *= 2;
        }
        return;
    }
    if (has_company(b, entry)) {
        return;
    }
    if (size == NULL) {
        if (vq_grow(&sizes, &b->sizes_cap, b->sizes_count + 1, sizeof(*b->sizes),
                    VQ_WIRE_POOLS_MAX) != VQ_OK) {
            return;
        }
        b->sizes = sizes;
        size = &b->sizes[b->sizes_count++];
        memcpy(size->pool, entry->pool, sizeof(size->pool));
    }
    size->calls = entry->calls > 1 ? entry->calls / 2 : 1;
}

struct vq_batches_entry *vq_entry_open(struct vq_batches *b, const char *name,
                                       const struct vq_batches_pool *pool)
{
    struct vq_batches_entry *entry = vq_alloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    uint64_t bytes = pool->at.dialect->document_bytes_max;
    bytes = pool->bytes_max > 0 && pool->bytes_max < bytes ? pool->bytes_max : bytes;
    uint32_t calls = pool->at.dialect->calls_max;
    calls = pool->calls_max > 0 && pool->calls_max < calls ? pool->calls_max : calls;
    const struct vq_batches_size *size = size_of(b, pool->name);
    calls = size != NULL && size->calls > 0 && size->calls < calls ? size->calls : calls;
    entry->no = ++b->last_no;
    entry->state = VQ_ENTRY_GATHERS;
    entry->dialect = pool->at.dialect;
    entry->calls_max = calls;
    entry->wait_ms = pool->wait_ms;
    entry->poll_ms = pool->poll_ms;
    (void)snprintf(entry->name, sizeof(entry->name), "%s", name);
    (void)snprintf(entry->pool, sizeof(entry->pool), "%.*s", (int)pool->name.bytes, pool->name.at);
    vq_buf_init(&entry->document, (size_t)bytes);
    entry->first_ms = entry->last_ms = b->now_ms;
    vq_list_push(&b->list, &entry->link);
    b->count++;
    return entry;
}

enum vq_status vq_entry_draft(struct vq_batches *b, struct vq_batches_entry *entry, uint32_t number,
                              const struct vq_result *result, enum vq_draft_state state)
{
    void *drafts = entry->drafts;
    size_t before = entry->drafts_cap;
    VQ_TRY(vq_grow(&drafts, &entry->drafts_cap, (size_t)number + 1, sizeof(*entry->drafts),
                   VQ_BATCH_CALLS_MAX * (size_t)2));
    entry->drafts = drafts;
    memset(entry->drafts + before, 0, (entry->drafts_cap - before) * sizeof(*entry->drafts));
    struct vq_draft *draft = vq_alloc(1, sizeof(*draft) + vq_result_texts_bytes(result));
    if (draft == NULL ||
        vq_index_add(&b->by_call, &draft->node, vq_id_hash(&result->call)) != VQ_OK) {
        vq_free(draft);
        return VQ_NOMEM;
    }
    draft->batch = entry;
    draft->state = state;
    draft->result = *result;
    vq_result_texts_move(&draft->result, draft->texts);
    entry->drafts[number] = draft;
    entry->calls = number + 1 > entry->calls ? number + 1 : entry->calls;
    entry->added += state == VQ_DRAFT_ADDED ? 1 : 0;
    return VQ_OK;
}

static struct vq_draft *draft_of(const struct vq_batches *b, const struct vq_id *call)
{
    struct vq_index_node *node = vq_index_find(&b->by_call, vq_id_hash(call));
    for (; node != NULL; node = vq_index_again(node)) {
        struct vq_draft *draft = VQ_CONTAINER_OF(node, struct vq_draft, node);
        if (vq_id_eq(&draft->result.call, call)) {
            return draft;
        }
    }
    return NULL;
}

/* ---- gathering ---- */

static struct vq_batches_entry *gathering(struct vq_batches *b, struct vq_span pool)
{
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        struct vq_batches_entry *entry = entry_at(at);
        if (entry->state == VQ_ENTRY_GATHERS && vq_span_eq(vq_span_str(entry->pool), pool)) {
            return entry;
        }
    }
    return NULL;
}

static size_t documents_bytes(const struct vq_batches *b)
{
    size_t bytes = 0;
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        const struct vq_batches_entry *entry = entry_at(at);
        bytes += entry->state == VQ_ENTRY_GATHERS ? entry->document.bytes_max : entry->document.cap;
    }
    return bytes;
}

static enum vq_status open_one(struct vq_batches *b, const struct vq_batches_pool *pool,
                               struct vq_batches_entry **ret_entry)
{
    if (b->count >= VQ_BATCHES_MAX || documents_bytes(b) >= VQ_BATCHES_DOCUMENTS_BYTES_MAX) {
        return VQ_AGAIN;
    }
    char name[VQ_BATCH_NAME_BYTES_MAX + 1], front[VQ_BATCH_NAME_FRONT_BYTES];
    vq_batch_name_front(&b->options.worker, front);
    (void)snprintf(name, sizeof(name), "%s%llu", front, (unsigned long long)++b->last_name);
    *ret_entry = vq_entry_open(b, name, pool);
    return *ret_entry == NULL ? VQ_NOMEM : VQ_OK;
}

/* VQ_LIMIT: the batch is full, and does not have this call. */
static enum vq_status add_to(struct vq_batches *b, struct vq_batches_entry *entry,
                             const struct vq_batches_pool *pool, const struct vq_result *draft,
                             struct vq_span body, char ret_text[VQ_RESULT_BATCH_BYTES])
{
    uint32_t number = entry->calls;
    size_t before = entry->document.bytes;
    if (number >= entry->calls_max) {
        return VQ_LIMIT;
    }
    VQ_TRY(vq_batch_add(&pool->at, entry->name, number, body, &entry->document));
    struct vq_result result = *draft;
    vq_result_batch_text(entry->name, number, ret_text);
    result.end = VQ_END_BATCHED;
    result.error = vq_span_str(ret_text);
    enum vq_status status = vq_entry_draft(b, entry, number, &result, VQ_DRAFT_ADDED);
    if (status != VQ_OK) {
        entry->document.bytes = before;
    }
    entry->last_ms = b->now_ms;
    return status;
}

enum vq_status vq_batches_add(struct vq_batches *b, const struct vq_batches_pool *pool,
                              const struct vq_result *draft, struct vq_span body, int64_t now_ms,
                              char ret_text[VQ_RESULT_BATCH_BYTES])
{
    vq_batches_now(b, now_ms);
    struct vq_batches_entry *entry = gathering(b, pool->name);
    if (entry != NULL) {
        enum vq_status status = add_to(b, entry, pool, draft, body, ret_text);
        if (status != VQ_LIMIT) {
            return status;
        }
        if (entry->calls > 0) {
            entry->state = VQ_ENTRY_CLOSED;
        }
    }
    VQ_TRY(open_one(b, pool, &entry));
    enum vq_status status = add_to(b, entry, pool, draft, body, ret_text);
    if (status != VQ_OK) {
        vq_entry_free(b, entry);
    }
    return status;
}

void vq_batches_gathered(struct vq_batches *b, const struct vq_id *call, int64_t now_ms)
{
    vq_batches_now(b, now_ms);
    struct vq_draft *draft = draft_of(b, call);
    if (draft != NULL && draft->state == VQ_DRAFT_ADDED) {
        draft->state = VQ_DRAFT_COMMITTED;
        draft->batch->added--;
    } else if (draft != NULL && draft->state == VQ_DRAFT_COLLECTED) {
        draft->state = VQ_DRAFT_SETTLED;
        draft->batch->unsettled--;
    }
}

/* ---- the start of a life ---- */

int64_t vq_entry_planned_unix_s(const struct vq_batches_entry *entry)
{
    int64_t first_ms = INT64_MAX;
    for (uint32_t i = 0; i < entry->calls; i++) {
        const struct vq_draft *draft = entry->drafts[i];
        if (draft != NULL && draft->result.started_unix_ms < first_ms) {
            first_ms = draft->result.started_unix_ms;
        }
    }
    return first_ms == INT64_MAX ? 0 : first_ms / 1000;
}

enum vq_status vq_entry_begin(struct vq_batches *b, struct vq_batches_entry *entry,
                              const struct vq_batch_record *record,
                              const struct vq_batch_rules *rules, bool recovered)
{
    enum vq_status status = vq_batch_life_init(&entry->life, rules, record, recovered, b->now_ms);
    if (status == VQ_OK) {
        entry->lives = true;
        entry->state = VQ_ENTRY_LIVES;
    }
    return status;
}

void vq_entry_abandon(struct vq_batches_entry *entry, enum vq_batch_why why)
{
    entry->state = VQ_ENTRY_ABANDONED;
    entry->why = why;
    vq_buf_free(&entry->document);
}

void vq_batches_restart(struct vq_batches *b, int64_t now_ms)
{
    vq_batches_now(b, now_ms);
    for (struct vq_link *at = b->list.next, *next = NULL; at != &b->list; at = next) {
        struct vq_batches_entry *entry = entry_at(at);
        next = at->next;
        entry->reported.any = false;
        if (entry->state == VQ_ENTRY_INCOMING) { /* the coordinator sends all drafts again */
            vq_entry_free(b, entry);
        } else if (entry->state == VQ_ENTRY_GATHERS || entry->state == VQ_ENTRY_CLOSED) {
            vq_entry_abandon(entry, VQ_BATCH_WHY_UNSENT);
        } else if (entry->state == VQ_ENTRY_LIVES && !entry->life.rules.collects) {
            vq_batch_life_collect_only(&entry->life, b->now_ms);
        }
    }
}

/* ---- time ---- */

void vq_batches_tick(struct vq_batches *b, int64_t now_ms)
{
    static const struct vq_batch_event tick = {.type = VQ_BATCH_TICK};
    vq_batches_now(b, now_ms);
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        struct vq_batches_entry *entry = entry_at(at);
        if (entry->state == VQ_ENTRY_LIVES && vq_batch_life_wake_ms(&entry->life) <= b->now_ms) {
            vq_batch_life_step(&entry->life, &tick, b->now_ms);
        }
    }
}

int64_t vq_batches_wake_ms(const struct vq_batches *b)
{
    int64_t first_ms = INT64_MAX;
    for (struct vq_link *at = b->list.next; at != &b->list; at = at->next) {
        int64_t wake_ms = vq_entry_wake_ms(entry_at(at), b->now_ms);
        first_ms = wake_ms < first_ms ? wake_ms : first_ms;
    }
    return first_ms;
}

uint32_t vq_batches_count(const struct vq_batches *b)
{
    return b->count;
}
