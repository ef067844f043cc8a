/* Frames and spools with every allocation failing in turn, msgpack-c's too: a status comes back,
 * what was asked for is untouched, and the same decoder, buffer or spool goes on. */

#include "tests/unit/test.h"

#include "proto/spool.h"
#include "random_message.h"
#include "tests/unit/heap.h"

#include <unistd.h>

#define MESSAGES_EACH 12

static struct random_memory memory;

static enum vq_direction direction_of(const struct vq_wire_message *m)
{
    return (m->directions & VQ_TO_WORKER) != 0 ? VQ_TO_WORKER : VQ_TO_COORDINATOR;
}

static enum vq_status encode(void *ctx)
{
    struct vq_buf frame;
    vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
    vq_buf_puts(&frame, "before");
    enum vq_status status = frame.status != VQ_OK ? frame.status : vq_msg_encode(ctx, &frame);
    if (status == VQ_NOMEM && frame.bytes > 0) {
        assert_string_equal(frame.at, "before");
        assert_int_equal(vq_msg_encode(ctx, &frame), VQ_OK); /* it goes on */
    }
    vq_buf_free(&frame);
    return status;
}

struct decoding {
    const struct vq_wire_message *message;
    const struct vq_msg *msg;
    struct vq_span frame;
};

static enum vq_status decode(void *ctx)
{
    const struct decoding *d = ctx;
    struct vq_decoder *decoder = NULL;
    enum vq_status status = vq_decoder_create(&decoder);
    if (status != VQ_OK) {
        assert_null(decoder);
        return status;
    }
    struct vq_msg got;
    memset(&got, 0x55, sizeof(got));
    struct vq_msg before = got;
    struct vq_error err = {.text = ""};
    status = vq_msg_decode(decoder, d->frame, direction_of(d->message), &got, &err);
    if (status != VQ_OK) {
        assert_memory_equal(&got, &before, sizeof(got));
        assert_true(status != VQ_NOMEM || err.text[0] != '\0');
        assert_int_equal(vq_msg_decode(decoder, d->frame, direction_of(d->message), &got, &err),
                         VQ_OK);
    }
    assert_true(same_record(d->message->record, (const char *)&d->msg->u, (const char *)&got.u));
    vq_decoder_destroy(&decoder);
    return status;
}

TEST(messages)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        for (int n = 0; m->directions != 0 && n < MESSAGES_EACH; n++) {
            struct vq_msg msg = {.type = (enum vq_msg_type)m->type};
            random_record(&rng, m->record, (char *)&msg.u, &memory);
            assert_true(heap_torture(m->name, encode, &msg, false) > 0);
            struct vq_buf frame;
            vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
            assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
            struct decoding d = {m, &msg, vq_buf_span(&frame)};
            assert_true(heap_torture(m->name, decode, &d, false) > 1);
            vq_buf_free(&frame);
            random_free(&memory);
        }
    }
}

/* More values than a decoder holds room for from the beginning. */
TEST(a_large_message)
{
    static struct vq_id calls[20000];
    struct vq_msg msg = {.type = VQ_MSG_ACK,
                         .u.ack = {.calls = calls, .calls_count = VQ_COUNT(calls)}};
    struct vq_buf frame;
    vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_msg_encode(&msg, &frame), VQ_OK);
    struct decoding d = {vq_wire_message(VQ_MSG_ACK), &msg, vq_buf_span(&frame)};
    assert_true(heap_torture("large", decode, &d, false) > 3);
    vq_buf_free(&frame);
}

static char dir[] = "/tmp/vibeq-nomem-XXXXXX";
static const struct vq_id run = {{1}}, worker = {{2}};

static struct vq_result result_of(uint8_t n)
{
    return (struct vq_result){.call = {{n}},
                              .pool = vq_span_str("account/model"),
                              .model = vq_span_str("m"),
                              .end = VQ_END_ANSWER,
                              .answer = vq_span_str("Model: A")};
}

/* What could be noted is in the file when it is over, and nothing else of it. */
static enum vq_status write_spool(struct vq_spool *spool, uint32_t *ret_sent)
{
    struct vq_error err = {.text = ""};
    enum vq_status first = VQ_OK;
    for (uint8_t n = 1; n <= 5; n++) {
        struct vq_result result = result_of(n);
        enum vq_status said[4] = {vq_spool_sent(spool, &result, &err), VQ_OK, VQ_OK, VQ_OK};
        *ret_sent |= said[0] == VQ_OK ? 1u << n : 0;
        said[1] = said[0] == VQ_OK ? vq_spool_answer(spool, &result, &err) : VQ_OK;
        said[2] = n == 3 ? vq_spool_acked(spool, &result.call, &err) : VQ_OK;
        *ret_sent &= n == 3 && said[2] == VQ_OK ? ~(1u << n) : ~0u;
        said[3] = vq_spool_write(spool, &err);
        for (int i = 0; i < 4; i++) {
            assert_true(said[i] == VQ_OK || said[i] == VQ_NOMEM);
            first = first == VQ_OK ? said[i] : first;
        }
    }
    return first;
}

