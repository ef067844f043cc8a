/* The ring of samples: what is added is loaded again, also after the ring has gone round and after
 * a record was written only in part. */
#include "tests/unit/test.h"

#include "coordinator/web/history.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES (VQ_HISTORY_HEAD_BYTES + VQ_HISTORY_SAMPLES * VQ_HISTORY_RECORD_BYTES)

static struct vq_history_sample sample(uint64_t n)
{
    struct vq_history_sample s;
    for (size_t i = 0; i < VQ_HISTORY__COUNT; i++) {
        s.column[i] = n * 1000 + i;
    }
    return s;
}

/* Adds samples `from` to `to` to the history and to the bytes of the file. */
static void add(struct vq_history *h, char *file, uint64_t from, uint64_t to)
{
    for (uint64_t n = from; n <= to; n++) {
        uint8_t record[VQ_HISTORY_RECORD_BYTES];
        uint64_t offset;
        struct vq_history_sample s = sample(n);
        vq_history_add(h, &s, record, &offset);
        assert_true(offset + sizeof(record) <= FILE_BYTES);
        memcpy(file + offset, record, sizeof(record));
    }
}

static char *new_file(void)
{
    char *file = calloc(1, FILE_BYTES);
    uint8_t head[VQ_HISTORY_HEAD_BYTES];
    vq_history_head(head);
    memcpy(file, head, sizeof(head));
    return file;
}

static json_t *json_of(const struct vq_history *h, uint64_t after)
{
    struct vq_buf out;
    vq_buf_init(&out, 8u << 20);
    vq_history_json(h, after, &out);
    json_t *json = json_loadb(out.at, out.bytes, 0, NULL);
    assert_non_null(json);
    vq_buf_free(&out);
    return json;
}

/* The history has the samples `first` to `last`, and every column is in its place. */
static void expect(const struct vq_history *h, uint64_t first, uint64_t last)
{
    json_t *json = json_of(h, 0);
    json_t *times = json_object_get(json, "unix_ms");
    json_t *spent = json_object_get(json, "spent_nanodollars");
    json_t *open = json_object_get(json_object_get(json, "tasks"), "open");
    json_t *answer = json_object_get(json_object_get(json, "calls"), "answer");
    assert_int_equal(json_array_size(times), last - first + 1);
    assert_int_equal(json_array_size(answer), last - first + 1);
    for (uint64_t n = first; n <= last; n++) {
        struct vq_history_sample s = sample(n);
        size_t at = (size_t)(n - first);
        assert_int_equal(json_integer_value(json_array_get(times, at)),
                         s.column[VQ_HISTORY_UNIX_MS]);
        assert_int_equal(json_integer_value(json_array_get(open, at)),
                         s.column[VQ_HISTORY_STATES + VQ_TASK_OPEN]);
        assert_int_equal(json_integer_value(json_array_get(spent, at)),
                         s.column[VQ_HISTORY_SPENT_NANO]);
    }
    json_decref(json);
}

TEST(test_it_is_loaded_again)
{
    static const uint64_t lasts[] = {1, 17, VQ_HISTORY_SAMPLES, VQ_HISTORY_SAMPLES + 1,
                                     3 * VQ_HISTORY_SAMPLES - 5};
    for (size_t i = 0; i < VQ_COUNT(lasts); i++) {
        struct vq_history *was = vq_history_create(), *now = vq_history_create();
        char *file = new_file();
        uint64_t last = lasts[i];
        uint64_t first = last > VQ_HISTORY_SAMPLES ? last - VQ_HISTORY_SAMPLES + 1 : 1;
        add(was, file, 1, last);
        expect(was, first, last);
        assert_true(vq_history_load(now, vq_span(file, FILE_BYTES)));
        expect(now, first, last);
        add(now, file, last + 1, last + 3);
        expect(now, last + 3 > VQ_HISTORY_SAMPLES ? last + 4 - VQ_HISTORY_SAMPLES : 1, last + 3);
        vq_history_destroy(&was);
        vq_history_destroy(&now);
        free(file);
    }
}

TEST(test_after)
{
    struct vq_history *h = vq_history_create();
    char *file = new_file();
    add(h, file, 1, 10);
    json_t *json = json_of(h, sample(7).column[VQ_HISTORY_UNIX_MS]);
    assert_int_equal(json_array_size(json_object_get(json, "unix_ms")), 3);
    json_decref(json);
    json = json_of(h, UINT64_MAX);
    assert_int_equal(json_array_size(json_object_get(json, "unix_ms")), 0);
    json_decref(json);
    vq_history_destroy(&h);
    free(file);
}

TEST(test_damage)
{
    struct vq_history *h = vq_history_create(), *now = vq_history_create();
    char *file = new_file();
    add(h, file, 1, 20);
    /* the last record was written only in part */
    size_t last = VQ_HISTORY_HEAD_BYTES + 19 * VQ_HISTORY_RECORD_BYTES;
    memset(file + last + VQ_HISTORY_RECORD_BYTES / 2, 0, VQ_HISTORY_RECORD_BYTES / 2);
    assert_true(vq_history_load(now, vq_span(file, FILE_BYTES)));
    expect(now, 1, 19);
    vq_history_destroy(&now);
    now = vq_history_create();
    /* the file ends within a record */
    assert_true(vq_history_load(now, vq_span(file, last - VQ_HISTORY_RECORD_BYTES - 1)));
    expect(now, 1, 17);
    vq_history_destroy(&now);
    now = vq_history_create();
    assert_true(vq_history_load(now, vq_span(file, VQ_HISTORY_HEAD_BYTES)));
    expect(now, 1, 0);
    assert_false(vq_history_load(now, vq_span(file, VQ_HISTORY_HEAD_BYTES - 1)));
    assert_false(vq_history_load(now, vq_span(file, 0)));
    file[0] ^= 1;
    assert_false(vq_history_load(now, vq_span(file, FILE_BYTES)));
    vq_history_destroy(&now);
    vq_history_destroy(&h);
    free(file);
}
