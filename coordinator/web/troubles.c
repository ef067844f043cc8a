/* A ring. Invariant: for each kind and subject at most one entry is active, and it is the newest
 * one. Not its job: finding problems (coordinator/pools/incidents.c, the alarms, the core). */
#include "coordinator/web/troubles.h"

#include "common/base/alloc.h"
#include "common/text/json.h"
#include "common/text/utf8.h"

#include <string.h>

struct entry {
    enum vq_trouble_kind kind;
    int64_t since_unix_ms, over_unix_ms; /* over 0: it is active */
    uint64_t count;                      /* of a moment: the number of times */
    char subject[VQ_TROUBLE_SUBJECT_BYTES];
    char text[VQ_TROUBLE_TEXT_BYTES];
    char advice[VQ_TROUBLE_ADVICE_BYTES];
};

struct vq_troubles {
    uint64_t seen; /* so far: number n is at index n % VQ_TROUBLES_MAX */
    struct entry ring[VQ_TROUBLES_MAX];
};

static const char *const words[] = {
    [VQ_TROUBLE_POOL] = "pool",   [VQ_TROUBLE_SLOW] = "slow",
    [VQ_TROUBLE_IDLE] = "idle",   [VQ_TROUBLE_BRAKE] = "brake",
    [VQ_TROUBLE_REDIS] = "redis", [VQ_TROUBLE_WORKER] = "worker",
    [VQ_TROUBLE_QUEUE] = "queue", [VQ_TROUBLE_DEADLINE] = "deadline",
};

struct vq_troubles *vq_troubles_create(void)
{
    return vq_alloc(1, sizeof(struct vq_troubles));
}

void vq_troubles_destroy(struct vq_troubles **troubles)
{
    vq_free(*troubles);
    *troubles = NULL;
}

/* The newest entry of its kind and subject; NULL: none is stored. */
static struct entry *find(struct vq_troubles *t, enum vq_trouble_kind kind, const char *subject)
{
    char cut[VQ_TROUBLE_SUBJECT_BYTES];
    vq_utf8_copy(cut, sizeof(cut), vq_span_str(subject));
    for (uint64_t back = 1; back <= t->seen && back <= VQ_TROUBLES_MAX; back++) {
        struct entry *e = &t->ring[(t->seen - back) % VQ_TROUBLES_MAX];
        if (e->kind == kind && strcmp(e->subject, cut) == 0) {
            return e;
        }
    }
    return NULL;
}

static struct entry *add(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms)
{
    struct entry *e = &t->ring[t->seen++ % VQ_TROUBLES_MAX];
    *e = (struct entry){.kind = trouble->kind, .since_unix_ms = unix_ms, .count = 1};
    vq_utf8_copy(e->subject, sizeof(e->subject), vq_span_str(trouble->subject));
    vq_utf8_copy(e->text, sizeof(e->text), vq_span_str(trouble->text));
    vq_utf8_copy(e->advice, sizeof(e->advice), vq_span_str(trouble->advice));
    return e;
}

void vq_troubles_begin(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms)
{
    struct entry *e = find(t, trouble->kind, trouble->subject);
    if (e == NULL || e->over_unix_ms != 0) {
        (void)add(t, trouble, unix_ms);
        return;
    }
    vq_utf8_copy(e->text, sizeof(e->text), vq_span_str(trouble->text));
    vq_utf8_copy(e->advice, sizeof(e->advice), vq_span_str(trouble->advice));
}

void vq_troubles_end(struct vq_troubles *t, enum vq_trouble_kind kind, const char *subject,
                     int64_t unix_ms)
{
    struct entry *e = find(t, kind, subject);
    if (e != NULL && e->over_unix_ms == 0) {
        e->over_unix_ms = unix_ms;
    }
}

void vq_troubles_moment(struct vq_troubles *t, const struct vq_trouble *trouble, int64_t unix_ms)
{
    struct entry *e = find(t, trouble->kind, trouble->subject);
    if (e == NULL || e->over_unix_ms == 0 || unix_ms - e->over_unix_ms > VQ_TROUBLE_SAME_MS) {
        add(t, trouble, unix_ms)->over_unix_ms = unix_ms;
        return;
    }
    e->count++;
    e->over_unix_ms = unix_ms;
    vq_utf8_copy(e->text, sizeof(e->text), vq_span_str(trouble->text));
}

void vq_troubles_restore(struct vq_troubles *t, const struct vq_trouble *trouble,
                         int64_t since_unix_ms, int64_t over_unix_ms, uint64_t count)
{
    struct entry *e = add(t, trouble, since_unix_ms);
    e->over_unix_ms = over_unix_ms;
    e->count = count;
}

bool vq_trouble_kind_of(const char *word, enum vq_trouble_kind *ret_kind)
{
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (strcmp(words[i], word) == 0) {
            *ret_kind = (enum vq_trouble_kind)i;
            return true;
        }
    }
    return false;
}

void vq_troubles_json(const struct vq_troubles *t, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_u64(j, "forgotten", t->seen > VQ_TROUBLES_MAX ? t->seen - VQ_TROUBLES_MAX : 0);
    vq_json_put_array(j, "incidents");
    for (uint64_t back = 1; back <= t->seen && back <= VQ_TROUBLES_MAX; back++) {
        const struct entry *e = &t->ring[(t->seen - back) % VQ_TROUBLES_MAX];
        vq_json_object(j);
        vq_json_put_str(j, "kind", words[e->kind]);
        vq_json_put_str(j, "subject", e->subject);
        vq_json_put_i64(j, "since_unix_ms", e->since_unix_ms);
        vq_json_put_known(j, "over_unix_ms", e->over_unix_ms != 0, e->over_unix_ms);
        vq_json_put_u64(j, "count", e->count);
        vq_json_put_str(j, "text", e->text);
        vq_json_put_str(j, "advice", e->advice);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_close(j);
}
