/* One batch from its plan to its last result. One request is under way at a time; a cancel may be
 * sent beside it. Invariant: in the steps from STEP_CREATE on, the durable record has the phase
 * CREATING or a later one, so a crash there leads to the list, never to a second create. Owns the
 * collector's marks. Not its job: requests, files, and the owner of a call. */
#include "worker/provider/batch_life.h"

#include "common/base/hash.h"

#include <stdio.h>

enum step {
    STEP_PLAN = 1, /* the plan is being written */
    STEP_OPEN,
    STEP_UPLOAD,
    STEP_UPLOAD_WAIT,
    STEP_INTENT, /* the phase CREATING is being written */
    STEP_CREATE,
    STEP_CREATE_WAIT,
    STEP_LIST,
    STEP_LIST_WAIT,
    STEP_PEEK,
    STEP_ID, /* the id is being written */
    STEP_GET,
    STEP_GET_WAIT,
    STEP_FETCH,
    STEP_FETCH_WAIT,
    STEP_GIVE_UP, /* the actions of the calls without a result */
    STEP_SETTLE,
    STEP_DONE, /* the phase DONE is being written */
    STEP_OVER
};

const char *vq_batch_why_name(enum vq_batch_why why)
{
    static const char *const names[] = {"missing", "expired", "cancelled", "refused",
                                        "failed",  "limited", "lost",      "unsent"};
    VQ_ASSERT((size_t)why < VQ_COUNT(names));
    return names[why];
}

struct vq_batch_rules vq_batch_rules_of(const struct vq_batch_dialect *dialect,
                                        size_t document_bytes)
{
    return (struct vq_batch_rules){.poll_ms = VQ_BATCH_POLL_MS,
                                   .poll_max_ms = VQ_BATCH_POLL_MAX_MS,
                                   .settle_ms = VQ_BATCH_SETTLE_MS,
                                   .uploads = document_bytes > dialect->inline_bytes_max,
                                   .opens = dialect->open != NULL,
                                   .drops = dialect->drop != NULL,
                                   .drops_results = dialect->drops_results,
                                   .carries_name = dialect->carries_name};
}

/* ---- actions and waits ---- */

static struct vq_batch_action *push(struct vq_batch_life *life, enum vq_batch_action_type type)
{
    VQ_ASSERT(life->queue_count < VQ_BATCH_ACTIONS);
    uint32_t at = (life->queue_from + life->queue_count++) % VQ_BATCH_ACTIONS;
    life->queue[at] = (struct vq_batch_action){.type = type};
    return &life->queue[at];
}

static void go(struct vq_batch_life *life, enum step step, enum vq_batch_action_type type)
{
    life->step = (int)step;
    (void)push(life, type);
}

static void reset_backoff(struct vq_batch_life *life)
{
    life->backoff_ms = (int64_t)life->rules.poll_ms;
}

static void wait_in(struct vq_batch_life *life, enum step step, int64_t retry_after_ms)
{
    int64_t most_ms = (int64_t)life->rules.poll_max_ms;
    int64_t wait_ms = retry_after_ms > life->backoff_ms ? retry_after_ms : life->backoff_ms;
    life->step = (int)step;
    life->wake_ms = life->now_ms + wait_ms;
    life->backoff_ms += life->backoff_ms / 2;
    life->backoff_ms = life->backoff_ms < most_ms ? life->backoff_ms : most_ms;
}

static bool settled_since(const struct vq_batch_life *life, int64_t from_ms, int64_t at_ms)
{
    return at_ms - from_ms >= (int64_t)life->rules.settle_ms;
}

/* ---- the end ---- */

static void give_up(struct vq_batch_life *life, enum vq_batch_why why)
{
    life->step = (int)STEP_GIVE_UP;
    life->why = why;
    life->give_up_from = 0;
}

static void write_done(struct vq_batch_life *life)
{
    life->record.phase = VQ_BATCH_DONE;
    go(life, STEP_DONE, VQ_BATCH_DO_WRITE);
}

