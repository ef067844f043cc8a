/* Reads the totals of a run's calls for its report, from the accounting.json that the run wrote.
 * Not its job: counting (run/finish.c). */
#include "common/text/json_load.h"
#include "methods/files/files.h"
#include "proto/messages.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define ACCOUNT_BYTES_MAX (64u << 20)

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static uint64_t count_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void take_notes(const json_t *notes, struct vq_report_calls *c)
{
    size_t bytes = 0, index;
    json_t *note;
    json_array_foreach((json_t *)notes, index, note)
    {
        size_t left = sizeof(c->notes) - bytes;
        int n = snprintf(c->notes + bytes, left, "warning: %s\n",
                         json_is_string(note) ? json_string_value(note) : "");
        if (n < 0 || (size_t)n >= left) {
            c->notes[bytes] = '\0';
            return;
        }
        bytes += (size_t)n;
    }
}

static json_t *load(const struct vq_results *of)
{
    struct vq_buf text;
    struct vq_error ignored = {0};
    char path[VQ_RUN_PATH_BYTES_MAX] = VQ_RESULT_ACCOUNT;
    if (of->own_account) {
        vq_result_path(of, VQ_RESULT_ACCOUNT, path);
    }
    vq_buf_init(&text, ACCOUNT_BYTES_MAX);
    json_t *root = NULL;
    if (vq_run_dir_read(of->dir, path, &text, &ignored) == VQ_OK &&
        vq_json_load(vq_buf_span(&text), 0, &root, NULL) != VQ_OK) {
        root = NULL;
    }
    vq_buf_free(&text);
    return root;
}

/* Whether `name` is `before` followed by `ending`. */
static bool is_pair(const char *before, const char *name, const char *ending)
{
    size_t bytes = strlen(before);
    return strncmp(before, name, bytes) == 0 && strcmp(name + bytes, ending) == 0;
}

bool vq_result_pair(const struct vq_results *of, const char *ending,
                    struct vq_result_pair *ret_pair)
{
    json_t *root = load(of);
    const json_t *stages = json_object_get(root, "stages");
    struct vq_result_pair p = {.usd = 0};
    bool any = false, priced = true;
    for (size_t i = 1; i < json_array_size(stages); i++) {
        const json_t *before = json_array_get(stages, i - 1), *stage = json_array_get(stages, i);
        const char *a = json_string_value(json_object_get(before, "name"));
        const char *b = json_string_value(json_object_get(stage, "name"));
        if (a == NULL || b == NULL || !is_pair(a, b, ending)) {
            continue;
        }
        any = true;
        priced = priced && json_is_number(json_object_get(before, "cost_usd")) &&
                 json_is_number(json_object_get(stage, "cost_usd"));
        p.sent_before += count_of(before, "sent");
        p.sent += count_of(stage, "sent");
        p.usd_before += number_of(before, "cost_usd");
        p.usd += number_of(stage, "cost_usd");
    }
    json_decref(root);
    *ret_pair = p;
    return any && priced;
}

bool vq_result_calls(const struct vq_results *of, struct vq_report_calls *ret_calls)
{
    json_t *root = load(of);
    const json_t *calls = json_object_get(root, "calls");
    if (!json_is_object(calls)) {
        json_decref(root);
        return false;
    }
    struct vq_report_calls c = {.planned = count_of(calls, "planned"),
                                .sent = count_of(calls, "sent"),
                                .from_store = count_of(calls, "from_store"),
                                .saved_by_lazy_swap = count_of(calls, "saved_by_lazy_swap"),
                                .tokens_in = count_of(calls, "tokens_in"),
                                .tokens_cached = count_of(calls, "tokens_cached"),
                                .tokens_out = count_of(calls, "tokens_out"),
                                .priced = json_is_number(json_object_get(root, "cost_usd")),
                                .cost_usd = number_of(root, "cost_usd")};
    const json_t *failed = json_object_get(calls, "failed");
    c.too_long = count_of(failed, vq_call_end_word(VQ_END_TOO_LONG));
    const char *end;
    json_t *value;
    json_object_foreach((json_t *)failed, end, value)
    {
        c.failed += (uint64_t)json_integer_value(value);
    }
    take_notes(json_object_get(root, "notes"), &c);
    json_decref(root);
    *ret_calls = c;
    return true;
}
