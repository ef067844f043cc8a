/* Inspect's logs as JSON: samples with id, epoch, input (a text or messages) and output (completion, or the first choice). */
#include "common/import/reader.h"

static void put_key(struct vq_import_item *item, const json_t *id)
{
    long long epoch = (long long)json_integer_value(json_object_get(item->value, "epoch"));
    vq_import_begin(item, VQ_IMPORT_KEY);
    vq_shape_text(id, &item->set->text);
    if (epoch > 1) {
        vq_buf_printf(&item->set->text, "/epoch %lld", epoch);
    }
    vq_import_end(item, VQ_IMPORT_KEY);
}

enum vq_status vq_import_inspect(struct vq_import_item *item)
{
    const json_t *id, *input;
    VQ_TRY(vq_shape_need(&item->at, item->value, "id", VQ_A_TEXT | VQ_A_NUMBER, "an id", &id));
    VQ_TRY(vq_shape_need(&item->at, item->value, "input", VQ_A_TEXT | VQ_A_LIST,
                         "a text or a list of messages", &input));
    const json_t *output = vq_shape_look(item->value, "output.completion");
    output =
        output != NULL ? output : vq_shape_look(item->value, "output.choices.0.message.content");
    if (output == NULL && json_object_get(item->value, "error") == NULL) {
        return vq_shape_fail(&item->at, item->value, "output.completion", "a text", NULL);
    }
    const json_t *model = vq_shape_look(item->document, "eval.model");
    const json_t *own = vq_shape_look(item->value, "output.model");
    put_key(item, id);
    if (json_is_array(input)) {
        vq_import_prompt_messages(item, input);
    } else {
        vq_import_put(item, VQ_IMPORT_PROMPT, input);
    }
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, json_is_string(model) ? model : own);
    return vq_import_add(item);
}