static void finish(struct vq_batch_life *life)
{
    const struct vq_batch_view *view = &life->view;
    const char *own = life->record.file;
    const char *const files[] = {own[0] != '\0' ? own : view->input_file, view->output_file,
                                 view->error_file};
    size_t count = life->rules.drops_results ? VQ_COUNT(files) : 1;
    for (size_t i = 0; life->rules.drops && i < count; i++) {
        if (files[i][0] != '\0') {
            push(life, VQ_BATCH_DO_DROP)->text = files[i];
        }
    }
    go(life, STEP_OVER, VQ_BATCH_DO_FINISH);
}

/* ---- before the create ---- */

static void write_intent(struct vq_batch_life *life)
{
    life->record.phase = VQ_BATCH_CREATING;
    go(life, STEP_INTENT, VQ_BATCH_DO_WRITE);
}

/* Sends `type`, unless the batch must be cancelled or only collected: the provider does not have
 * it, so its calls are given up. */
static void send_unless_over(struct vq_batch_life *life, enum step step,
                             enum vq_batch_action_type type)
{
    if (life->cancel) {
        give_up(life, VQ_BATCH_WHY_CANCELLED);
    } else if (life->rules.collects) {
        give_up(life, VQ_BATCH_WHY_UNSENT);
    } else {
        go(life, step, type);
    }
}

static void upload(struct vq_batch_life *life)
{
    if (life->rules.opens) {
        send_unless_over(life, STEP_OPEN, VQ_BATCH_DO_OPEN);
    } else {
        send_unless_over(life, STEP_UPLOAD, VQ_BATCH_DO_UPLOAD);
    }
}

static void after_plan(struct vq_batch_life *life)
{
    if (life->rules.uploads) {
        upload(life);
    } else {
        write_intent(life);
    }
}

static void step_upload(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    if (life->step == (int)STEP_OPEN && event->type == VQ_BATCH_OPEN_DONE) {
        (void)snprintf(life->session, sizeof(life->session), "%s", event->text);
        send_unless_over(life, STEP_UPLOAD, VQ_BATCH_DO_UPLOAD);
    } else if (life->step == (int)STEP_UPLOAD && event->type == VQ_BATCH_UPLOAD_DONE) {
        (void)snprintf(life->record.file, sizeof(life->record.file), "%s", event->text);
        reset_backoff(life);
        write_intent(life);
    } else if (event->type == VQ_BATCH_UPLOAD_FAILED && event->for_good) {
        give_up(life, VQ_BATCH_WHY_REFUSED);
    } else if (event->type == VQ_BATCH_UPLOAD_FAILED) {
        wait_in(life, STEP_UPLOAD_WAIT, event->retry_after_ms);
    }
}

/* ---- the list ---- */

static void list(struct vq_batch_life *life)
{
    life->list.started_ms = life->now_ms;
    life->list.pages = 0;
    life->list.possible = false;
    life->list.ended.id[0] = '\0';
    life->list.cursor[0] = '\0';
    life->step = (int)STEP_LIST;
    push(life, VQ_BATCH_DO_LIST)->text = life->list.cursor;
}

/* The provider may have the batch: it is created again only after a list has shown that the
 * provider does not have it. */
static void find(struct vq_batch_life *life)
{
    life->settle_from_ms = life->now_ms;
    reset_backoff(life);
    list(life);
}

static void adopt(struct vq_batch_life *life, const struct vq_batch_view *view)
{
    life->view = *view;
    memcpy(life->record.id, view->id, sizeof(life->record.id));
    life->record.phase = VQ_BATCH_CREATED;
    go(life, STEP_ID, VQ_BATCH_DO_WRITE);
}

static uint64_t id_hash(const char *id)
{
    struct vq_hash hash;
    vq_hash_of("batch-id", vq_span_str(id), &hash);
    return vq_hash_u64(&hash);
}

static bool is_excluded(const struct vq_batch_life *life, const char *id)
{
    uint64_t hash = life->excluded_count > 0 ? id_hash(id) : 0;
    for (uint32_t i = 0; i < life->excluded_count; i++) {
        if (life->excluded[i] == hash) {
            return true;
        }
    }
    return false;
}

