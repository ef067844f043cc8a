/* arena-hard and MT-bench. A question has question_id (or uid) and turns (or prompt); an answer has
 * choices with turns (FastChat's form) or messages (arena-hard 2), and its model. Only the first of
 * several turns is used, since a row of vibeq is one answer. */
#include "common/import/reader.h"

static const json_t *either(const json_t *value, const char *one, const char *other)
{
    const json_t *found = json_object_get(value, one);
    return found != NULL ? found : json_object_get(value, other);
}

/* A turn is a text, or an object with its text as `content`. */
static const json_t *text_of_turn(const json_t *turn)
{
    const json_t *content = json_object_get(turn, "content");
    const json_t *answer = json_object_get(content, "answer");
    return json_is_string(turn) ? turn : json_is_string(answer) ? answer : content;
}

static enum vq_status question(struct vq_import_item *item)
{
    const json_t *turn = vq_shape_look(item->value, "turns.0");
    const json_t *text = turn != NULL ? text_of_turn(turn) : json_object_get(item->value, "prompt");
    if (!json_is_string(text)) {
        return vq_shape_fail(&item->at, item->value, "turns.0",
                             "a question's text, or an answer's choices or messages", NULL);
    }
    item->row.question = true;
    vq_import_put(item, VQ_IMPORT_PROMPT, text);
    return vq_import_add(item);
}

static enum vq_status choices(struct vq_import_item *item)
{
    const json_t *turns;
    VQ_TRY(vq_shape_need(&item->at, item->value, "choices.0.turns", VQ_A_LIST, "a list of turns",
                         &turns));
    const json_t *text = text_of_turn(json_array_get(turns, 0));
    if (!json_is_string(text)) {
        return vq_shape_fail(&item->at, item->value, "choices.0.turns.0",
                             "a text, or an object with content", NULL);
    }
    item->set->more_turns += json_array_size(turns) > 1;
    vq_import_put(item, VQ_IMPORT_OUTPUT, text);
    return vq_import_add(item);
}

enum vq_status vq_import_arena_hard(struct vq_import_item *item)
{
    const json_t *id = either(item->value, "question_id", "uid");
    if (!json_is_string(id) && !json_is_integer(id)) {
        return vq_shape_fail(&item->at, item->value, "question_id", "an id (or uid)", NULL);
    }
    vq_import_put(item, VQ_IMPORT_KEY, id);
    vq_import_put(item, VQ_IMPORT_MODEL, either(item->value, "model_id", "model"));
    if (json_object_get(item->value, "choices") != NULL) {
        return choices(item);
    }
    if (json_object_get(item->value, "messages") != NULL) {
        VQ_TRY(vq_import_messages(item, "messages"));
        return vq_import_add(item);
    }
    return question(item);
}
