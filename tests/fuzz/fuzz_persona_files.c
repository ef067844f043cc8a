/* The files of a persona evaluation, the form chosen by the first byte. What must hold: whatever is
 * accepted is there, distinct where it has to be, and in its range; whatever is refused says
 * why. */
#include "common/base/alloc.h"
#include "common/conf/items_file.h"
#include "common/conf/personas_file.h"
#include "common/conf/queries_file.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    struct vq_span span = vq_span_str(text);
    VQ_ASSERT(span.bytes > 0 && vq_utf8_valid_bytes(span) == span.bytes);
}

static void personas(struct vq_span text)
{
    struct vq_personas_file file;
    struct vq_error err = {""};
    if (vq_personas_file_parse(text, "f", &file, &err) != VQ_OK) {
        VQ_ASSERT(err.text[0] != '\0');
        return;
    }
    VQ_ASSERT(file.count > 0 && file.count <= VQ_PERSONAS_MAX);
    for (uint32_t i = 0; i < file.count; i++) {
        check_text(file.personas[i].name);
        check_text(file.personas[i].description);
        for (uint32_t k = 0; k < i; k++) {
            VQ_ASSERT(strcmp(file.personas[i].name, file.personas[k].name) != 0);
        }
    }
    (void)!vq_personas_file_label(text, "f", NULL, &file, &err);
    (void)!vq_personas_file_label(text, "f", "big_five", &file, &err);
    for (uint32_t i = 0; i < file.count; i++) {
        for (uint32_t t = 0; file.personas[i].labelled && t < VQ_BIG_FIVE; t++) {
            VQ_ASSERT(file.personas[i].big_five[t] >= 1 && file.personas[i].big_five[t] <= 5);
        }
    }
    vq_personas_file_free(&file);
}

static void queries(struct vq_span text, const char *name)
{
    struct vq_queries_file file;
    struct vq_error err = {""};
    if (vq_queries_file_parse(text, name, &file, &err) != VQ_OK) {
        VQ_ASSERT(err.text[0] != '\0');
        return;
    }
    VQ_ASSERT(file.count > 0 && file.count <= VQ_QUERIES_MAX);
    for (uint32_t i = 0; i < file.count; i++) {
        check_text(file.questions[i]);
    }
    struct vq_buf out;
    vq_buf_init(&out, 1u << 24);
    vq_remark_render(file.opening == NULL ? "" : file.opening, vq_span_str("x"), &out);
    vq_buf_free(&out);
    vq_queries_file_free(&file);
}

static void items(struct vq_span text, const char *name)
{
    static const struct vq_items_columns usual = {NULL};
    struct vq_items_file file;
    struct vq_error err = {""};
    if (vq_items_file_parse(text, name, &usual, &file, &err) != VQ_OK) {
        VQ_ASSERT(err.text[0] != '\0');
        return;
    }
    VQ_ASSERT(file.count > 0 && file.count <= VQ_ITEMS_MAX);
    for (uint32_t i = 0; i < file.count; i++) {
        check_text(file.items[i].text);
        VQ_ASSERT(file.items[i].trait <= VQ_BIG_FIVE && file.items[i].line > 0);
        VQ_ASSERT(file.items[i].persona == NULL || file.items[i].persona[0] != '\0');
    }
    vq_items_file_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"f.txt", "f.csv", "f.jsonl", "f.json"};
    if (size == 0) {
        return 0;
    }
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    uint8_t form = (uint8_t)(data[0] - 'a');
    if (form < 4) {
        queries(text, names[form]);
    } else if (form < 8) {
        items(text, names[form - 4]);
    } else {
        personas(text);
    }
    return 0;
}