static void check_spool(uint32_t sent)
{
    struct vq_spool_held *held = NULL;
    struct vq_error err = {.text = ""};
    heap.paused = true;
    if (vq_spool_read(dir, &run, &held, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vq_spool_held_torn_bytes(held), 0);
    uint32_t found = 0;
    for (size_t i = 0; i < vq_spool_held_count(held); i++) {
        found |= 1u << vq_spool_held_at(held, i)->call.b[0];
    }
    assert_int_equal(found, sent);
    vq_spool_held_destroy(&held);
    heap.paused = false;
}

static enum vq_status use_spool(void *ctx)
{
    (void)ctx;
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {.text = ""};
    uint32_t sent = 0;
    enum vq_status status = vq_spool_open(dir, &run, &worker, &spool, &held, &err);
    if (status == VQ_OK) {
        vq_spool_held_destroy(&held);
        status = write_spool(spool, &sent);
        vq_spool_close(&spool);
    } else {
        assert_true(spool == NULL && held == NULL);
    }
    check_spool(sent);
    if (status == VQ_OK) { /* the next owner */
        status = vq_spool_open(dir, &run, &worker, &spool, &held, &err);
        assert_true((status == VQ_OK) == (held != NULL));
        vq_spool_held_destroy(&held);
        vq_spool_close(&spool);
        check_spool(sent);
        status = status == VQ_OK ? vq_spool_read(dir, NULL, &held, &err) : status;
        vq_spool_held_destroy(&held);
    }
    assert_int_equal(vq_spool_remove(dir, &err), VQ_OK);
    return status;
}

/* What is noted in an open spool needs no memory: it was got when it was opened. */
static enum vq_status many_notes(void *ctx)
{
    (void)ctx;
    struct vq_spool *spool = NULL;
    struct vq_spool_held *held = NULL;
    struct vq_error err = {.text = ""};
    uint32_t left = 0;
    heap.paused = true;
    for (int again = 0; again < 2;
         again++) { /* what is there is written anew, in one small buffer */
        assert_int_equal(vq_spool_open(dir, &run, &worker, &spool, &held, &err), VQ_OK);
        vq_spool_held_destroy(&held);
        for (uint8_t n = 1; again == 0 && n <= 20; n++) {
            struct vq_result result = result_of(n);
            assert_int_equal(vq_spool_sent(spool, &result, &err), VQ_OK);
            left |= 1u << n;
        }
        if (again == 0) {
            vq_spool_close(&spool);
        }
    }
    heap.paused = false;
    enum vq_status first = VQ_OK;
    for (uint8_t n = 1; n <= 19; n++) {
        struct vq_id call = {{n}};
        struct vq_result result = result_of(n);
        enum vq_status status = n % 3 == 0   ? vq_spool_acked(spool, &call, &err)
                                : n % 3 == 1 ? vq_spool_answer(spool, &result, &err)
                                             : vq_spool_sent(spool, &result, &err);
        left &= status == VQ_OK && n % 3 == 0 ? ~(1u << n) : ~0u;
        status = status == VQ_OK ? vq_spool_write(spool, &err) : status;
        first = first == VQ_OK ? status : first;
    }
    heap.paused = true;
    struct vq_result last = result_of(21);
    assert_int_equal(vq_spool_sent(spool, &last, &err), VQ_OK);
    vq_spool_close(&spool);
    check_spool(left | 1u << 21);
    heap.paused = true;
    assert_int_equal(vq_spool_remove(dir, &err), VQ_OK);
    heap.paused = false;
    return first;
}

TEST(a_spool)
{
    assert_non_null(mkdtemp(dir));
    assert_true(heap_torture("spool", use_spool, NULL, false) > 30);
    assert_int_equal(heap_torture("notes", many_notes, NULL, false), 0);
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_LOCK);
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

TEST(every_end_has_its_word)
{
    for (int a = 0; a < VQ_END__COUNT; a++) {
        const char *word = vq_call_end_word((enum vq_call_end)a);
        assert_true(strlen(word) > 1);
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(word, vq_call_end_word((enum vq_call_end)b));
        }
    }
    assert_string_equal(vq_call_end_word(VQ_END__COUNT), "?");
    assert_string_equal(vq_call_end_word((enum vq_call_end)200), "?");
}
