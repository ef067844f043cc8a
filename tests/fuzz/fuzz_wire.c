/* Any bytes as a frame, both ways: no crash, no more memory than the limits, and what is
 * accepted can be encoded and decoded again to the same bytes. Corpus: vq-wire-corpus. */
#include "proto/wire.h"

#include <stdlib.h>

static void check(struct vq_decoder *decoder, struct vq_span frame, enum vq_direction direction)
{
    struct vq_msg msg, again;
    struct vq_error err = {""};
    if (vq_msg_decode(decoder, frame, direction, &msg, &err) != VQ_OK) {
        if (err.text[0] == '\0') {
            abort(); /* a refusal says why */
        }
        return;
    }
    struct vq_buf first, second;
    vq_buf_init(&first, 2 * VQ_FRAME_BYTES_MAX);
    vq_buf_init(&second, 2 * VQ_FRAME_BYTES_MAX);
    struct vq_decoder *other;
    if (vq_decoder_create(&other) != VQ_OK) {
        abort();
    }
    if (vq_msg_encode(&msg, &first) != VQ_OK ||
        vq_msg_decode(other, vq_buf_span(&first), direction, &again, NULL) != VQ_OK ||
        vq_msg_encode(&again, &second) != VQ_OK ||
        !vq_span_eq(vq_buf_span(&first), vq_buf_span(&second))) {
        abort();
    }
    vq_decoder_destroy(&other);
    vq_buf_free(&first);
    vq_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vq_decoder *decoder; /* kept: its memory is used from frame to frame */
    if (decoder == NULL && vq_decoder_create(&decoder) != VQ_OK) {
        abort();
    }
    struct vq_span frame = vq_span((const char *)data, size);
    check(decoder, frame, VQ_TO_COORDINATOR);
    check(decoder, frame, VQ_TO_WORKER);
    return 0;
}
