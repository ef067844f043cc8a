/* lm-evaluation-harness, one line a document: doc_id, arguments, resps (whole answers), filtered_resps. Answers are those of resps, of
 * a task that generates text; a filter may have cut the others down to a number. The model is not in these files. */
#include "common/import/reader.h"

#include "common/text/json.h"
#include "common/text/json_load.h"

/* With a chat template the prompt is a chat in JSON. */
static void put_prompt(struct vq_import_item *item, const json_t *prompt)
{
    const char *text = json_string_value(prompt);
    json_t *chat = NULL;
    if (text != NULL && text[0] == '[' && strstr(text, "\"role\"") != NULL &&
        !vq_json_exceeds(vq_span_str(text), VQ_IMPORT_DEPTH_MAX, 0) &&
        vq_json_load(vq_span(text, json_string_length(prompt)), 0, &chat, NULL) == VQ_OK &&
        json_is_object(json_array_get(chat, 0))) {
        vq_import_prompt_messages(item, chat);
    } else {
        vq_import_put(item, VQ_IMPORT_PROMPT, prompt);
    }
    json_decref(chat);
}

static const json_t *first_text(const json_t *value)
{
    while (json_is_array(value)) {
        value = json_array_get(value, 0);
    }
    return json_is_string(value) ? value : NULL;
}

enum vq_status vq_import_lm_eval(struct vq_import_item *item)
{
    const json_t *id, *responses;
    VQ_TRY(
        vq_shape_need(&item->at, item->value, "doc_id", VQ_A_NUMBER | VQ_A_TEXT, "a number", &id));
    const json_t *prompt = vq_shape_look(item->value, "arguments.gen_args_0.arg_0");
    prompt = first_text(prompt != NULL ? prompt : json_object_get(item->value, "arguments"));
    if (prompt == NULL) {
        return vq_shape_fail(&item->at, item->value, "arguments",
                             "[[prompt, ...]] or {gen_args_0: {arg_0: prompt}}", NULL);
    }
    VQ_TRY(
        vq_shape_need(&item->at, item->value, "resps", VQ_A_LIST, "a list of answers", &responses));
    const json_t *answer = first_text(responses);
    if (answer == NULL) {
        return vq_shape_fail(&item->at, item->value, "resps",
                             "texts, of a task that generates them (generate_until)",
                             "no text; log-likelihoods are no answers that can be compared");
    }
    vq_import_put(item, VQ_IMPORT_KEY, id);
    put_prompt(item, prompt);
    vq_import_put(item, VQ_IMPORT_OUTPUT, answer);
    return vq_import_add(item);
}
