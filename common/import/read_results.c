/* Readers of result files of other programs, one function per format: each finds the key, the
 * prompt, the output and the model. Not its job: the choice of the format (set.c), errors about
 * values (shape.c). */
#include "common/import/reader.h"

#include "common/text/json.h"
#include "common/text/json_load.h"

#include <string.h>

/* AlpacaEval: {"instruction": ..., "input": ..., "output": ..., "generator": ...}. It has no id, so
 * the instruction is the key. */
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

/* Chats in the form of OpenAI's training files: messages, the last one from the assistant. Members
 * for an id and a model are optional. An id that a server made for its reply is not a key, since it
 * differs for each reply. */
enum vq_status vq_import_openai_chat(struct vq_import_item *item)
{
    static const char *const ids[] = {"custom_id", "id", "question_id"};
    const json_t *id = NULL;
    for (size_t i = 0; i < VQ_COUNT(ids) && id == NULL; i++) {
        id = json_object_get(item->value, ids[i]);
    }
    const char *text = json_string_value(id);
    if (text != NULL && (strncmp(text, "chatcmpl", 8) == 0 || strncmp(text, "resp_", 5) == 0)) {
        id = NULL;
    }
    VQ_TRY(vq_import_messages(item, "messages"));
    vq_import_put(item, VQ_IMPORT_KEY, id);
    vq_import_put(item, VQ_IMPORT_MODEL, json_object_get(item->value, "model"));
    return vq_import_add(item);
}

/* promptfoo's results: an entry for each test, prompt and provider. The rendered prompt is the key.
 * A test that failed with an error has no output, and its cell stays empty. */
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

/* Inspect's logs as JSON: samples with id, epoch, input (a text or messages) and output
 * (completion, or the first choice). */
static void put_inspect_key(struct vq_import_item *item, const json_t *id)
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
    put_inspect_key(item, id);
    if (json_is_array(input)) {
        vq_import_prompt_messages(item, input);
    } else {
        vq_import_put(item, VQ_IMPORT_PROMPT, input);
    }
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, json_is_string(model) ? model : own);
    return vq_import_add(item);
}

/* HELM's scenario_state.json: request_states with instance, request, result. The first of several
 * completions is used. Each perturbation and train trial of an instance is a separate prompt. */
static void put_helm_key(struct vq_import_item *item, const json_t *id)
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
    put_helm_key(item, id);
    vq_import_put(item, VQ_IMPORT_PROMPT, prompt);
    vq_import_put(item, VQ_IMPORT_OUTPUT, output);
    vq_import_put(item, VQ_IMPORT_MODEL, model);
    return vq_import_add(item);
}

/* lm-evaluation-harness, one line per document: doc_id, arguments, resps (whole answers),
 * filtered_resps. The answer is taken from resps, for tasks that generate text, because a filter
 * may have reduced filtered_resps to a number. The model is not in these files. */
/* With a chat template, the prompt is a chat as JSON. */
static void put_lm_eval_prompt(struct vq_import_item *item, const json_t *prompt)
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
                             "no text; log-likelihoods cannot be compared");
    }
    vq_import_put(item, VQ_IMPORT_KEY, id);
    put_lm_eval_prompt(item, prompt);
    vq_import_put(item, VQ_IMPORT_OUTPUT, answer);
    return vq_import_add(item);
}
