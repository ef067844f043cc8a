/* Expands messages.def into constant tables, and checks at compile time that every row fits the
 * C type of its member. */
#include "proto/table.h"

#include "proto/limits.h"

#define VQ_IGNORE(...)

/* Pass 1: each row's type is its member's. */
#define C_ID    struct vq_id
#define C_HASH  struct vq_hash
#define C_U64   uint64_t
#define C_I64   int64_t
#define C_INDEX int64_t
#define C_U32   uint32_t
#define C_ENUM  uint8_t
#define C_BOOL  bool
#define C_REAL  double
#define C_TEXT  struct vq_span
#define C_BYTES struct vq_span

#define IS(expression, c_type) _Generic((expression), c_type : 1, default : 0)
#define MEMBER(tag, member)    (((struct tag *)0)->member)
#define VQ_RECORD_BEGIN(tag)
#define VQ_RECORD_END(tag, name)
#define VQ_FIELD(tag, member, type, bound, doc)                                                    \
    _Static_assert(IS(MEMBER(tag, member), C_##type), #tag "." #member " is no " #type);
#define VQ_INSIDE(tag, member, sub, doc)                                                           \
    _Static_assert(IS(MEMBER(tag, member), struct sub), #tag "." #member " is no " #sub);
#define VQ_LIST(tag, member, sub, bound, doc)                                                      \
    _Static_assert(IS(MEMBER(tag, member), const struct sub *) &&                                  \
                       IS(MEMBER(tag, member##_count), uint32_t),                                  \
                   #tag "." #member " is not a list of " #sub);
#define VQ_BARE_LIST(tag, member, type, bound, doc)                                                \
    _Static_assert(IS(MEMBER(tag, member), const C_##type *) &&                                    \
                       IS(MEMBER(tag, member##_count), uint32_t),                                  \
                   #tag "." #member " is not a list of " #type);
#define VQ_MESSAGE(name, tag, member, directions, doc)                                             \
    _Static_assert(IS(((struct vq_msg *)0)->u.member, struct tag), #name " is no " #tag);
#define VQ_STANDALONE VQ_IGNORE
#include "proto/messages.def"
#undef VQ_RECORD_BEGIN
#undef VQ_RECORD_END
#undef VQ_FIELD
#undef VQ_INSIDE
#undef VQ_LIST
#undef VQ_BARE_LIST
#undef VQ_MESSAGE
#undef VQ_STANDALONE

/* Pass 2: the records. */
static const struct vq_wire_field bare_id_field = {.name = "", .type = VQ_WIRE_ID};
static const struct vq_wire_field bare_u64_field = {.name = "", .type = VQ_WIRE_U64};
static const struct vq_wire_field bare_u32_field = {.name = "", .type = VQ_WIRE_U32};
static const struct vq_wire_field bare_text_field = {
    .name = "", .type = VQ_WIRE_TEXT, .bound = VQ_WIRE_URL_BYTES_MAX};
static const struct vq_wire_field bare_bytes_field = {
    .name = "", .type = VQ_WIRE_BYTES, .bound = VQ_ANSWER_BYTES_MAX};
static const struct vq_wire_record bare_ID_record = {"id", &bare_id_field, 1, sizeof(struct vq_id),
                                                     true};
static const struct vq_wire_record bare_U64_record = {"u64", &bare_u64_field, 1, sizeof(uint64_t),
                                                      true};

static const struct vq_wire_record bare_U32_record = {"u32", &bare_u32_field, 1, sizeof(uint32_t),
                                                      true};
static const struct vq_wire_record bare_TEXT_record = {"text", &bare_text_field, 1,
                                                       sizeof(struct vq_span), true};
static const struct vq_wire_record bare_BYTES_record = {"bytes", &bare_bytes_field, 1,
                                                        sizeof(struct vq_span), true};

#define VQ_RECORD_BEGIN(tag) static const struct vq_wire_field tag##_fields[] = {
#define VQ_FIELD(tag, member, type_, bound_, doc_)                                                 \
    {.name = #member,                                                                              \
     .doc = doc_,                                                                                  \
     .type = VQ_WIRE_##type_,                                                                      \
     .offset = offsetof(struct tag, member),                                                       \
     .bound = bound_},
#define VQ_INSIDE(tag, member, sub, doc_)                                                          \
    {.name = #member,                                                                              \
     .doc = doc_,                                                                                  \
     .type = VQ_WIRE_INSIDE,                                                                       \
     .offset = offsetof(struct tag, member),                                                       \
     .record = &sub##_record},
#define LIST_OF(tag, member, record_, bound_, doc_)                                                \
    {.name = #member,                                                                              \
     .doc = doc_,                                                                                  \
     .type = VQ_WIRE_LIST,                                                                         \
     .offset = offsetof(struct tag, member),                                                       \
     .count_offset = offsetof(struct tag, member##_count),                                         \
     .bound = bound_,                                                                              \
     .record = record_},
#define VQ_LIST(tag, member, sub, bound_, doc_) LIST_OF(tag, member, &sub##_record, bound_, doc_)
#define VQ_BARE_LIST(tag, member, type, bound_, doc_)                                              \
    LIST_OF(tag, member, &bare_##type##_record, bound_, doc_)
#define VQ_RECORD_END(tag, name)                                                                   \
    }                                                                                              \
    ;                                                                                              \
    static const struct vq_wire_record tag##_record = {name, tag##_fields, VQ_COUNT(tag##_fields), \
                                                       sizeof(struct tag), false};
#define VQ_MESSAGE    VQ_IGNORE
#define VQ_STANDALONE VQ_IGNORE
#include "proto/messages.def"
#undef VQ_RECORD_BEGIN
#undef VQ_RECORD_END
#undef VQ_FIELD
#undef VQ_INSIDE
#undef VQ_LIST
#undef VQ_BARE_LIST
#undef VQ_MESSAGE
#undef VQ_STANDALONE

/* Pass 3: the messages. */
#define VQ_RECORD_BEGIN VQ_IGNORE
#define VQ_RECORD_END   VQ_IGNORE
#define VQ_FIELD        VQ_IGNORE
#define VQ_INSIDE       VQ_IGNORE
#define VQ_LIST         VQ_IGNORE
#define VQ_BARE_LIST    VQ_IGNORE
#define VQ_MESSAGE(name, tag, member, directions, doc)                                             \
    {#name, doc, &tag##_record, VQ_MSG_##name, directions},
#define VQ_STANDALONE(name, code, tag, doc) {#name, doc, &tag##_record, code, 0},

const struct vq_wire_message vq_wire_messages[] = {
#include "proto/messages.def"
};
const uint32_t vq_wire_messages_count = VQ_COUNT(vq_wire_messages);

const struct vq_wire_message *vq_wire_message(uint64_t type)
{
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        if (vq_wire_messages[i].type == type) {
            return &vq_wire_messages[i];
        }
    }
    return NULL;
}

const struct vq_wire_message *vq_wire_standalone(const char *name)
{
    const struct vq_wire_message *m = vq_wire_messages;
    while (m->directions != 0 || strcmp(m->name, name) != 0) {
        m++;
        VQ_ASSERT(m < vq_wire_messages + VQ_COUNT(vq_wire_messages));
    }
    return m;
}
