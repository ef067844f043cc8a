/* Each account has a ring of the calls that count, in the order of their arrival, and positions in
 * it where windows begin. Positions only move forward, so the cost of a call does not depend on the
 * number of calls in a window. (Only the wait of a refused call is computed call by call.)
 * Invariants: in any window no account is charged more than its limit; sums are those of the ring's
 * entries from `window` on; first <= ramp_old <= ramp_new <= next and first <= window <= next. Not
 * its job: HTTP, the account of a call (pools.c). */
#include "offline/faults/limiter.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "offline/faults/day.h"

#define ACCOUNTS_MAX 4096
#define ENTRIES_MIN  64u
#define ENTRIES_MAX  (4u << 20)
#define TOKENS_MAX   UINT32_MAX /* of one call; more is above every limit anyway */

struct entry {
    int64_t at_ns;
    uint32_t input;
    uint32_t output;
};

struct account {
    uint64_t name;
    struct entry *ring; /* owned; entry number i is at i & (cap - 1) */
    size_t cap;         /* 0 or a power of two */
    uint64_t first;     /* numbers of entries */
    uint64_t window;
    uint64_t ramp_old; /* where the last ramp window but one begins */
    uint64_t ramp_new;
    uint64_t next;
    uint64_t input; /* sums over the window */
    uint64_t output;
    uint64_t running;
    int64_t day_end_ms;
    uint64_t day_requests;
    uint64_t day_tokens;
    uint64_t nano_usd;
};

struct vq_limiter {
    struct vq_limits limits;
    struct account *accounts;
    size_t n;
    size_t cap;
    size_t last; /* the account of the last call: most often the next call has the same */
};

enum vq_status vq_limiter_create(const struct vq_limits *limits, struct vq_limiter **ret_limiter)
{
    struct vq_limiter *limiter;
    VQ_TRY(VQ_ALLOC(limiter, 1));
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
        vq_free((*limiter)->accounts[i].ring);
    }
    vq_free((*limiter)->accounts);
    vq_free(*limiter);
    *limiter = NULL;
}

static struct account *find_account(struct vq_limiter *limiter, uint64_t name)
{
    if (limiter->last < limiter->n && limiter->accounts[limiter->last].name == name) {
        return &limiter->accounts[limiter->last];
    }
    for (size_t i = 0; i < limiter->n; i++) {
        if (limiter->accounts[i].name == name) {
            limiter->last = i;
            return &limiter->accounts[i];
        }
    }
    return NULL;
}

static enum vq_status open_account(struct vq_limiter *limiter, uint64_t name,
                                   struct account **ret_account)
{
    struct account *account = find_account(limiter, name);
    if (account == NULL) {
        VQ_TRY(VQ_GROW(limiter->accounts, &limiter->cap, limiter->n + 1, ACCOUNTS_MAX));
        account = &limiter->accounts[limiter->n++];
        *account = (struct account){.name = name};
    }
    *ret_account = account;
    return VQ_OK;
}

/* ---- the ring ---- */

static struct entry *entry_at(const struct account *account, uint64_t number)
{
    return &account->ring[number & (account->cap - 1)];
}

static bool has_left(const struct account *account, uint64_t number, int64_t since_ns)
{
    return number < account->next && entry_at(account, number)->at_ns <= since_ns;
}

/* Windows are (now - length, now]. */
static void advance(struct account *account, const struct vq_limits *limits, int64_t now_ns)
{
    for (; has_left(account, account->window, now_ns - limits->window_ns); account->window++) {
        account->input -= entry_at(account, account->window)->input;
        account->output -= entry_at(account, account->window)->output;
    }
    if (limits->ramp_percent == 0) {
        account->ramp_old = account->window;
        account->ramp_new = account->window;
    }
    while (has_left(account, account->ramp_new, now_ns - limits->ramp_ns)) {
        account->ramp_new++;
    }
    while (has_left(account, account->ramp_old, now_ns - 2 * limits->ramp_ns)) {
        account->ramp_old++;
    }
    account->first = account->ramp_old < account->window ? account->ramp_old : account->window;
}

static enum vq_status grow_ring(struct account *account)
{
    size_t cap = account->cap == 0 ? ENTRIES_MIN : account->cap * 2;
    if (cap > ENTRIES_MAX) {
        return VQ_LIMIT;
    }
    struct entry *ring;
    VQ_TRY(VQ_ALLOC(ring, cap));
    for (uint64_t i = account->first; i < account->next; i++) {
        ring[i & (cap - 1)] = *entry_at(account, i);
    }
    vq_free(account->ring);
    account->ring = ring;
    account->cap = cap;
    return VQ_OK;
}

