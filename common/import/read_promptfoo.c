/* promptfoo's results: an entry for each test, prompt and provider. The prompt as it was rendered is the key. A test that failed with
 * an error has no output, and its cell stays empty. */
#include "common/import/reader.h"

enum vq_status vq_import_promptfoo(struct vq_import_item *item)
{
    const json_t *prompt, *provider;
    VQ_TRY(vq_shape_need(&item->at, item->value, "prompt.raw", VQ_A_TEXT, "a text", &prompt));
    VQ_TRY(vq_shape_need(&item->at, item->value, "provider", VQ_A_OBJECT | VQ_A_TEXT,
                         "a provider's id, or an object with id", &provider));
    const json_t *output = vq_shape_look(item->value, "response.output");
    if (output == NULL && json_object_get(item->value, "error") == NULL) {
        return vq_shape_fail(&item->at, item->value, "response.output", "a text (or an error)",
                             NULL);
    }
    const json_t *label = json_object_get(provider, "label");
    const json_t *name = json_is_string(provider)        ? provider
                         : json_string_length(label) > 0 ? label
                                                         : json_object_get(provider, "id");
    vq_import_put(item, VQ_IMPORT_PROMPT, prompt);
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, name);
    return vq_import_add(item);
}
