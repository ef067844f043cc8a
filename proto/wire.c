/* Decodes frames to messages, by the table. A frame's headers are checked before msgpack-c may
 * allocate; then every value is checked for type and bound. Invariants: any bytes are safe to
 * decode; the caller's message is written only after the whole frame is accepted; the memory that a
 * message points into belongs to the decoder, is reused for each frame, and is bounded by
 * VQ_FRAME_BYTES_MAX, VQ_FRAME_ITEMS_MAX and the table. Not its job: whether a message makes
 * sense. */
#include "common/base/alloc.h"
#include "proto/table.h"

#include <math.h>
#include <msgpack.h>

#define ARENA_BLOCK_BYTES 65536
#define ZONE_BLOCK_BYTES  (256 * 1024)

/* Blocks of growing size; a block that was large enough for a whole message is reused for the
 * next. */
struct block {
    struct block *older;
    size_t cap;
    size_t used;
    _Alignas(16) char at[];
};

struct vq_decoder {
    msgpack_zone zone;
    struct block *newest;
};

struct step {
    const char *field;
    int64_t index; /* -1: no list */
};

struct reader {
    struct vq_decoder *decoder;
    struct vq_error *err;
    const char *message;
    struct step path[VQ_FRAME_DEPTH_MAX + 1];
    size_t depth;
    uint32_t lacks; /* the number of last fields that the frame's version does not have */
};

static void arena_free(struct vq_decoder *decoder)
{
    while (decoder->newest != NULL) {
        struct block *block = decoder->newest;
        decoder->newest = block->older;
        vq_free(block);
    }
}

static void arena_reset(struct vq_decoder *decoder)
{
    struct block *keep = decoder->newest; /* the newest is the largest */
    if (keep != NULL) {
        decoder->newest = keep->older;
        arena_free(decoder);
        keep->older = NULL;
        keep->used = 0;
        decoder->newest = keep;
    }
}

static void *arena_take(struct vq_decoder *decoder, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct block *block = decoder->newest;
    if (block == NULL || bytes > block->cap - block->used) {
        size_t cap = block == NULL ? ARENA_BLOCK_BYTES : block->cap * 2;
        cap = cap < bytes ? bytes : cap;
        struct block *fresh = vq_alloc(1, sizeof(*fresh) + cap);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->cap = cap;
        fresh->older = block;
        decoder->newest = block = fresh;
    }
    void *at = block->at + block->used;
    block->used += bytes;
    return at;
}

enum vq_status vq_decoder_create(struct vq_decoder **ret_decoder)
{
    struct vq_decoder *decoder;
    VQ_TRY(VQ_ALLOC(decoder, 1));
    if (!msgpack_zone_init(&decoder->zone, ZONE_BLOCK_BYTES)) {
        vq_free(decoder);
        return VQ_NOMEM;
    }
    *ret_decoder = decoder;
    return VQ_OK;
}

void vq_decoder_destroy(struct vq_decoder **decoder)
{
    if (*decoder != NULL) {
        msgpack_zone_destroy(&(*decoder)->zone);
        arena_free(*decoder);
        vq_free(*decoder);
        *decoder = NULL;
    }
}