static bool is_match(const struct vq_batch_life *life, const struct vq_batch_view *view)
{
    return strcmp(view->name, life->record.name) == 0 ||
           (life->record.file[0] != '\0' && strcmp(view->input_file, life->record.file) == 0);
}

/* Without a name: whether the batch has this size and is not older than the plan. */
static bool is_possible(const struct vq_batch_life *life, const struct vq_batch_view *view)
{
    bool fits = life->rules.size_unknown ? view->total >= life->record.calls
                                         : view->total == life->record.calls;
    return !life->rules.carries_name && (view->total < 0 || fits) &&
           (view->created_unix_s < 0 ||
            view->created_unix_s >= life->record.planned_unix_s - VQ_BATCH_SKEW_S) &&
           !is_excluded(life, view->id);
}

/* The list has ended, or has the maximum length. */
static void decide(struct vq_batch_life *life, bool complete)
{
    if (life->list.ended.id[0] != '\0') {
        life->view = life->list.ended;
        go(life, STEP_PEEK, VQ_BATCH_DO_PEEK);
    } else if (complete && !life->list.possible &&
               settled_since(life, life->settle_from_ms, life->list.started_ms)) {
        send_unless_over(life, STEP_CREATE, VQ_BATCH_DO_CREATE);
    } else {
        wait_in(life, STEP_LIST_WAIT, 0);
    }
}

static void take_page(struct vq_batch_life *life, const struct vq_batch_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct vq_batch_view *view = &page->at[i];
        if (is_match(life, view)) {
            adopt(life, view);
            return;
        }
        if (is_possible(life, view)) {
            bool ended = vq_batch_state_is_final(view->state) && view->has_results;
            life->list.possible = life->list.possible || !ended;
            if (ended && life->list.ended.id[0] == '\0') {
                life->list.ended = *view;
            }
        }
    }
    bool more = page->next[0] != '\0';
    if (!more || ++life->list.pages >= VQ_BATCH_PAGES_MAX) {
        decide(life, !more);
        return;
    }
    (void)snprintf(life->list.cursor, sizeof(life->list.cursor), "%s", page->next);
    push(life, VQ_BATCH_DO_LIST)->text = life->list.cursor;
}

static void step_list(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    if (event->type == VQ_BATCH_LIST_DONE) {
        take_page(life, event->page);
    } else if (event->type == VQ_BATCH_LIST_FAILED) {
        wait_in(life, STEP_LIST_WAIT, event->retry_after_ms);
    }
}

/* A readable result identifies its batch. Without one, the batch is still possible. */
static void step_peek(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    uint32_t call = 0;
    bool named = event->type == VQ_BATCH_PEEK_DONE && event->text[0] != '\0';
    if (event->type != VQ_BATCH_PEEK_DONE && event->type != VQ_BATCH_PEEK_FAILED) {
        return;
    }
    enum vq_batch_call_id_kind kind =
        named ? vq_batch_call_id_parse(life->record.name, life->record.calls,
                                       vq_span_str(event->text), &call)
              : VQ_BATCH_ID_FOREIGN;
    if (kind == VQ_BATCH_ID_OURS || kind == VQ_BATCH_ID_OUT_OF_RANGE) {
        struct vq_batch_view view = life->view;
        adopt(life, &view);
    } else if (named && life->excluded_count < VQ_BATCH_EXCLUDED_MAX) {
        life->excluded[life->excluded_count++] = id_hash(life->view.id);
        list(life);
    } else {
        wait_in(life, STEP_LIST_WAIT, event->retry_after_ms);
    }
}

