/* The table of messages.def as data, for the codec and for PROTOCOL.md. Private to proto/. */
#pragma once

#include "proto/wire.h"

enum vq_wire_type {
    VQ_WIRE_ID,
    VQ_WIRE_HASH,
    VQ_WIRE_U64,
    VQ_WIRE_I64,
    VQ_WIRE_INDEX,
    VQ_WIRE_U32,
    VQ_WIRE_ENUM,
    VQ_WIRE_BOOL,
    VQ_WIRE_REAL,
    VQ_WIRE_TEXT,
    VQ_WIRE_BYTES,
    VQ_WIRE_INSIDE,
    VQ_WIRE_LIST,
};

struct vq_wire_record;

struct vq_wire_field {
    const char *name;
    const char *doc;
    enum vq_wire_type type;
    uint32_t offset;       /* of the member; of a list: of the pointer to its items */
    uint32_t count_offset; /* of a list: of its count */
    uint64_t bound;        /* the most bytes, the largest number, or the most items; 0: no bound */
    const struct vq_wire_record *record; /* of INSIDE and LIST */
};

struct vq_wire_record {
    const char *name;
    const struct vq_wire_field *fields;
    uint32_t fields_count;
    uint32_t bytes; /* of the struct */
    bool bare;      /* one value, without an array around it */
};

struct vq_wire_message {
    const char *name;
    const char *doc;
    const struct vq_wire_record *record;
    uint32_t type;
    uint32_t directions; /* enum vq_direction, or both; 0: standalone */
};

extern const struct vq_wire_message vq_wire_messages[];
extern const uint32_t vq_wire_messages_count;

const struct vq_wire_message *vq_wire_message(uint64_t type);       /* NULL: unknown type */
const struct vq_wire_message *vq_wire_standalone(const char *name); /* never NULL */

/* Checks a frame's headers and allocates nothing. A valid frame is one array without bytes after
 * it, maps or extension types; no item is longer than the frame; it is within VQ_FRAME_DEPTH_MAX
 * and VQ_FRAME_ITEMS_MAX. VQ_INVALID, VQ_LIMIT. */
enum vq_status vq_wire_walk(struct vq_span frame, struct vq_error *err) VQ_WARN_UNUSED;

/* The protocol version that a frame names, of any protocol; false: it names none. */
bool vq_wire_peek_version(struct vq_span frame, uint64_t *ret_version);

#define VQ_WIRE_RECORDS_MAX 64
#define VQ_WIRE_PAGE_BEGIN  "<!-- written from messages.def: begin -->\n"
#define VQ_WIRE_PAGE_END    "<!-- written from messages.def: end -->\n"

/* Appends the tables of PROTOCOL.md. */
void vq_wire_describe(struct vq_buf *out);
