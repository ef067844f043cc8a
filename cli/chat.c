/* `vibeq chat RUN --chains FILE`: leads a run's judges through dialogues, beside the run, into its own store, so that every turn is bought
 * once and a stopped or killed one goes on where it was. The run's results and accounting stay as they are. */
#include "coordinator/pipeline/chat.h"
#include "cli/kept.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/judge/chain.h"
#include "common/text/file.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/table.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#define CHAT_FOLDER      "chat"
#define CHAT_FILE        CHAT_FOLDER "/dialogues.jsonl"
#define FILE_BYTES_MAX   ((size_t)1 << 30)
#define QUERY_DEPTH_MAX  2
#define QUERY_VALUES_MAX (VQ_CHAIN_TURNS_MAX + 1u)

struct chat_words {
    struct vq_kept_words kept;
    const char *chains;
    bool json, quiet;
};

#define AT(field) offsetof(struct chat_words, field)

const struct vq_opt vq_chat_opts[] = {
    {"chains", VQ_OPT_TEXT, AT(chains), "FILE",
     "JSON lines: an object a dialogue, with \"queries\" (a list of texts) and, if wanted, "
     "\"system\""},
    {"set", VQ_OPT_LIST, AT(kept.set), "A.B=VALUE",
     "overrides a key of the run's configuration, such as judging.max_tokens (repeatable)"},
    {"json", VQ_OPT_FLAG, AT(json), NULL, "dialogues.jsonl on standard output as well"},
    {"quiet", VQ_OPT_FLAG, AT(quiet), NULL, "no progress"},
    {"runs", VQ_OPT_TEXT, AT(kept.runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

struct chat {
    const struct chat_words *words;
    struct vq_kept kept;
    struct vq_table *table;
    struct vq_buf packed;
    struct vq_sample *chains;
    struct vq_chat *script;
};

/* ---- chains ---- */

static enum vq_status pack(struct chat *c, struct vq_span cell, uint64_t line, struct vq_error *err)
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
                : vq_fail(err, VQ_INVALID, "%s, line %llu: \"queries\" is no list of 1 to %u texts",
                          c->words->chains, (unsigned long long)line, VQ_CHAIN_TURNS_MAX);
}

/* What is known of a dialogue beforehand goes to a worker in one message. */
static enum vq_status check_bytes(const struct chat *c, uint32_t chain, struct vq_error *err)
{
    size_t bytes = c->chains[chain].a.bytes + vq_chain_bytes(c->chains[chain].prompt);
    return bytes <= VQ_CHAIN_ASKED_BYTES_MAX
               ? VQ_OK
               : vq_fail(err, VQ_LIMIT,
                         "%s, line %llu: system part and queries have %zu bytes together; at most "
                         "%u can be sent. Ask fewer or shorter queries, or break the dialogue up",
                         c->words->chains, (unsigned long long)c->table->lines[chain], bytes,
                         VQ_CHAIN_ASKED_BYTES_MAX);
}

static enum vq_status read_chains(struct chat *c, struct vq_error *err)
{
    struct vq_buf bytes;
    vq_buf_init(&bytes, FILE_BYTES_MAX);
    enum vq_status status = vq_file_read(c->words->chains, FILE_BYTES_MAX, &bytes, err);
    if (status == VQ_OK) {
        status =
            vq_table_parse(vq_buf_span(&bytes), VQ_TABLE_JSONL, c->words->chains, &c->table, err);
    }
    vq_buf_free(&bytes);
    VQ_TRY(status);
    uint32_t queries = vq_table_column(c->table, vq_span_str("queries"));
    uint32_t system = vq_table_column(c->table, vq_span_str("system"));
    uint32_t count = c->table->rows_count;
    size_t *ends = vq_alloc(count, sizeof(*ends));
    c->chains = vq_alloc(count, sizeof(*c->chains));
    if (ends == NULL || c->chains == NULL) {
        vq_free(ends);
        return VQ_NOMEM;
    }
    status = queries != UINT32_MAX
                 ? VQ_OK
                 : vq_fail(err, VQ_INVALID, "%s has no field \"queries\"", c->words->chains);
    for (uint32_t i = 0; status == VQ_OK && i < count; i++) {
        status = pack(c, vq_table_cell(c->table, i, queries), c->table->lines[i], err);
        ends[i] = c->packed.bytes;
    }
    for (uint32_t i = 0; status == VQ_OK && i < count; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        c->chains[i] = (struct vq_sample){
            .prompt = vq_span(c->packed.at + from, ends[i] - from),
            .a = system == UINT32_MAX ? vq_span("", 0) : vq_table_cell(c->table, i, system),
            .b = vq_span("", 0)};
        status = check_bytes(c, i, err);
    }
    vq_free(ends);
    return status;
}

/* ---- dialogues ---- */

static void put_message(struct vq_json *json, const char *role, struct vq_span text)
{
    vq_json_object(json);
    vq_json_key(json, "role");
    vq_json_str(json, role);
    vq_json_key(json, "content");
    vq_json_span(json, text);
    vq_json_object_end(json);
}

/* As far as it came; `ended` says why no further. */
static bool put_dialogue(const struct chat *c, uint32_t chain, uint32_t model, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_span rest = c->chains[chain].prompt;
    struct vq_span query;
    const char *ended = NULL;
    vq_json_init(&json, out, 0);
    vq_json_object(&json);
    vq_json_key(&json, "chain");
    vq_json_u64(&json, chain);
    vq_json_key(&json, "model");
    vq_json_str(&json, c->kept.job->cast[VQ_ROLE_JUDGE].judges[model].name);
    vq_json_key(&json, "system");
    vq_json_span(&json, c->chains[chain].a);
    vq_json_key(&json, "messages");
    vq_json_array(&json);
    for (uint32_t k = 0; ended == NULL && vq_chain_unpack(&rest, &query); k++) {
        struct vq_span answer = vq_chat_answer(c->script, chain, model, k);
        if (answer.at == NULL) {
            ended = vq_outcome_name((enum vq_outcome)answer.bytes);
        } else {
            put_message(&json, "user", query);
            put_message(&json, "assistant", answer);
        }
    }
    vq_json_array_end(&json);
    vq_json_key(&json, "ended");
    if (ended == NULL) {
        vq_json_null(&json);
    } else {
        vq_json_str(&json, ended);
    }
    vq_json_object_end(&json);
    vq_buf_putc(out, '\n');
    return ended == NULL;
}

static enum vq_status write_all(const struct chat *c, int *ret_code, struct vq_error *err)
{
    struct vq_buf out;
    uint32_t models = c->kept.job->cast[VQ_ROLE_JUDGE].count;
    uint32_t ended = 0;
    vq_buf_init(&out, FILE_BYTES_MAX);
    for (uint32_t i = 0; i < c->table->rows_count; i++) {
        for (uint32_t m = 0; m < models; m++) {
            ended += put_dialogue(c, i, m, &out) ? 0 : 1;
        }
    }
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_run_dir_write(c->kept.run, CHAT_FILE, vq_buf_span(&out), true, err);
    }
    if (status == VQ_OK && c->words->json) {
        (void)fwrite(out.at, 1, out.bytes, stdout);
    } else if (status == VQ_OK) {
        (void)printf("%u dialogues, %u of them ended early: %s/" CHAT_FILE "\n",
                     c->table->rows_count * models, ended, vq_run_dir_path(c->kept.run));
    }
    vq_buf_free(&out);
    *ret_code = ended > 0 ? VQ_EXIT_MISSING : VQ_EXIT_DONE;
    return status == VQ_OK && fflush(stdout) != 0 && errno != EPIPE ? VQ_IO : status;
}

/* ---- the verb ---- */

static enum vq_status carry_out(struct chat *c, const char *name, int *ret_code,
                                struct vq_error *err)
{
    VQ_TRY(vq_kept_open(&c->words->kept, name, &c->kept, err));
    VQ_TRY(read_chains(c, err));
    struct vq_chat_input input = {.chains = c->chains,
                                  .count = c->table->rows_count,
                                  .models = c->kept.job->cast[VQ_ROLE_JUDGE].count};
    VQ_TRY(vq_chat_create(&input, &c->script, err));
    enum vq_run_end end;
    struct vq_script script = vq_chat_script(c->script);
    VQ_TRY(vq_kept_ask(&c->kept, &script, CHAT_FOLDER, c->words->quiet, &end, err));
    *ret_code = vq_cli_exit_of(end);
    return end == VQ_RUN_DONE || end == VQ_RUN_MISSING ? write_all(c, ret_code, err) : VQ_OK;
}

int vq_verb_chat(int argc, char **argv)
{
    struct chat_words w = {.json = false};
    struct chat c = {.words = &w};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_chat_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("chat", "%s", err.text);
    }
    if (words != 1) {
        return vq_cli_usage("chat", "name one run; vibeq list shows them");
    }
    if (w.chains == NULL) {
        return vq_cli_usage("chat", "name a file of dialogues: --chains FILE");
    }
    vq_buf_init(&c.packed, FILE_BYTES_MAX);
    int code = VQ_EXIT_DONE;
    enum vq_status status = carry_out(&c, argv[0], &code, &err);
    if (status != VQ_OK) {
        code = vq_cli_fail(status, &err);
    }
    vq_chat_destroy(&c.script);
    vq_free(c.chains);
    vq_table_destroy(&c.table);
    vq_buf_free(&c.packed);
    vq_kept_close(&c.kept);
    return code;
}