static void step_create(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    if (event->type == VQ_BATCH_CREATE_DONE) {
        adopt(life, event->view);
    } else if (event->type == VQ_BATCH_CREATE_UNKNOWN) {
        find(life);
    } else if (event->type == VQ_BATCH_CREATE_UNSENT) {
        life->rules.collects = true;
        give_up(life, VQ_BATCH_WHY_UNSENT);
    } else if (event->type == VQ_BATCH_CREATE_REFUSED && event->for_good) {
        give_up(life, VQ_BATCH_WHY_REFUSED);
    } else if (event->type == VQ_BATCH_CREATE_REFUSED &&
               ++life->refusals >= VQ_BATCH_REFUSALS_MAX) {
        give_up(life, VQ_BATCH_WHY_LIMITED);
    } else if (event->type == VQ_BATCH_CREATE_REFUSED) {
        wait_in(life, STEP_CREATE_WAIT, event->retry_after_ms);
    }
}

/* ---- polling and results ---- */

static void wait_to_get(struct vq_batch_life *life, int64_t retry_after_ms)
{
    if (life->cancel && !life->cancel_sent) {
        life->cancel_sent = true;
        (void)push(life, VQ_BATCH_DO_CANCEL);
    }
    wait_in(life, STEP_GET_WAIT, retry_after_ms);
}

static bool has_part(const struct vq_batch_life *life, enum vq_batch_part part)
{
    const struct vq_batch_view *view = &life->view;
    if (part == VQ_BATCH_ERRORS) {
        return view->error_file[0] != '\0';
    }
    return view->output_file[0] != '\0' || (view->has_results && view->error_file[0] == '\0');
}

static enum vq_batch_why why_of(const struct vq_batch_view *view)
{
    enum vq_batch_state state = view->state;
    return state == VQ_BATCH_FAILED && view->is_limited ? VQ_BATCH_WHY_LIMITED
           : state == VQ_BATCH_FAILED                   ? VQ_BATCH_WHY_FAILED
           : state == VQ_BATCH_EXPIRED                  ? VQ_BATCH_WHY_EXPIRED
           : state == VQ_BATCH_CANCELLED                ? VQ_BATCH_WHY_CANCELLED
                                                        : VQ_BATCH_WHY_MISSING;
}

static void fetch(struct vq_batch_life *life, enum vq_batch_part part)
{
    while (part <= VQ_BATCH_ERRORS && !has_part(life, part)) {
        part++;
    }
    if (part <= VQ_BATCH_ERRORS) {
        life->part = part;
        life->step = (int)STEP_FETCH;
        push(life, VQ_BATCH_DO_FETCH)->part = part;
        return;
    }
    bool damaged = life->collect.seen[VQ_BATCH_DAMAGED] > 0;
    if (damaged && life->collect.counted < life->collect.calls && !life->reread) {
        life->reread = true; /* the transfer may have damaged the results */
        wait_in(life, STEP_FETCH_WAIT, 0);
        return;
    }
    give_up(life, why_of(&life->view));
}

/* The provider may report a final state before it has the results. */
static void take_state(struct vq_batch_life *life)
{
    bool empty = life->view.succeeded > 0 && !has_part(life, VQ_BATCH_OUTPUT);
    if (empty && life->empty_since_ms < 0) {
        life->empty_since_ms = life->now_ms;
    }
    bool wait = empty && !settled_since(life, life->empty_since_ms, life->now_ms);
    if (!vq_batch_state_is_final(life->view.state) || wait) {
        wait_to_get(life, 0);
        return;
    }
    reset_backoff(life);
    vq_batch_collect_again(&life->collect);
    fetch(life, VQ_BATCH_OUTPUT);
}

static void step_get(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    if (event->type == VQ_BATCH_GET_DONE) {
        life->view = *event->view;
        life->gone_since_ms = -1;
        take_state(life);
    } else if (event->type == VQ_BATCH_GET_FAILED) {
        wait_to_get(life, event->retry_after_ms);
    } else if (event->type == VQ_BATCH_GET_GONE) {
        life->gone_since_ms = life->gone_since_ms < 0 ? life->now_ms : life->gone_since_ms;
        if (settled_since(life, life->gone_since_ms, life->now_ms)) {
            give_up(life, VQ_BATCH_WHY_LOST);
        } else {
            wait_to_get(life, 0);
        }
    }
}

