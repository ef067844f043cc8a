/* RUN/learned.json: the parameters that the models of this run's pools refuse, so that a restart
 * need not learn them again. Invariant: the file counts only for a pool with the same name, address
 * and model. A file that cannot be read does not stop the run: a refusal teaches the same again,
 * without cost. Not its job: recognising a refusal (the worker), and applying it (the
 * authority). */
#include "coordinator/run/parts.h"

#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/log.h"
#include "proto/params.h"

#include <jansson.h>
#include <string.h>

#define LEARNED_FILE      "learned.json"
#define LEARNED_BYTES_MAX (1u << 20)

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static uint32_t params_of(const json_t *list)
{
    uint32_t params = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        for (uint32_t bit = 1; word != NULL && bit <= VQ_PARAMS_ALL; bit <<= 1) {
            params |= strcmp(word, vq_param_word(bit)) == 0 ? bit : 0;
        }
    }
    return params;
}

static bool same(const struct vq_conf_use *use, const json_t *entry)
{
    return strcmp(text_of(entry, "pool"), use->name) == 0 &&
           strcmp(text_of(entry, "model"), use->sent) == 0 &&
           strcmp(text_of(entry, "base_url"), use->base_url == NULL ? "" : use->base_url) == 0;
}

void vq_learned_open(struct vq_run *run)
{
    struct vq_buf body;
    struct vq_error err = {0};
    json_t *root = NULL;
    json_error_t bad = {0};
    vq_buf_init(&body, LEARNED_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run->dir, LEARNED_FILE, &body, &err);
    if (status == VQ_OK) {
        status = vq_json_load(vq_buf_span(&body), 0, &root, &bad);
    }
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_log(VQ_LOG_WARN, "learned.unread", "why=%s", err.text[0] != '\0' ? err.text : bad.text);
    }
    const json_t *list = json_object_get(root, "pools");
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *entry = json_array_get(list, i);
            if (same(&run->source.pools->uses.uses[p], entry)) {
                run->limits.params_known[p] = params_of(json_object_get(entry, "params_refused"));
                vq_authority_params(run->limits.authority, p, run->limits.params_known[p]);
            }
        }
    }
    json_decref(root);
    vq_buf_free(&body);
}

static void put_pool(struct vq_json *j, const struct vq_conf_use *use, uint32_t params)
{
    vq_json_object(j);
    vq_json_put_str(j, "pool", use->name);
    vq_json_put_str(j, "model", use->sent);
    vq_json_put_str(j, "base_url", use->base_url == NULL ? "" : use->base_url);
    vq_json_put_array(j, "params_refused");
    for (uint32_t bit = 1; bit <= VQ_PARAMS_ALL; bit <<= 1) {
        if ((params & bit) != 0) {
            vq_json_str(j, vq_param_word(bit));
        }
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_all(struct vq_run *run)
{
    struct vq_buf out;
    struct vq_json json;
    struct vq_error err = {0};
    vq_buf_init(&out, LEARNED_BYTES_MAX);
    vq_json_open(&json, &out, 2);
    vq_json_put_u64(&json, "format", 1);
    vq_json_put_array(&json, "pools");
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        if (run->limits.params_known[p] != 0) {
            put_pool(&json, &run->source.pools->uses.uses[p], run->limits.params_known[p]);
        }
    }
    vq_json_array_end(&json);
    vq_json_close(&json);
    enum vq_status status = vq_run_dir_write_buf(run->dir, LEARNED_FILE, &out, true, &err);
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "learned.unwritten", "why=%s",
               err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
}

void vq_learned_tick(struct vq_run *run)
{
    bool more = false;
    for (uint32_t p = 0; p < run->source.pools->uses.count; p++) {
        struct vq_authority_pool_status status;
        vq_authority_status(run->limits.authority, p, vq_run_now(), &status);
        uint32_t fresh = status.params_refused & ~run->limits.params_known[p];
        run->limits.params_known[p] |= fresh;
        more = more || fresh != 0;
        for (uint32_t bit = 1; bit <= VQ_PARAMS_ALL; bit <<= 1) {
            if ((fresh & bit) != 0) {
                vq_log(VQ_LOG_WARN, "pool.params", "pool=%s refuses=%s", status.name,
                       vq_param_word(bit));
                vq_run_message(run, "Pool %s refuses the parameter %s: %s.", status.name,
                               vq_param_word(bit), vq_param_instead(bit));
            }
        }
    }
    if (more) {
        write_all(run);
    }
}
