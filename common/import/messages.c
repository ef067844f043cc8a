/* Chats as lists of {role, content}. Pure. */
#include "common/import/reader.h"

#include <string.h>

static bool is_assistant(const json_t *message)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    return role != NULL && (strcmp(role, "assistant") == 0 || strcmp(role, "model") == 0);
}

/* arena-hard's newer files have {"answer": ...} as the content. */
static const json_t *content_of(const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *answer = json_object_get(content, "answer");
    return json_is_string(answer) ? answer : content;
}

static void put_prompt(struct vq_import_item *item, const json_t *list, size_t count)
{
    struct vq_buf *text = &item->set->text;
    vq_import_begin(item, VQ_IMPORT_PROMPT);
    for (size_t i = 0; i < count; i++) {
        const json_t *message = json_array_get(list, i);
        if (count > 1) {
            const char *role = json_string_value(json_object_get(message, "role"));
            vq_buf_printf(text, "%s[%s]\n", i == 0 ? "" : "\n\n", role == NULL ? "?" : role);
        }
        vq_shape_text(content_of(message), text);
    }
    vq_import_end(item, VQ_IMPORT_PROMPT);
}

void vq_import_prompt_messages(struct vq_import_item *item, const json_t *list)
{
    put_prompt(item, list, json_array_size(list));
}

enum vq_status vq_import_messages(struct vq_import_item *item, const char *path)
{
    const json_t *list;
    VQ_TRY(vq_shape_need(&item->at, item->value, path, VQ_A_LIST, "a list of messages", &list));
    size_t last = json_array_size(list);
    while (last > 0 && !is_assistant(json_array_get(list, last - 1))) {
        last--;
    }
    if (last < 2) {
        return vq_shape_fail(&item->at, item->value, path,
                             "a message of a user and an answer of the assistant", NULL);
    }
    put_prompt(item, list, last - 1);
    vq_import_put(item, VQ_IMPORT_OUTPUT, content_of(json_array_get(list, last - 1)));
    return VQ_OK;
}