static void take_result(struct vq_batch_life *life, const struct vq_batch_line *line)
{
    uint32_t call = 0;
    if (vq_batch_collect_take(&life->collect, line, &call) != VQ_BATCH_FIRST) {
        return;
    }
    bool reply = line->outcome == VQ_BATCH_SUCCEEDED || line->outcome == VQ_BATCH_ERRORED;
    struct vq_batch_action *action = push(life, reply ? VQ_BATCH_DO_DELIVER : VQ_BATCH_DO_GIVE_UP);
    action->call = call;
    action->line = line;
    action->why =
        line->outcome == VQ_BATCH_CALL_EXPIRED ? VQ_BATCH_WHY_EXPIRED : VQ_BATCH_WHY_CANCELLED;
}

static void step_fetch(struct vq_batch_life *life, const struct vq_batch_event *event)
{
    if (event->type == VQ_BATCH_RESULT) {
        take_result(life, event->line);
    } else if (event->type == VQ_BATCH_FETCH_DONE) {
        fetch(life, life->part + 1);
    } else if (event->type == VQ_BATCH_FETCH_FAILED) {
        wait_in(life, STEP_FETCH_WAIT, event->retry_after_ms);
    }
}

/* ---- the machine ---- */

static void tick(struct vq_batch_life *life)
{
    if (life->now_ms < life->wake_ms) {
        return;
    }
    life->wake_ms = INT64_MAX;
    switch (life->step) {
    case STEP_UPLOAD_WAIT: upload(life); break;
    case STEP_CREATE_WAIT: send_unless_over(life, STEP_CREATE, VQ_BATCH_DO_CREATE); break;
    case STEP_LIST_WAIT: list(life); break;
    case STEP_GET_WAIT: go(life, STEP_GET, VQ_BATCH_DO_GET); break;
    case STEP_FETCH_WAIT:
        vq_batch_collect_again(&life->collect);
        fetch(life, VQ_BATCH_OUTPUT);
        break;
    default: break;
    }
}

static void written(struct vq_batch_life *life)
{
    switch (life->step) {
    case STEP_PLAN: after_plan(life); break;
    case STEP_INTENT: send_unless_over(life, STEP_CREATE, VQ_BATCH_DO_CREATE); break;
    case STEP_ID:
        reset_backoff(life);
        wait_to_get(life, 0);
        break;
    case STEP_DONE: finish(life); break;
    default: break;
    }
}

/* Ends a wait at once if the provider does not have the batch yet. */
static bool end_wait(struct vq_batch_life *life)
{
    if (life->step != (int)STEP_UPLOAD_WAIT && life->step != (int)STEP_CREATE_WAIT) {
        return false;
    }
    life->wake_ms = life->now_ms;
    tick(life);
    return true;
}

/* Cancels the batch; if the provider has it, also there. */
static void cancel(struct vq_batch_life *life)
{
    life->cancel = true;
    if (end_wait(life)) {
        return;
    }
    if (life->step == (int)STEP_GET_WAIT && !life->cancel_sent) {
        life->cancel_sent = true;
        (void)push(life, VQ_BATCH_DO_CANCEL);
    }
}

void vq_batch_life_collect_only(struct vq_batch_life *life, int64_t now_ms)
{
    life->now_ms = now_ms > life->now_ms ? now_ms : life->now_ms;
    life->rules.collects = true;
    if (life->queue_count ==
        0) { /* else an action follows, and what comes after it sees the rule */
        (void)end_wait(life);
    }
}

void vq_batch_life_step(struct vq_batch_life *life, const struct vq_batch_event *event,
                        int64_t now_ms)
{
    VQ_ASSERT(life->queue_count == 0 && life->step != (int)STEP_GIVE_UP);
    life->now_ms = now_ms > life->now_ms ? now_ms : life->now_ms;
    switch ((int)event->type) {
    case VQ_BATCH_TICK: tick(life); return;
    case VQ_BATCH_WRITTEN: written(life); return;
    case VQ_BATCH_CANCEL_ASKED: cancel(life); return;
    case VQ_BATCH_CANCEL_FAILED: life->cancel_sent = false; return; /* with the next poll */
    case VQ_BATCH_CANCEL_DONE: reset_backoff(life); return;
    default: break;
    }
    switch (life->step) {
    case STEP_OPEN:
    case STEP_UPLOAD: step_upload(life, event); break;
    case STEP_CREATE: step_create(life, event); break;
    case STEP_LIST: step_list(life, event); break;
    case STEP_PEEK: step_peek(life, event); break;
    case STEP_GET: step_get(life, event); break;
    case STEP_FETCH: step_fetch(life, event); break;
    case STEP_SETTLE:
        if (event->type == VQ_BATCH_SETTLED) {
            write_done(life);
        }
        break;
    default: break;
    }
}