static enum vq_status refuse(struct reader *r, const char *fmt, ...) VQ_PRINTF(2, 3);
static enum vq_status refuse(struct reader *r, const char *fmt, ...)
{
    if (r->err == NULL) {
        return VQ_INVALID;
    }
    struct vq_buf text;
    vq_buf_init(&text, VQ_ERROR_BYTES_MAX - 1);
    vq_buf_puts(&text, r->message);
    for (size_t i = 0; i < r->depth; i++) {
        vq_buf_printf(&text, ".%s", r->path[i].field);
        if (r->path[i].index >= 0) {
            vq_buf_printf(&text, "[%lld]", (long long)r->path[i].index);
        }
    }
    char why[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    enum vq_status status =
        vq_fail(r->err, VQ_INVALID, "%s: %s", text.at == NULL ? r->message : text.at, why);
    vq_buf_free(&text);
    return status;
}

/* By msgpack_object_type; the check of headers refuses maps and extensions before. */
static const char *const kind_names[] = {
    [MSGPACK_OBJECT_NIL] = "nil",
    [MSGPACK_OBJECT_BOOLEAN] = "a boolean",
    [MSGPACK_OBJECT_POSITIVE_INTEGER] = "an integer",
    [MSGPACK_OBJECT_NEGATIVE_INTEGER] = "a negative integer",
    [MSGPACK_OBJECT_FLOAT32] = "a float",
    [MSGPACK_OBJECT_FLOAT64] = "a float",
    [MSGPACK_OBJECT_STR] = "a text",
    [MSGPACK_OBJECT_ARRAY] = "an array",
    [MSGPACK_OBJECT_MAP] = "a map",
    [MSGPACK_OBJECT_BIN] = "bytes",
    [MSGPACK_OBJECT_EXT] = "an extension",
};

static enum vq_status wrong_kind(struct reader *r, const char *wanted, const msgpack_object *o)
{
    return refuse(r, "%s wanted, %s came", wanted, kind_names[o->type]);
}

static enum vq_status read_fixed(struct reader *r, const msgpack_object *o, void *at, size_t bytes)
{
    if (o->type != MSGPACK_OBJECT_BIN) {
        return wrong_kind(r, "bytes", o);
    }
    if (o->via.bin.size != bytes) {
        return refuse(r, "%zu bytes wanted, %u came", bytes, o->via.bin.size);
    }
    memcpy(at, o->via.bin.ptr, bytes);
    return VQ_OK;
}

static enum vq_status read_unsigned(struct reader *r, const struct vq_wire_field *field,
                                    const msgpack_object *o, uint64_t type_max, uint64_t *ret_value)
{
    if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
        return wrong_kind(r, "a non-negative integer", o);
    }
    uint64_t max = field->bound != 0 ? field->bound : type_max;
    if (o->via.u64 > max) {
        return refuse(r, "%llu, at most %llu", (unsigned long long)o->via.u64,
                      (unsigned long long)max);
    }
    *ret_value = o->via.u64;
    return VQ_OK;
}

static enum vq_status read_signed(struct reader *r, const struct vq_wire_field *field,
                                  const msgpack_object *o, int64_t *ret_value)
{
    int64_t value;
    if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        value = o->via.i64;
    } else if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
        return wrong_kind(r, "an integer", o);
    } else if (o->via.u64 > INT64_MAX) {
        return refuse(r, "%llu does not fit 63 bits", (unsigned long long)o->via.u64);
    } else {
        value = (int64_t)o->via.u64;
    }
    if (field->type == VQ_WIRE_INDEX && (value < -1 || value > (int64_t)field->bound)) {
        return refuse(r, "%lld is outside -1 to %llu", (long long)value,
                      (unsigned long long)field->bound);
    }
    *ret_value = value;
    return VQ_OK;
}

static enum vq_status read_real(struct reader *r, const msgpack_object *o, double *ret_value)
{
    if (o->type != MSGPACK_OBJECT_FLOAT64 && o->type != MSGPACK_OBJECT_FLOAT32) {
        return wrong_kind(r, "a float", o);
    }
    if (!isfinite(o->via.f64) || o->via.f64 < 0) {
        return refuse(r, "a finite number of at least 0 wanted");
    }
    *ret_value = o->via.f64;
    return VQ_OK;
}

static enum vq_status read_span(struct reader *r, const struct vq_wire_field *field,
                                const msgpack_object *o, struct vq_span *ret_span)
{
    bool text = field->type == VQ_WIRE_TEXT;
    if (o->type != (text ? MSGPACK_OBJECT_STR : MSGPACK_OBJECT_BIN)) {
        return wrong_kind(r, text ? "a text" : "bytes", o);
    }
    struct vq_span span =
        text ? vq_span(o->via.str.ptr, o->via.str.size) : vq_span(o->via.bin.ptr, o->via.bin.size);
    if (span.bytes > field->bound) {
        return refuse(r, "%zu bytes, at most %llu", span.bytes, (unsigned long long)field->bound);
    }
    *ret_span = span;
    return VQ_OK;
}

static enum vq_status read_record(struct reader *r, const struct vq_wire_record *record,
                                  const msgpack_object *o, void *at);

