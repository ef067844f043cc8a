/* One schema for all dialects, of features that they all accept. The analysis comes before the
 * verdict, so that the model writes it first. */
#include "worker/provider/schema.h"

static void put_list(struct vq_json *json, const char *key, const char *const *texts, size_t count)
{
    vq_json_put_array(json, key);
    for (size_t i = 0; i < count; i++) {
        vq_json_str(json, texts[i]);
    }
    vq_json_array_end(json);
}

static void put_type(struct vq_json *json, const char *type)
{
    vq_json_put_str(json, "type", type);
}

void vq_schema_put(struct vq_json *json, enum vq_prompt_asks asks, bool ordered)
{
    static const char *const labels[] = {"A", "B", "equal", "N/A", "unsure"};
    static const char *const preferences[] = {"A", "B", "tie"};
    bool preference = asks == VQ_PROMPT_ASKS_PREFERENCE;
    const char *const names[] = {"analysis", preference ? "preference" : "model"};
    vq_json_object(json);
    put_type(json, "object");
    vq_json_put_object(json, "properties");
    vq_json_put_object(json, names[0]);
    put_type(json, "string");
    vq_json_object_end(json);
    vq_json_put_object(json, names[1]);
    put_type(json, "string");
    put_list(json, "enum", preference ? preferences : labels,
             preference ? VQ_COUNT(preferences) : VQ_COUNT(labels));
    vq_json_object_end(json);
    vq_json_object_end(json);
    put_list(json, "required", names, VQ_COUNT(names));
    if (ordered) {
        put_list(json, "propertyOrdering", names, VQ_COUNT(names));
    } else {
        vq_json_put_bool(json, "additionalProperties", false);
    }
    vq_json_object_end(json);
}
