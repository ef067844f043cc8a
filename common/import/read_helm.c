/* HELM's scenario_state.json: request_states with instance, request, result. Of several completions the first is taken. An instance is
 * asked again under perturbations and train trials, which are prompts of their own. */
#include "common/import/reader.h"

static void put_key(struct vq_import_item *item, const json_t *id)
{
    struct vq_buf *text = &item->set->text;
    const json_t *trial = json_object_get(item->value, "train_trial_index");
    const json_t *perturbation = vq_shape_look(item->value, "instance.perturbation.name");
    vq_import_begin(item, VQ_IMPORT_KEY);
    vq_shape_text(id, text);
    if (json_is_string(perturbation)) {
        vq_buf_printf(text, "/%s", json_string_value(perturbation));
    }
    if (json_integer_value(trial) > 0) {
        vq_buf_printf(text, "/trial %lld", (long long)json_integer_value(trial));
    }
    vq_import_end(item, VQ_IMPORT_KEY);
}

enum vq_status vq_import_helm(struct vq_import_item *item)
{
    const json_t *id, *prompt, *output;
    VQ_TRY(vq_shape_need(&item->at, item->value, "instance.id", VQ_A_TEXT | VQ_A_NUMBER, "an id",
                         &id));
    VQ_TRY(vq_shape_need(&item->at, item->value, "result.completions.0.text", VQ_A_TEXT, "a text",
                         &output));
    prompt = vq_shape_look(item->value, "instance.input.text");
    if (!json_is_string(prompt)) {
        VQ_TRY(
            vq_shape_need(&item->at, item->value, "request.prompt", VQ_A_TEXT, "a text", &prompt));
    }
    const json_t *model = vq_shape_look(item->value, "request.model");
    model = json_is_string(model) ? model : vq_shape_look(item->document, "adapter_spec.model");
    put_key(item, id);
    vq_import_put(item, VQ_IMPORT_PROMPT, prompt);
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, model);
    return vq_import_add(item);
}