static enum vq_status read_list(struct reader *r, const struct vq_wire_field *field,
                                const msgpack_object *o, char *record)
{
    if (o->type != MSGPACK_OBJECT_ARRAY) {
        return wrong_kind(r, "an array", o);
    }
    uint32_t count = o->via.array.size;
    if (count > field->bound) {
        return refuse(r, "%u items, at most %llu", count, (unsigned long long)field->bound);
    }
    char *items = NULL;
    if (count > 0) {
        items = arena_take(r->decoder, (size_t)count * field->record->bytes);
        if (items == NULL) {
            return VQ_NOMEM;
        }
    }
    struct step *step = &r->path[r->depth - 1];
    for (uint32_t i = 0; i < count; i++) {
        step->index = i;
        VQ_TRY(read_record(r, field->record, &o->via.array.ptr[i],
                           items + (size_t)i * field->record->bytes));
    }
    step->index = -1;
    memcpy(record + field->offset, &items, sizeof(items));
    memcpy(record + field->count_offset, &count, sizeof(count));
    return VQ_OK;
}

static enum vq_status read_value(struct reader *r, const struct vq_wire_field *field,
                                 const msgpack_object *o, char *record)
{
    void *at = record + field->offset;
    uint64_t value = 0;
    switch (field->type) {
    case VQ_WIRE_ID: return read_fixed(r, o, at, VQ_ID_BYTES);
    case VQ_WIRE_HASH: return read_fixed(r, o, at, VQ_HASH_BYTES);
    case VQ_WIRE_U64: return read_unsigned(r, field, o, UINT64_MAX, at);
    case VQ_WIRE_U32:
        VQ_TRY(read_unsigned(r, field, o, UINT32_MAX, &value));
        *(uint32_t *)at = (uint32_t)value;
        return VQ_OK;
    case VQ_WIRE_ENUM:
        VQ_TRY(read_unsigned(r, field, o, UINT8_MAX, &value));
        *(uint8_t *)at = (uint8_t)value;
        return VQ_OK;
    case VQ_WIRE_I64:
    case VQ_WIRE_INDEX: return read_signed(r, field, o, at);
    case VQ_WIRE_BOOL:
        if (o->type != MSGPACK_OBJECT_BOOLEAN) {
            return wrong_kind(r, "a boolean", o);
        }
        *(bool *)at = o->via.boolean;
        return VQ_OK;
    case VQ_WIRE_REAL: return read_real(r, o, at);
    case VQ_WIRE_TEXT:
    case VQ_WIRE_BYTES: return read_span(r, field, o, at);
    case VQ_WIRE_INSIDE: return read_record(r, field->record, o, at);
    case VQ_WIRE_LIST: return read_list(r, field, o, record);
    }
    return VQ_BUG;
}