static enum vq_status push(struct account *account, int64_t now_ns, uint64_t input, uint64_t output)
{
    if (account->next - account->first == account->cap) {
        VQ_TRY(grow_ring(account));
    }
    *entry_at(account, account->next) =
        (struct entry){.at_ns = now_ns, .input = (uint32_t)input, .output = (uint32_t)output};
    account->next++;
    account->input += input;
    account->output += output;
    return VQ_OK;
}

/* ---- the rest ---- */

struct use {
    uint64_t of[VQ_LIMIT_WINDOWED]; /* by kind */
};

static struct use use_of(uint64_t requests, uint64_t input, uint64_t output)
{
    return (struct use){.of = {[VQ_LIMIT_REQUESTS] = requests,
                               [VQ_LIMIT_INPUT] = input,
                               [VQ_LIMIT_OUTPUT] = output,
                               [VQ_LIMIT_TOKENS] = input + output}};
}

static struct use use_now(const struct account *account)
{
    return use_of(account->next - account->window, account->input, account->output);
}

/* The first kind without room for `asked`, or VQ_LIMIT_NONE. */
static enum vq_limit_kind full_kind(const struct vq_limits *limits, const struct use *used,
                                    const struct use *asked)
{
    for (size_t kind = VQ_LIMIT_REQUESTS; kind < VQ_LIMIT_WINDOWED; kind++) {
        uint64_t limit = limits->per_window[kind];
        if (limit > 0 && used->of[kind] + asked->of[kind] > limit) {
            return (enum vq_limit_kind)kind;
        }
    }
    return VQ_LIMIT_NONE;
}

/* The time until enough of the oldest entries have left the window to make room for `asked`. */
static int64_t wait_for(const struct vq_limits *limits, const struct account *account,
                        const struct use *asked, int64_t now_ns)
{
    uint64_t input = account->input;
    uint64_t output = account->output;
    for (uint64_t i = account->window; i < account->next; i++) {
        const struct entry *entry = entry_at(account, i);
        input -= entry->input;
        output -= entry->output;
        struct use used = use_of(account->next - i - 1, input, output);
        if (full_kind(limits, &used, asked) == VQ_LIMIT_NONE) {
            return entry->at_ns + limits->window_ns - now_ns;
        }
    }
    return limits->window_ns;
}

/* The most requests that this ramp window may hold. */
static uint64_t ramp_limit(const struct vq_limits *limits, const struct account *account)
{
    uint64_t before = account->ramp_new - account->ramp_old;
    uint64_t grown = before * (100 + limits->ramp_percent) / 100;
    return grown > limits->ramp_free ? grown : limits->ramp_free;
}

static uint64_t cost_of(const struct vq_limits *limits, const struct vq_limit_call *call)
{
    return call->input * limits->nano_usd_in + call->written * limits->nano_usd_in / 4 +
           call->cached * limits->nano_usd_cached + call->output * limits->nano_usd_out;
}

static void refuse(struct vq_admission *admission, enum vq_limit_kind kind, uint64_t used,
                   uint64_t asked)
{
    admission->refused_by = kind;
    admission->used = used;
    admission->asked = asked;
}

static void refuse_for_day(struct vq_admission *admission, enum vq_limit_kind kind, uint64_t used,
                           uint64_t asked, int64_t left_ms)
{
    refuse(admission, kind, used, asked);
    admission->wait_ns = left_ms * VQ_NS_PER_MS;
}

