/* Reads and writes the files of dialogues beside a run. Invariant: the copies in the run's folder
 * exist before the first turn is sent, so that a later reader of the ledger knows the questions.
 * Not its job: running the dialogues (cli/verbs/chat.c), the script (methods/chat/chat.c). */
#include "methods/chat/files/chats.h"

#include "common/base/alloc.h"
#include "common/judge/chain.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "methods/files/files.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define QUERY_DEPTH_MAX  2
#define QUERY_VALUES_MAX (VQ_CHAIN_TURNS_MAX + 1u)

/* ---- read ---- */

static enum vq_status pack(struct vq_chats *c, struct vq_span cell, const char *name, uint64_t line,
                           struct vq_error *err)
{
    json_t *list = NULL;
    enum vq_status status = vq_json_exceeds(cell, QUERY_DEPTH_MAX, QUERY_VALUES_MAX)
                                ? VQ_LIMIT
                                : vq_json_load(cell, 0, &list, NULL);
    bool good = status == VQ_OK && json_is_array(list) && json_array_size(list) > 0;
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const json_t *query = json_array_get(list, i);
        good = json_is_string(query);
        if (good) {
            vq_chain_pack(&c->packed, vq_span(json_string_value(query), json_string_length(query)));
        }
    }
    json_decref(list);
    if (status == VQ_NOMEM) {
        return status;
    }
    return good ? c->packed.status
                : vq_fail(err, VQ_INVALID,
                          "%s, line %llu: \"queries\" must be a list of 1 to %u texts", name,
                          (unsigned long long)line, VQ_CHAIN_TURNS_MAX);
}

/* The limit holds because a worker gets the system part and all queries of a dialogue in one
 * message. */
static enum vq_status check_bytes(const struct vq_chats *c, const char *name, uint32_t chain,
                                  struct vq_error *err)
{
    size_t bytes = c->chains[chain].a.bytes + vq_chain_bytes(c->chains[chain].prompt);
    return bytes <= VQ_CHAIN_ASKED_BYTES_MAX
               ? VQ_OK
               : vq_fail(err, VQ_LIMIT,
                         "%s, line %llu: system part and queries have %zu bytes together; at most "
                         "%u can be sent. Ask fewer or shorter queries, or break the dialogue up",
                         name, (unsigned long long)c->table->lines[chain], bytes,
                         VQ_CHAIN_ASKED_BYTES_MAX);
}

static enum vq_status take_chains(struct vq_chats *c, const char *name, size_t *ends,
                                  struct vq_error *err)
{
    uint32_t queries = vq_table_column(c->table, vq_span_str("queries"));
    uint32_t system = vq_table_column(c->table, vq_span_str("system"));
    if (queries == UINT32_MAX) {
        return vq_fail(err, VQ_INVALID, "%s has no field \"queries\"", name);
    }
    for (uint32_t i = 0; i < c->count; i++) {
        VQ_TRY(pack(c, vq_table_cell(c->table, i, queries), name, c->table->lines[i], err));
        ends[i] = c->packed.bytes;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        c->chains[i] = (struct vq_sample){
            .prompt = vq_span(c->packed.at + from, ends[i] - from),
            .a = system == UINT32_MAX ? vq_span("", 0) : vq_table_cell(c->table, i, system),
            .b = vq_span("", 0)};
        VQ_TRY(check_bytes(c, name, i, err));
    }
    return VQ_OK;
}

enum vq_status vq_chats_read(struct vq_span text, const char *name, struct vq_chats *ret_chats,
                             struct vq_error *err)
{
    struct vq_chats c = {.table = NULL};
    vq_buf_init(&c.packed, VQ_CHATS_BYTES_MAX);
    VQ_TRY(vq_table_parse(text, VQ_TABLE_JSONL, name, &c.table, err));
    c.count = c.table->rows_count;
    size_t *ends = vq_alloc(c.count, sizeof(*ends));
    c.chains = vq_alloc(c.count, sizeof(*c.chains));
    enum vq_status status =
        ends == NULL || c.chains == NULL ? VQ_NOMEM : take_chains(&c, name, ends, err);
    vq_free(ends);
    if (status != VQ_OK) {
        vq_chats_free(&c);
        return status;
    }
    *ret_chats = c;
    return VQ_OK;
}

void vq_chats_free(struct vq_chats *chats)
{
    vq_free(chats->chains);
    vq_table_destroy(&chats->table);
    vq_buf_free(&chats->packed);
    *chats = (struct vq_chats){.table = NULL};
}

/* ---- copies in the run's folder ---- */

/* Whether the run's file has these bytes. */
static enum vq_status is_same(const struct vq_run_dir *run, const char *file, struct vq_span text,
                              bool *ret_same)
{
    struct vq_buf was;
    struct vq_error ignored = {0};
    vq_buf_init(&was, VQ_CHATS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, file, &was, &ignored);
    *ret_same = status == VQ_OK && vq_span_eq(vq_buf_span(&was), text);
    vq_buf_free(&was);
    return status == VQ_NOMEM ? status : VQ_OK; /* an unreadable file is written again */
}

