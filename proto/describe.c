/* Writes the tables of PROTOCOL.md from the table of the wire, so that the page always agrees with
 * the code. */
#include "proto/table.h"

static const char *type_name(enum vq_wire_type type)
{
    switch (type) {
    case VQ_WIRE_ID: return "id: 16 bytes";
    case VQ_WIRE_HASH: return "hash: 32 bytes";
    case VQ_WIRE_U64: return "integer";
    case VQ_WIRE_I64: return "signed integer";
    case VQ_WIRE_INDEX: return "index";
    case VQ_WIRE_U32: return "integer";
    case VQ_WIRE_ENUM: return "choice";
    case VQ_WIRE_BOOL: return "boolean";
    case VQ_WIRE_REAL: return "float";
    case VQ_WIRE_TEXT: return "text";
    case VQ_WIRE_BYTES: return "bytes";
    case VQ_WIRE_INSIDE: return "record";
    case VQ_WIRE_LIST: return "list";
    }
    return "?";
}

static void put_type(struct vq_buf *out, const struct vq_wire_field *f)
{
    vq_buf_puts(out, type_name(f->type));
    if (f->type == VQ_WIRE_INSIDE) {
        vq_buf_printf(out, " `%s`", f->record->name);
    } else if (f->type == VQ_WIRE_LIST) {
        vq_buf_printf(out, " of `%s`", f->record->name);
    }
}

static void put_bound(struct vq_buf *out, const struct vq_wire_field *f)
{
    switch (f->type) {
    case VQ_WIRE_TEXT:
    case VQ_WIRE_BYTES: vq_buf_printf(out, "%llu bytes", (unsigned long long)f->bound); break;
    case VQ_WIRE_LIST: vq_buf_printf(out, "%llu items", (unsigned long long)f->bound); break;
    case VQ_WIRE_INDEX: vq_buf_printf(out, "-1 to %llu", (unsigned long long)f->bound); break;
    case VQ_WIRE_REAL: vq_buf_puts(out, "finite, not negative"); break;
    case VQ_WIRE_U32:
        vq_buf_printf(out, "%llu", (unsigned long long)(f->bound != 0 ? f->bound : UINT32_MAX));
        break;
    case VQ_WIRE_ENUM: vq_buf_printf(out, "%llu", (unsigned long long)f->bound); break;
    case VQ_WIRE_ID:
    case VQ_WIRE_HASH:
    case VQ_WIRE_U64:
    case VQ_WIRE_I64:
    case VQ_WIRE_BOOL:
    case VQ_WIRE_INSIDE: break;
    }
}

static void put_fields(struct vq_buf *out, const struct vq_wire_record *record)
{
    vq_buf_puts(out, "| field | type | at most | meaning |\n| --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < record->fields_count; i++) {
        const struct vq_wire_field *f = &record->fields[i];
        vq_buf_printf(out, "| `%s` | ", f->name);
        put_type(out, f);
        vq_buf_puts(out, " | ");
        put_bound(out, f);
        vq_buf_printf(out, " | %s |\n", f->doc);
    }
    vq_buf_putc(out, '\n');
}

static const char *direction_name(uint32_t directions)
{
    switch (directions) {
    case VQ_TO_COORDINATOR: return "worker to coordinator";
    case VQ_TO_WORKER: return "coordinator to worker";
    case VQ_TO_COORDINATOR | VQ_TO_WORKER: return "both ways";
    default: return "stored or carried in another message";
    }
}

/* Records in the order in which messages use them, each once. */
static void put_inner_records(struct vq_buf *out, const struct vq_wire_record *record,
                              const struct vq_wire_record **done, size_t *done_count)
{
    for (uint32_t i = 0; i < record->fields_count; i++) {
        const struct vq_wire_record *inner = record->fields[i].record;
        bool seen = inner == NULL || inner->bare;
        for (size_t k = 0; k < *done_count && !seen; k++) {
            seen = done[k] == inner;
        }
        if (!seen) {
            VQ_ASSERT(*done_count < VQ_WIRE_RECORDS_MAX);
            done[(*done_count)++] = inner;
            vq_buf_printf(out, "### Record `%s`\n\n", inner->name);
            put_fields(out, inner);
            put_inner_records(out, inner, done, done_count);
        }
    }
}

void vq_wire_describe(struct vq_buf *out)
{
    vq_buf_puts(out, "| type | message | direction | |\n| --- | --- | --- | --- |\n");
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        vq_buf_printf(out, "| %u | %s | %s | %s |\n", m->type, m->name,
                      direction_name(m->directions), m->doc);
    }
    vq_buf_putc(out, '\n');
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        const struct vq_wire_message *m = &vq_wire_messages[i];
        vq_buf_printf(out, "### %s (%u)\n\n", m->name, m->type);
        put_fields(out, m->record);
    }
    const struct vq_wire_record *done[VQ_WIRE_RECORDS_MAX];
    size_t done_count = 0;
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        put_inner_records(out, vq_wire_messages[i].record, done, &done_count);
    }
}
