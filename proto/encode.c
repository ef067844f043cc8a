/* Encodes messages, results and specs as MessagePack, by the table. Invariant: vq_msg_decode
 * accepts every encoded message. A value that it would refuse (over its bound, not finite) is
 * refused as VQ_LIMIT, and the buffer is unchanged. */
#include "proto/table.h"

#include <math.h>
#include <msgpack.h>

struct writer {
    msgpack_packer packer;
    enum vq_status status; /* nothing is written after a failure */
};

static int write_bytes(void *data, const char *bytes, size_t n)
{
    struct vq_buf *buf = data;
    vq_buf_append(buf, bytes, n);
    return buf->status == VQ_OK ? 0 : -1;
}

static void refuse(struct writer *w)
{
    w->status = VQ_LIMIT;
}

static void write_span(struct writer *w, const struct vq_wire_field *field, const void *at)
{
    const struct vq_span *span = at;
    if (span->bytes > field->bound) {
        refuse(w);
        return;
    }
    if (field->type == VQ_WIRE_TEXT) {
        (void)msgpack_pack_str_with_body(&w->packer, span->at, span->bytes);
    } else {
        (void)msgpack_pack_bin_with_body(&w->packer, span->at, span->bytes);
    }
}

static void write_unsigned(struct writer *w, const struct vq_wire_field *field, uint64_t value)
{
    if (field->bound != 0 && value > field->bound) {
        refuse(w);
        return;
    }
    (void)msgpack_pack_uint64(&w->packer, value);
}

static void write_signed(struct writer *w, const struct vq_wire_field *field, int64_t value)
{
    if (field->type == VQ_WIRE_INDEX && (value < -1 || value > (int64_t)field->bound)) {
        refuse(w);
        return;
    }
    (void)msgpack_pack_int64(&w->packer, value);
}

static void write_real(struct writer *w, double value)
{
    if (!isfinite(value) || value < 0) {
        refuse(w);
        return;
    }
    (void)msgpack_pack_double(&w->packer, value);
}

static void write_record(struct writer *w, const struct vq_wire_record *record, const void *at);

static void write_list(struct writer *w, const struct vq_wire_field *field, const char *record)
{
    const char *items;
    uint32_t count;
    memcpy(&items, record + field->offset, sizeof(items));
    memcpy(&count, record + field->count_offset, sizeof(count));
    if (count > field->bound) {
        refuse(w);
        return;
    }
    (void)msgpack_pack_array(&w->packer, count);
    for (uint32_t i = 0; i < count && w->status == VQ_OK; i++) {
        write_record(w, field->record, items + (size_t)i * field->record->bytes);
    }
}

static void write_field(struct writer *w, const struct vq_wire_field *field, const char *record)
{
    const void *at = record + field->offset;
    switch (field->type) {
    case VQ_WIRE_ID: (void)msgpack_pack_bin_with_body(&w->packer, at, VQ_ID_BYTES); break;
    case VQ_WIRE_HASH: (void)msgpack_pack_bin_with_body(&w->packer, at, VQ_HASH_BYTES); break;
    case VQ_WIRE_U64: write_unsigned(w, field, *(const uint64_t *)at); break;
    case VQ_WIRE_U32: write_unsigned(w, field, *(const uint32_t *)at); break;
    case VQ_WIRE_ENUM: write_unsigned(w, field, *(const uint8_t *)at); break;
    case VQ_WIRE_I64:
    case VQ_WIRE_INDEX: write_signed(w, field, *(const int64_t *)at); break;
    case VQ_WIRE_BOOL:
        (void)(*(const bool *)at ? msgpack_pack_true(&w->packer) : msgpack_pack_false(&w->packer));
        break;
    case VQ_WIRE_REAL: write_real(w, *(const double *)at); break;
    case VQ_WIRE_TEXT:
    case VQ_WIRE_BYTES: write_span(w, field, at); break;
    case VQ_WIRE_INSIDE: write_record(w, field->record, at); break;
    case VQ_WIRE_LIST: write_list(w, field, record); break;
    }
}

static void write_fields(struct writer *w, const struct vq_wire_record *record, const void *at)
{
    for (uint32_t i = 0; i < record->fields_count && w->status == VQ_OK; i++) {
        write_field(w, &record->fields[i], at);
    }
}

static void write_record(struct writer *w, const struct vq_wire_record *record, const void *at)
{
    if (!record->bare) {
        (void)msgpack_pack_array(&w->packer, record->fields_count);
    }
    write_fields(w, record, at);
}

/* Appends [version, type, fields ...] to the buffer. */
static enum vq_status write_frame(const struct vq_wire_message *message, const void *at,
                                  struct vq_buf *out)
{
    if (out->status != VQ_OK) {
        return out->status;
    }
    size_t before = out->bytes;
    struct writer w = {.status = VQ_OK};
    msgpack_packer_init(&w.packer, out, write_bytes);
    (void)msgpack_pack_array(&w.packer, message->record->fields_count + 2);
    (void)msgpack_pack_uint64(&w.packer, VQ_PROTOCOL_VERSION);
    (void)msgpack_pack_uint64(&w.packer, message->type);
    write_fields(&w, message->record, at);
    enum vq_status status = out->status != VQ_OK ? out->status : w.status;
    if (status == VQ_OK && out->bytes - before > VQ_FRAME_BYTES_MAX) {
        status = VQ_LIMIT;
    }
    if (status != VQ_OK) {
        out->status = VQ_OK;
        out->bytes = before;
        if (out->at != NULL) {
            out->at[before] = '\0';
        }
    }
    return status;
}

enum vq_status vq_msg_encode(const struct vq_msg *msg, struct vq_buf *frame)
{
    const struct vq_wire_message *message = vq_wire_message(msg->type);
    VQ_ASSERT(message != NULL && message->directions != 0);
    return write_frame(message, &msg->u, frame);
}

enum vq_status vq_result_encode(const struct vq_result *result, struct vq_buf *out)
{
    return write_frame(vq_wire_standalone("RESULT"), result, out);
}

enum vq_status vq_spec_encode(const struct vq_spec *spec, struct vq_buf *out)
{
    return write_frame(vq_wire_standalone("SPEC_BODY"), spec, out);
}
