/* Writes the seed corpora of the wire's fuzz targets: a small and a larger example of every
 * message of the table, filled by rule, into DIR/wire and DIR/spec. Run again after a change of
 * messages.def. */
#include "proto/table.h"

#include <stdio.h>
#include <stdlib.h>

static char memory[1u << 20]; /* zeroed: an example needs no other values in its lists' items */

/* Fills a record with numbers, texts and lists that are not empty; lists have one item in the small
 * example, three in the larger one. */
static void fill(const struct vq_wire_record *record, char *at, uint32_t items)
{
    for (uint32_t i = 0; i < record->fields_count; i++) {
        const struct vq_wire_field *f = &record->fields[i];
        if (f->type == VQ_WIRE_TEXT || f->type == VQ_WIRE_BYTES) {
            struct vq_span span = vq_span("an example text, cut to fit", items > 1 ? 8 : 3);
            memcpy(at + f->offset, &span, sizeof(span));
        } else if (f->type == VQ_WIRE_U64 || f->type == VQ_WIRE_I64) {
            uint64_t number = items > 1 ? 70000 : 7;
            memcpy(at + f->offset, &number, sizeof(number));
        } else if (f->type == VQ_WIRE_INSIDE) {
            fill(f->record, at + f->offset, items);
        } else if (f->type == VQ_WIRE_LIST) {
            const char *list = memory;
            VQ_ASSERT((size_t)items * f->record->bytes <= sizeof(memory));
            memcpy(at + f->offset, &list, sizeof(list));
            memcpy(at + f->count_offset, &items, sizeof(items));
        }
    }
}

static bool write_file(const char *dir, const char *room, const char *name, uint32_t items,
                       const struct vq_buf *bytes)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s/%s-%u", dir, room, name, items);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        (void)fprintf(stderr, "cannot write %s\n", path);
        return false;
    }
    bool ok = fwrite(bytes->at, 1, bytes->bytes, file) == bytes->bytes;
    return fclose(file) == 0 && ok;
}

static bool write_example(const char *dir, const struct vq_wire_message *m, uint32_t items)
{
    union {
        struct vq_msg msg;
        struct vq_result result;
        struct vq_spec spec;
    } u;
    struct vq_buf out;
    enum vq_status status;
    memset(&u, 0, sizeof(u));
    vq_buf_init(&out, VQ_FRAME_BYTES_MAX);
    if (m->directions != 0) {
        u.msg.type = (enum vq_msg_type)m->type;
        fill(m->record, (char *)&u.msg.u, items);
        status = vq_msg_encode(&u.msg, &out);
    } else if (m == vq_wire_standalone("RESULT")) {
        fill(m->record, (char *)&u.result, items);
        status = vq_result_encode(&u.result, &out);
    } else {
        fill(m->record, (char *)&u.spec, items);
        status = vq_spec_encode(&u.spec, &out);
    }
    bool ok = status == VQ_OK &&
              write_file(dir, m->directions != 0 ? "wire" : "spec", m->name, items, &out);
    vq_buf_free(&out);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: vq-wire-corpus DIR\n");
        return 2;
    }
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        if (!write_example(argv[1], &vq_wire_messages[i], 1) ||
            !write_example(argv[1], &vq_wire_messages[i], 3)) {
            (void)fprintf(stderr, "cannot write an example of %s\n", vq_wire_messages[i].name);
            return 1;
        }
    }
    return 0;
}