/* Checks the limits, from the longest wait to the shortest. */
static void decide(const struct vq_limits *limits, const struct account *account,
                   const struct vq_limit_call *call, struct vq_admission *admission)
{
    uint64_t tokens = admission->asked_in + admission->asked_out;
    struct use used = use_now(account);
    struct use asked = use_of(1, admission->asked_in, admission->asked_out);
    uint64_t recent = account->next - account->ramp_new;
    int64_t day_left_ms = account->day_end_ms - call->unix_ms;
    enum vq_limit_kind full = full_kind(limits, &used, &asked);
    if (limits->nano_usd > 0 && account->nano_usd + cost_of(limits, call) > limits->nano_usd) {
        refuse(admission, VQ_LIMIT_MONEY, account->nano_usd, cost_of(limits, call));
    } else if (limits->day_requests > 0 && account->day_requests >= limits->day_requests) {
        refuse_for_day(admission, VQ_LIMIT_DAY_REQUESTS, account->day_requests, 1, day_left_ms);
    } else if (limits->day_tokens > 0 && account->day_tokens + tokens > limits->day_tokens) {
        refuse_for_day(admission, VQ_LIMIT_DAY_TOKENS, account->day_tokens, tokens, day_left_ms);
    } else if (full != VQ_LIMIT_NONE) {
        refuse(admission, full, used.of[full], asked.of[full]);
        admission->never = asked.of[full] > limits->per_window[full];
        admission->wait_ns =
            admission->never ? limits->window_ns : wait_for(limits, account, &asked, call->now_ns);
    } else if (limits->ramp_percent > 0 && recent >= ramp_limit(limits, account)) {
        refuse(admission, VQ_LIMIT_RAMP, recent, 1);
        admission->wait_ns = recent == 0 ? 0
                                         : entry_at(account, account->ramp_new)->at_ns +
                                               limits->ramp_ns - call->now_ns;
    } else if (limits->concurrency > 0 && account->running >= limits->concurrency) {
        refuse(admission, VQ_LIMIT_CONCURRENCY, account->running, 1);
    }
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

static void charge(const struct vq_limits *limits, const struct vq_limit_call *call,
                   struct account *account, struct vq_admission *admission)
{
    account->running++;
    account->day_requests++;
    account->day_tokens += admission->asked_in + admission->asked_out;
    account->nano_usd += cost_of(limits, call);
    uint64_t output = at_most(call->output, TOKENS_MAX);
    bool settles = limits->count == VQ_LIMIT_COUNT_SETTLE && output < admission->asked_out;
    admission->hold = (struct vq_limit_hold){.is_held = true,
                                             .account = account->name,
                                             .ticket = account->next - 1,
                                             .asked_out = admission->asked_out,
                                             .settled_out = settles ? output : admission->asked_out,
                                             .day_end_ms = account->day_end_ms};
}

static void report_left(const struct vq_limits *limits, const struct account *account,
                        int64_t now_ns, struct vq_admission *admission)
{
    struct use used = use_now(account);
    for (size_t kind = VQ_LIMIT_REQUESTS; kind < VQ_LIMIT_WINDOWED; kind++) {
        uint64_t limit = limits->per_window[kind];
        admission->left[kind] = limit > used.of[kind] ? limit - used.of[kind] : 0;
    }
    if (account->next > account->window) {
        admission->reset_ns =
            entry_at(account, account->next - 1)->at_ns + limits->window_ns - now_ns;
    }
}

enum vq_status vq_limiter_ask(struct vq_limiter *limiter, const struct vq_limit_call *call,
                              struct vq_admission *ret_admission)
{
    const struct vq_limits *limits = &limiter->limits;
    struct account *account = NULL;
    VQ_TRY(open_account(limiter, call->account, &account));
    advance(account, limits, call->now_ns);
    if (call->unix_ms >= account->day_end_ms) {
        account->day_end_ms = vq_day_end_ms(call->unix_ms, limits->day_ms, call->pacific);
        account->day_requests = 0;
        account->day_tokens = 0;
    }
    uint64_t input = call->input + (call->counts_cached ? call->cached : 0);
    uint64_t output = limits->count == VQ_LIMIT_COUNT_ACTUAL ? call->output : call->output_max;
    struct vq_admission admission = {.asked_in = at_most(input, TOKENS_MAX),
                                     .asked_out = at_most(output, TOKENS_MAX)};
    if (!call->is_failed) {
        decide(limits, account, call, &admission);
    }
    if (admission.refused_by == VQ_LIMIT_NONE && !call->is_failed) {
        VQ_TRY(push(account, call->now_ns, admission.asked_in, admission.asked_out));
        charge(limits, call, account, &admission);
    } else if (limits->count_refused || call->is_failed) {
        VQ_TRY(push(account, call->now_ns, 0, 0));
        account->day_requests++;
    }
    report_left(limits, account, call->now_ns, &admission);
    *ret_admission = admission;
    return VQ_OK;
}

void vq_limiter_done(struct vq_limiter *limiter, struct vq_limit_hold *hold)
{
    struct account *account = hold->is_held ? find_account(limiter, hold->account) : NULL;
    hold->is_held = false;
    if (account == NULL) {
        return;
    }
    account->running--;
    uint64_t back = hold->asked_out - hold->settled_out;
    if (hold->day_end_ms == account->day_end_ms) {
        account->day_tokens -= back;
    }
    if (hold->ticket >= account->first) {
        entry_at(account, hold->ticket)->output -= (uint32_t)back;
    }
    if (hold->ticket >= account->window) {
        account->output -= back;
    }
}