static enum vq_status remove_file(const struct vq_run_dir *run, const char *file,
                                  struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    VQ_TRY(vq_run_dir_join(run, file, path));
    return unlink(path) == 0 || errno == ENOENT
               ? VQ_OK
               : vq_fail(err, VQ_IO, "%s cannot be removed: %s", path, strerror(errno));
}

static enum vq_status keep_both(struct vq_span text, struct vq_span yaml,
                                const struct vq_run_dir *run, struct vq_error *err)
{
    bool same_chains, same_settings;
    VQ_TRY(is_same(run, VQ_CHATS_CHAINS, text, &same_chains));
    VQ_TRY(is_same(run, VQ_CHATS_CONFIG, yaml, &same_settings));
    if (same_chains && same_settings) {
        return VQ_OK;
    }
    VQ_TRY(remove_file(run, VQ_CHATS_DIALOGUES, err));
    VQ_TRY(remove_file(run, VQ_CHATS_ACCOUNT, err));
    VQ_TRY(vq_run_dir_write(run, VQ_CHATS_CONFIG, yaml, true, err));
    return vq_run_dir_write(run, VQ_CHATS_CHAINS, text, true, err);
}

enum vq_status vq_chats_keep(struct vq_span text, const struct vq_config *config,
                             const struct vq_run_dir *run, struct vq_error *err)
{
    char *yaml;
    size_t bytes;
    VQ_TRY(vq_config_write(config, &yaml, &bytes));
    enum vq_status status = keep_both(text, vq_span(yaml, bytes), run, err);
    vq_free(yaml);
    return status;
}

/* ---- the dialogues as a file ---- */

struct talk {
    const struct vq_chats *chats;
    const struct vq_chat *said;
    const struct vq_role_models *cast;
};

static void put_message(struct vq_json *json, const char *role, struct vq_span text)
{
    vq_json_object(json);
    vq_json_put_str(json, "role", role);
    vq_json_put_span(json, "content", text);
    vq_json_object_end(json);
}

/* The outcome of the first turn without an answer; NULL: every turn has an answer. */
static const char *ended_of(const struct talk *t, uint32_t chain, uint32_t model)
{
    uint32_t turns = vq_chain_count(t->chats->chains[chain].prompt);
    for (uint32_t k = 0; k < turns; k++) {
        struct vq_span answer = vq_chat_answer(t->said, chain, model, k);
        if (answer.at == NULL) {
            return vq_outcome_name((enum vq_outcome)answer.bytes);
        }
    }
    return NULL;
}

/* Writes the turns up to the first one without an answer; `ended` is that turn's outcome. */
static void put_dialogue(const struct talk *t, uint32_t chain, uint32_t model, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_span rest = t->chats->chains[chain].prompt, query;
    const char *ended = ended_of(t, chain, model);
    vq_json_init(&json, out, 0);
    vq_json_object(&json);
    vq_json_put_u64(&json, "chain", chain);
    vq_json_put_str(&json, "model", t->cast->judges[model].name);
    vq_json_put_span(&json, "system", t->chats->chains[chain].a);
    vq_json_put_array(&json, "messages");
    for (uint32_t k = 0; vq_chain_unpack(&rest, &query); k++) {
        struct vq_span answer = vq_chat_answer(t->said, chain, model, k);
        if (answer.at == NULL) {
            break;
        }
        put_message(&json, "user", query);
        put_message(&json, "assistant", answer);
    }
    vq_json_array_end(&json);
    vq_json_put_str(&json, "ended", ended);
    vq_json_object_end(&json);
    vq_buf_putc(out, '\n');
}

static void put_rows(const void *of, uint32_t from, uint32_t until, struct vq_buf *out)
{
    const struct talk *t = of;
    for (uint32_t i = from; i < until; i++) {
        put_dialogue(t, i / t->cast->count, i % t->cast->count, out);
    }
}

enum vq_status vq_chats_write(const struct vq_chats *chats, const struct vq_chat *said,
                              const struct vq_results *to, uint32_t *ret_ended,
                              struct vq_error *err)
{
    static const struct vq_result_file file = {"dialogues.jsonl", .rows = put_rows};
    struct talk t = {chats, said, &to->job->cast[VQ_ROLE_JUDGE]};
    uint32_t n = chats->count * t.cast->count, ended = 0;
    VQ_TRY(vq_result_files(to, &file, 1, &t, n, err));
    for (uint32_t i = 0; i < n; i++) {
        ended += ended_of(&t, i / t.cast->count, i % t.cast->count) != NULL;
    }
    *ret_ended = ended;
    return VQ_OK;
}