static enum vq_status read_fields(struct reader *r, const struct vq_wire_record *record,
                                  const msgpack_object *values, uint32_t count, void *at)
{
    uint32_t wanted = record->fields_count - (r->depth == 0 ? r->lacks : 0);
    if (count != wanted) {
        return refuse(r, "%u fields wanted, %u came", wanted, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        r->path[r->depth++] = (struct step){record->fields[i].name, -1};
        VQ_TRY(read_value(r, &record->fields[i], &values[i], at));
        r->depth--;
    }
    return VQ_OK;
}

static enum vq_status read_record(struct reader *r, const struct vq_wire_record *record,
                                  const msgpack_object *o, void *at)
{
    if (record->bare) {
        return read_value(r, &record->fields[0], o, at);
    }
    if (o->type != MSGPACK_OBJECT_ARRAY) {
        return wrong_kind(r, "an array", o);
    }
    return read_fields(r, record, o->via.array.ptr, o->via.array.size, at);
}

/* Checks the frame as a whole and parses it: *ret_frame is an array of a right version, from
 * `oldest` on, with at least a type. */
static enum vq_status parse(struct vq_decoder *decoder, struct vq_span frame, uint64_t oldest,
                            msgpack_object *ret_frame, struct vq_error *err)
{
    arena_reset(decoder);
    msgpack_zone_clear(&decoder->zone);
    uint64_t version;
    if (!vq_wire_peek_version(frame, &version)) {
        return vq_fail(err, VQ_INVALID, "the frame is not an array that begins with a version");
    }
    if (version < oldest || version > VQ_PROTOCOL_VERSION) {
        return vq_fail(err, VQ_VERSION,
                       "the peer speaks protocol version %llu, this program version %d: "
                       "use the same release on both sides",
                       (unsigned long long)version, VQ_PROTOCOL_VERSION);
    }
    VQ_TRY(vq_wire_walk(frame, err));
    size_t at = 0;
    msgpack_object object;
    msgpack_unpack_return got = msgpack_unpack(frame.at, frame.bytes, &at, &decoder->zone, &object);
    if (got == MSGPACK_UNPACK_NOMEM_ERROR) {
        return vq_fail(err, VQ_NOMEM, "no memory for a frame of %zu bytes", frame.bytes);
    }
    /* the check of headers ensures an array */
    if (got != MSGPACK_UNPACK_SUCCESS || object.via.array.size < 2) {
        return vq_fail(err, VQ_INVALID, "the frame is not [version, type, ...]");
    }
    *ret_frame = object;
    return VQ_OK;
}

static enum vq_status read_frame(struct vq_decoder *decoder, const struct vq_wire_message *message,
                                 const msgpack_object *frame, uint32_t lacks, void *at,
                                 struct vq_error *err)
{
    struct reader r = {.decoder = decoder, .err = err, .message = message->name, .lacks = lacks};
    enum vq_status status =
        read_fields(&r, message->record, frame->via.array.ptr + 2, frame->via.array.size - 2, at);
    return status == VQ_NOMEM ? vq_fail(err, status, "%s: no memory", message->name) : status;
}

const char *vq_msg_name(enum vq_msg_type type)
{
    const struct vq_wire_message *message = vq_wire_message((uint64_t)type);
    return message == NULL || message->directions == 0 ? "?" : message->name;
}

enum vq_status vq_msg_decode(struct vq_decoder *decoder, struct vq_span frame,
                             enum vq_direction direction, struct vq_msg *ret_msg,
                             struct vq_error *err)
{
    msgpack_object object;
    VQ_TRY(parse(decoder, frame, VQ_PROTOCOL_VERSION, &object, err));
    const msgpack_object *type = &object.via.array.ptr[1];
    const struct vq_wire_message *message = NULL;
    if (type->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        message = vq_wire_message(type->via.u64);
    }
    if (message == NULL || message->directions == 0) {
        return vq_fail(err, VQ_INVALID, "no message has the type that the frame gives");
    }
    if ((message->directions & (uint32_t)direction) == 0) {
        return vq_fail(err, VQ_INVALID, "%s does not go to %s", message->name,
                       direction == VQ_TO_COORDINATOR ? "the coordinator" : "a worker");
    }
    struct vq_msg msg = {.type = (enum vq_msg_type)message->type};
    VQ_TRY(read_frame(decoder, message, &object, 0, &msg.u, err));
    *ret_msg = msg;
    return VQ_OK;
}

/* The fields that version 9 has added: tokens_written, tier. */
#define RESULT_FIELDS_OF_9 2u

/* `later`: the number of last fields that were added after version `oldest`. */
static enum vq_status decode_standalone(struct vq_decoder *decoder, struct vq_span bytes,
                                        const char *name, uint64_t oldest, uint32_t later, void *at,
                                        struct vq_error *err)
{
    const struct vq_wire_message *message = vq_wire_standalone(name);
    msgpack_object object;
    VQ_TRY(parse(decoder, bytes, oldest, &object, err));
    uint64_t version = object.via.array.ptr[0].via.u64; /* parse has checked it */
    const msgpack_object *type = &object.via.array.ptr[1];
    if (type->type != MSGPACK_OBJECT_POSITIVE_INTEGER || type->via.u64 != message->type) {
        return vq_fail(err, VQ_INVALID, "these bytes are no %s", name);
    }
    return read_frame(decoder, message, &object, version < VQ_PROTOCOL_VERSION ? later : 0, at,
                      err);
}

enum vq_status vq_result_decode(struct vq_decoder *decoder, struct vq_span bytes,
                                struct vq_result *ret_result, struct vq_error *err)
{
    struct vq_result result = {.task = 0};
    VQ_TRY(decode_standalone(decoder, bytes, "RESULT", VQ_RESULT_VERSION_MIN, RESULT_FIELDS_OF_9,
                             &result, err));
    *ret_result = result;
    return VQ_OK;
}

enum vq_status vq_spec_decode(struct vq_decoder *decoder, struct vq_span bytes,
                              struct vq_spec *ret_spec, struct vq_error *err)
{
    struct vq_spec spec = {.axes_count = 0};
    VQ_TRY(decode_standalone(decoder, bytes, "SPEC_BODY", VQ_PROTOCOL_VERSION, 0, &spec, err));
    *ret_spec = spec;
    return VQ_OK;
}