/* An action for each call without a result; then SETTLE. */
static bool next_given_up(struct vq_batch_life *life, struct vq_batch_action *ret_action)
{
    uint32_t call = vq_batch_collect_missing(&life->collect, life->give_up_from);
    if (call < life->record.calls) {
        life->give_up_from = call + 1;
        *ret_action =
            (struct vq_batch_action){.type = VQ_BATCH_DO_GIVE_UP, .call = call, .why = life->why};
        return true;
    }
    life->step = (int)STEP_SETTLE;
    *ret_action = (struct vq_batch_action){.type = VQ_BATCH_DO_SETTLE};
    return true;
}

bool vq_batch_life_next(struct vq_batch_life *life, struct vq_batch_action *ret_action)
{
    if (life->queue_count > 0) {
        *ret_action = life->queue[life->queue_from];
        life->queue_from = (life->queue_from + 1) % VQ_BATCH_ACTIONS;
        life->queue_count--;
        return true;
    }
    return life->step == (int)STEP_GIVE_UP && next_given_up(life, ret_action);
}

int64_t vq_batch_life_wake_ms(const struct vq_batch_life *life)
{
    return life->wake_ms;
}

static void begin(struct vq_batch_life *life, bool recovered)
{
    switch (life->record.phase) {
    case VQ_BATCH_PLANNED:
        if (recovered) {
            after_plan(life);
        } else {
            go(life, STEP_PLAN, VQ_BATCH_DO_WRITE);
        }
        return;
    case VQ_BATCH_CREATING: find(life); return;
    case VQ_BATCH_CREATED: go(life, STEP_GET, VQ_BATCH_DO_GET); return;
    case VQ_BATCH_DONE: finish(life); return;
    }
}

static bool is_sound(const struct vq_batch_record *record, bool recovered)
{
    enum vq_batch_phase last = recovered ? VQ_BATCH_DONE : VQ_BATCH_PLANNED;
    return record->phase >= VQ_BATCH_PLANNED && record->phase <= last &&
           (record->phase != VQ_BATCH_CREATED || record->id[0] != '\0');
}

enum vq_status vq_batch_life_init(struct vq_batch_life *life, const struct vq_batch_rules *rules,
                                  const struct vq_batch_record *record, bool recovered,
                                  int64_t now_ms)
{
    *life = (struct vq_batch_life){.record = *record,
                                   .rules = *rules,
                                   .now_ms = now_ms,
                                   .wake_ms = INT64_MAX,
                                   .gone_since_ms = -1,
                                   .empty_since_ms = -1};
    struct vq_batch_rules *own = &life->rules;
    own->poll_ms = own->poll_ms == 0 ? VQ_BATCH_POLL_MS : own->poll_ms;
    own->poll_max_ms = own->poll_max_ms == 0 ? VQ_BATCH_POLL_MAX_MS : own->poll_max_ms;
    own->poll_max_ms = own->poll_max_ms < own->poll_ms ? own->poll_ms : own->poll_max_ms;
    own->settle_ms = own->settle_ms == 0 ? VQ_BATCH_SETTLE_MS : own->settle_ms;
    if (!is_sound(record, recovered)) {
        return VQ_INVALID;
    }
    VQ_TRY(vq_batch_collect_init(&life->collect, record->name, record->calls));
    reset_backoff(life);
    begin(life, recovered);
    return VQ_OK;
}

void vq_batch_life_free(struct vq_batch_life *life)
{
    vq_batch_collect_free(&life->collect);
}
