/* Chats as OpenAI's files for training have them: messages, the last of the assistant. An id and a model may stand beside them; an id
 * that the server made for its reply is no key, since each reply has another. */
#include "common/import/reader.h"

#include <string.h>

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
