/* The ring and its bytes. Invariant: its samples have numbers without a gap; the last one is
 * `last`. */
#include "coordinator/web/history.h"

#include "common/base/alloc.h"
#include "common/text/json.h"

#include <math.h>
#include <stdlib.h>

static const char magic[8] = "vqhist01";

struct vq_history {
    uint64_t last;  /* number of the newest sample; 0: none */
    uint32_t count; /* the number of samples, which are the newest ones */
    struct vq_history_sample ring[VQ_HISTORY_SAMPLES];
};

struct vq_history *vq_history_create(void)
{
    return vq_alloc(1, sizeof(struct vq_history));
}

void vq_history_destroy(struct vq_history **history)
{
    vq_free(*history);
    *history = NULL;
}

static uint32_t place(uint64_t number)
{
    return (uint32_t)((number - 1) % VQ_HISTORY_SAMPLES);
}

static void put(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get(const char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)(uint8_t)from[i] << (8 * i);
    }
    return value;
}

void vq_history_sample_of(const struct vq_status_facts *f, struct vq_history_sample *ret_sample)
{
    struct vq_coord_status s;
    struct vq_authority_money money;
    struct vq_history_sample sample = {{0}};
    uint64_t *column = sample.column;
    vq_coord_status_fill(f->coord, f->now_ns, &s);
    vq_authority_money(f->authority, &money);
    column[VQ_HISTORY_UNIX_MS] = (uint64_t)f->now_unix_ms;
    column[VQ_HISTORY_STAGE_NO] = f->stage_no;
    for (int state = 0; state < VQ_TASK_STATES; state++) {
        column[VQ_HISTORY_STATES + state] = s.all.state[state];
    }
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        column[VQ_HISTORY_ENDS + end] = s.all.ends[end];
    }
    column[VQ_HISTORY_TOKENS_IN] = s.tokens_in;
    column[VQ_HISTORY_TOKENS_OUT] = s.tokens_out;
    column[VQ_HISTORY_CALLS_OUT] = s.calls_reserved - s.held_back;
    column[VQ_HISTORY_CALLS_PER_KS] = (uint64_t)llround(s.calls_per_s * 1000);
    column[VQ_HISTORY_WORKERS] = s.sessions;
    column[VQ_HISTORY_SPENT_NANO] = money.spent_nano;
    *ret_sample = sample;
}

void vq_history_add(struct vq_history *h, const struct vq_history_sample *sample,
                    uint8_t ret_record[VQ_HISTORY_RECORD_BYTES], uint64_t *ret_offset)
{
    h->last++;
    h->count += h->count < VQ_HISTORY_SAMPLES ? 1 : 0;
    h->ring[place(h->last)] = *sample;
    put(ret_record, h->last);
    for (size_t i = 0; i < VQ_HISTORY__COUNT; i++) {
        put(ret_record + 8 * (i + 1), sample->column[i]);
    }
    put(ret_record + 8 * (VQ_HISTORY__COUNT + 1), h->last);
    *ret_offset = VQ_HISTORY_HEAD_BYTES + (uint64_t)place(h->last) * VQ_HISTORY_RECORD_BYTES;
}

void vq_history_head(uint8_t ret_head[VQ_HISTORY_HEAD_BYTES])
{
    memcpy(ret_head, magic, sizeof(magic));
    put(ret_head + sizeof(magic), VQ_HISTORY_RECORD_BYTES);
}

/* The number of the record at this index; 0: none, or it was written only in part. */
static uint64_t number_at(struct vq_span file, uint32_t at)
{
    size_t offset = VQ_HISTORY_HEAD_BYTES + (size_t)at * VQ_HISTORY_RECORD_BYTES;
    if (offset + VQ_HISTORY_RECORD_BYTES > file.bytes) {
        return 0;
    }
    uint64_t number = get(file.at + offset);
    bool whole = number == get(file.at + offset + VQ_HISTORY_RECORD_BYTES - 8);
    return whole && number > 0 && place(number) == at ? number : 0;
}

bool vq_history_load(struct vq_history *h, struct vq_span file)
{
    uint8_t head[VQ_HISTORY_HEAD_BYTES];
    vq_history_head(head);
    if (file.bytes < sizeof(head) || memcmp(file.at, head, sizeof(head)) != 0) {
        return false;
    }
    uint64_t last = 0;
    for (uint32_t at = 0; at < VQ_HISTORY_SAMPLES; at++) {
        uint64_t number = number_at(file, at);
        last = number > last ? number : last;
    }
    uint32_t count = 0;
    while (count < VQ_HISTORY_SAMPLES && count < last &&
           number_at(file, place(last - count)) == last - count) {
        const char *record =
            file.at + VQ_HISTORY_HEAD_BYTES + (size_t)place(last - count) * VQ_HISTORY_RECORD_BYTES;
        for (size_t i = 0; i < VQ_HISTORY__COUNT; i++) {
            h->ring[place(last - count)].column[i] = get(record + 8 * (i + 1));
        }
        count++;
    }
    h->last = last;
    h->count = count;
    return true;
}

bool vq_history_after(const char *text, uint64_t *ret_unix_ms)
{
    char *end = NULL;
    unsigned long long after = text == NULL ? 0 : strtoull(text, &end, 10);
    if (text != NULL && (text[0] < '0' || text[0] > '9' || *end != '\0')) {
        return false;
    }
    *ret_unix_ms = after;
    return true;
}

static void column(struct vq_json *j, const struct vq_history *h, uint64_t after, const char *name,
                   int column)
{
    vq_json_put_array(j, name);
    for (uint32_t i = h->count; i-- > 0;) {
        const uint64_t *of = h->ring[place(h->last - i)].column;
        if (of[VQ_HISTORY_UNIX_MS] > after) {
            vq_json_u64(j, of[column]);
        }
    }
    vq_json_array_end(j);
}

void vq_history_json(const struct vq_history *h, uint64_t after, struct vq_buf *out)
{
    static const struct {
        const char *name;
        enum vq_history_column at;
    } plain[] = {{"unix_ms", VQ_HISTORY_UNIX_MS},     {"stage_no", VQ_HISTORY_STAGE_NO},
                 {"tokens_in", VQ_HISTORY_TOKENS_IN}, {"tokens_out", VQ_HISTORY_TOKENS_OUT},
                 {"calls_out", VQ_HISTORY_CALLS_OUT}, {"calls_per_1000_s", VQ_HISTORY_CALLS_PER_KS},
                 {"workers", VQ_HISTORY_WORKERS},     {"spent_nanodollars", VQ_HISTORY_SPENT_NANO}};
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_u64(j, "every_ms", VQ_HISTORY_EVERY_MS);
    vq_json_put_object(j, "tasks");
    for (int state = 0; state < VQ_TASK_STATES; state++) {
        column(j, h, after, vq_task_state_name((enum vq_task_states)state),
               VQ_HISTORY_STATES + state);
    }
    vq_json_object_end(j);
    vq_json_put_object(j, "calls");
    for (int end = 0; end < VQ_CALL_ENDS; end++) {
        column(j, h, after, vq_call_end_word((enum vq_call_end)end), VQ_HISTORY_ENDS + end);
    }
    vq_json_object_end(j);
    for (size_t i = 0; i < VQ_COUNT(plain); i++) {
        column(j, h, after, plain[i].name, (int)plain[i].at);
    }
    vq_json_close(j);
}
