/* AlpacaEval: {"instruction": ..., "input": ..., "output": ..., "generator": ...}. There is no id: the instruction is the key. */
#include "common/import/reader.h"

enum vq_status vq_import_alpaca_eval(struct vq_import_item *item)
{
    const json_t *instruction, *output;
    VQ_TRY(vq_shape_need(&item->at, item->value, "instruction", VQ_A_TEXT, "a text", &instruction));
    VQ_TRY(vq_shape_need(&item->at, item->value, "output", VQ_A_TEXT | VQ_A_NULL,
                         "a text (a file of outputs, not of annotations)", &output));
    const json_t *input = json_object_get(item->value, "input");
    vq_import_begin(item, VQ_IMPORT_PROMPT);
    vq_shape_text(instruction, &item->set->text);
    if (json_string_length(input) > 0) {
        vq_buf_puts(&item->set->text, "\n\n");
        vq_shape_text(input, &item->set->text);
    }
    vq_import_end(item, VQ_IMPORT_PROMPT);
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, json_object_get(item->value, "generator"));
    return vq_import_add(item);
}
