/* Checks the headers of a MessagePack frame before any allocation, because msgpack-c allocates as
 * much as a header claims. Invariants: no byte outside the frame is read; the work is linear in the
 * frame's bytes; after VQ_OK a decoder needs at most VQ_FRAME_ITEMS_MAX objects. Not its job: the
 * meaning of values. */
#include "proto/table.h"

struct head {
    size_t head_bytes; /* marker and length */
    uint64_t payload_bytes;
    uint64_t items; /* of an array */
    bool array;
    bool refused; /* a map, an extension type, the unused marker */
};

/* Markers 0xc0 to 0xdf: bytes of the length, bytes of a fixed payload, kind. */
static const struct {
    uint8_t length_bytes;
    uint8_t payload_bytes;
    char kind; /* 'v' value, 'a' array, 'x' refused */
} markers[32] = {
    [0x00] = {0, 0, 'v'},                                             /* nil */
    [0x01] = {0, 0, 'x'}, [0x02] = {0, 0, 'v'},                       /* false, true */
    [0x03] = {0, 0, 'v'}, [0x04] = {1, 0, 'v'},                       /* bin */
    [0x05] = {2, 0, 'v'}, [0x06] = {4, 0, 'v'}, [0x07] = {0, 0, 'x'}, /* ext */
    [0x08] = {0, 0, 'x'}, [0x09] = {0, 0, 'x'}, [0x0a] = {0, 4, 'v'}, /* float */
    [0x0b] = {0, 8, 'v'}, [0x0c] = {0, 1, 'v'},                       /* uint */
    [0x0d] = {0, 2, 'v'}, [0x0e] = {0, 4, 'v'}, [0x0f] = {0, 8, 'v'},
    [0x10] = {0, 1, 'v'}, /* int */
    [0x11] = {0, 2, 'v'}, [0x12] = {0, 4, 'v'}, [0x13] = {0, 8, 'v'},
    [0x14] = {0, 0, 'x'}, /* fixext */
    [0x15] = {0, 0, 'x'}, [0x16] = {0, 0, 'x'}, [0x17] = {0, 0, 'x'},
    [0x18] = {0, 0, 'x'}, [0x19] = {1, 0, 'v'},                       /* str */
    [0x1a] = {2, 0, 'v'}, [0x1b] = {4, 0, 'v'}, [0x1c] = {2, 0, 'a'}, /* array */
    [0x1d] = {4, 0, 'a'}, [0x1e] = {0, 0, 'x'},                       /* map */
    [0x1f] = {0, 0, 'x'},
};

/* Reads the header at `at`, where `left` > 0 bytes are readable; false: incomplete. */
static bool read_head(const uint8_t *at, size_t left, struct head *ret_head)
{
    uint8_t m = at[0];
    struct head head = {.head_bytes = 1};
    if (m >= 0xc0 && m < 0xe0) {
        unsigned length_bytes = markers[m - 0xc0].length_bytes;
        if (left < 1 + (size_t)length_bytes) {
            return false;
        }
        uint64_t length = 0;
        for (unsigned i = 0; i < length_bytes; i++) {
            length = length << 8 | at[1 + i];
        }
        head.head_bytes = 1 + (size_t)length_bytes;
        head.array = markers[m - 0xc0].kind == 'a';
        head.refused = markers[m - 0xc0].kind == 'x';
        head.items = head.array ? length : 0;
        head.payload_bytes = head.array ? 0 : length + markers[m - 0xc0].payload_bytes;
    } else if ((m & 0xe0) == 0xa0) {
        head.payload_bytes = m & 0x1f;
    } else if ((m & 0xf0) == 0x90) {
        head.array = true;
        head.items = m & 0x0f;
    } else if ((m & 0xf0) == 0x80) {
        head.refused = true;
    }
    *ret_head = head;
    return true;
}

enum vq_status vq_wire_walk(struct vq_span frame, struct vq_error *err)
{
    if (frame.bytes > VQ_FRAME_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "a frame of %zu bytes, at most %u", frame.bytes,
                       VQ_FRAME_BYTES_MAX);
    }
    const uint8_t *bytes = (const uint8_t *)frame.at;
    uint64_t open[VQ_FRAME_DEPTH_MAX]; /* the number of missing items of each open array */
    size_t depth = 0;
    size_t at = 0;
    uint64_t items = 0;
    do {
        struct head head;
        if (at >= frame.bytes || !read_head(bytes + at, frame.bytes - at, &head)) {
            return vq_fail(err, VQ_INVALID, "the frame ends inside a value, at byte %zu", at);
        }
        if (head.refused) {
            return vq_fail(err, VQ_INVALID, "byte %zu: 0x%02x begins no value of this protocol", at,
                           bytes[at]);
        }
        if (depth == 0 && !head.array) {
            return vq_fail(err, VQ_INVALID, "the frame is not an array");
        }
        size_t left = frame.bytes - at - head.head_bytes;
        if (head.payload_bytes > left || head.items > left) {
            return vq_fail(err, VQ_INVALID,
                           "byte %zu: a value claims %llu bytes or items, %zu bytes are left", at,
                           (unsigned long long)(head.payload_bytes + head.items), left);
        }
        items += head.items;
        if (items > VQ_FRAME_ITEMS_MAX) {
            return vq_fail(err, VQ_LIMIT, "more than %u items in a frame", VQ_FRAME_ITEMS_MAX);
        }
        at += head.head_bytes + (size_t)head.payload_bytes;
        if (depth > 0) {
            open[depth - 1]--;
        }
        if (head.array && head.items > 0) {
            if (depth == VQ_FRAME_DEPTH_MAX) {
                return vq_fail(err, VQ_LIMIT, "arrays nested deeper than %d", VQ_FRAME_DEPTH_MAX);
            }
            open[depth++] = head.items;
        }
        while (depth > 0 && open[depth - 1] == 0) {
            depth--;
        }
    } while (depth > 0);
    if (at != frame.bytes) {
        return vq_fail(err, VQ_INVALID, "%zu bytes after the end of the frame", frame.bytes - at);
    }
    return VQ_OK;
}

bool vq_wire_peek_version(struct vq_span frame, uint64_t *ret_version)
{
    const uint8_t *bytes = (const uint8_t *)frame.at;
    struct head outer;
    if (frame.bytes == 0 || !read_head(bytes, frame.bytes, &outer) || outer.items == 0 ||
        outer.head_bytes >= frame.bytes) {
        return false;
    }
    const uint8_t *at = bytes + outer.head_bytes;
    size_t left = frame.bytes - outer.head_bytes;
    if (at[0] < 0x80) {
        *ret_version = at[0];
        return true;
    }
    if (at[0] < 0xcc || at[0] > 0xcf) {
        return false;
    }
    size_t bytes_of_it = (size_t)1 << (at[0] - 0xcc);
    if (bytes_of_it > left - 1) {
        return false;
    }
    uint64_t version = 0;
    for (size_t i = 0; i < bytes_of_it; i++) {
        version = version << 8 | at[1 + i];
    }
    *ret_version = version;
    return true;
}
