/* `vibeq chat RUN --chains FILE`: leads a run's judges through dialogues, beside the run, into its
 * own store. So every turn is paid once, and a stopped or killed command continues at the same
 * turn. The run's results and accounting do not change. */
#include "cli/open_run.h"
#include "cli/verbs.h"
#include "common/text/file.h"
#include "common/text/fmt.h"
#include "methods/chat/files/chats.h"

#include <stdio.h>

struct chat_words {
    struct vq_open_run_words kept;
    const char *chains;
    bool json, quiet;
};

#define AT(field) offsetof(struct chat_words, field)

const struct vq_opt vq_chat_opts[] = {
    {"chains", VQ_OPT_TEXT, AT(chains), "FILE",
     "JSON lines: an object per dialogue, with \"queries\" (a list of texts) and, optionally, "
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
    struct vq_open_run kept;
    struct vq_chats chats;
    struct vq_chat *script;
};

static enum vq_status read_chains(struct chat *c, struct vq_error *err)
{
    struct vq_buf bytes;
    vq_buf_init(&bytes, VQ_CHATS_BYTES_MAX);
    enum vq_status status = vq_file_read(c->words->chains, VQ_CHATS_BYTES_MAX, &bytes, err);
    if (status == VQ_OK) {
        status = vq_chats_read(vq_buf_span(&bytes), c->words->chains, &c->chats, err);
    }
    if (status == VQ_OK) {
        struct vq_chat_input input = {.chains = c->chats.chains,
                                      .count = c->chats.count,
                                      .models = c->kept.job->cast[VQ_ROLE_JUDGE].count};
        status = vq_chat_create(&input, &c->script, err);
    }
    if (status == VQ_OK) {
        status = vq_chats_keep(vq_buf_span(&bytes), c->kept.job->config, c->kept.run, err);
    }
    vq_buf_free(&bytes);
    return status;
}

static enum vq_status print_dialogues(const struct chat *c, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_CHATS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(c->kept.run, VQ_CHATS_DIALOGUES, &text, err);
    if (status == VQ_OK) {
        status = vq_cli_print(&text, err);
    }
    vq_buf_free(&text);
    return status;
}

static enum vq_status write_all(const struct chat *c, int *ret_code, struct vq_error *err)
{
    struct vq_results to = {
        .job = c->kept.job, .dir = c->kept.run, .folder = VQ_CHATS_FOLDER, .silent = true};
    uint32_t ended;
    VQ_TRY(vq_chats_write(&c->chats, c->script, &to, &ended, err));
    enum vq_status status = VQ_OK;
    if (c->words->json) {
        status = print_dialogues(c, err);
    } else {
        uint32_t led = c->chats.count * c->kept.job->cast[VQ_ROLE_JUDGE].count;
        (void)printf("%u dialogue%s, %u of them ended early: %s/" VQ_CHATS_DIALOGUES "\n", led,
                     vq_fmt_plural(led), ended, vq_run_dir_path(c->kept.run));
    }
    *ret_code = ended > 0 ? VQ_EXIT_MISSING : VQ_EXIT_DONE;
    return status;
}

/* ---- the verb ---- */

/* Each turn needs the answer to the turn before it, so a batch pool cannot lead dialogues. */
static enum vq_status check_pools(const struct vq_job *job, struct vq_error *err)
{
    for (uint32_t i = 0; i < job->config->judges_count; i++) {
        const struct vq_conf_judge *judge = &job->config->judges[i];
        if (!vq_conf_uses_interactive(&job->pools.uses, judge)) {
            return vq_fail(err, VQ_INVALID,
                           "judges[%u]: all pools of \"%.80s\" are batches, and each turn of a "
                           "dialogue needs the answer to the turn before; add an entry of the "
                           "model without batch to a pool",
                           i, judge->model);
        }
    }
    return VQ_OK;
}

static enum vq_status carry_out(struct chat *c, const char *name, int *ret_code,
                                struct vq_error *err)
{
    VQ_TRY(vq_open_run_begin(&c->words->kept, name, &c->kept, err));
    VQ_TRY(check_pools(c->kept.job, err));
    VQ_TRY(read_chains(c, err));
    enum vq_run_end end;
    struct vq_script script = vq_chat_script(c->script);
    VQ_TRY(vq_open_run_ask(&c->kept, &script, VQ_CHATS_FOLDER, c->words->quiet, &end, err));
    *ret_code = vq_cli_exit_of(end);
    return end == VQ_RUN_DONE || end == VQ_RUN_MISSING ? write_all(c, ret_code, err) : VQ_OK;
}

int vq_verb_chat(int argc, char **argv)
{
    struct chat_words w = {.json = false};
    struct chat c = {.words = &w};
    struct vq_error err = {0};
    if (!vq_opts_parse_run("chat", vq_chat_opts, argc, argv, &w)) {
        return VQ_EXIT_USAGE;
    }
    if (w.chains == NULL) {
        return vq_cli_usage("chat", "name a file of dialogues: --chains FILE");
    }
    int code = VQ_EXIT_DONE;
    enum vq_status status = carry_out(&c, argv[0], &code, &err);
    if (status != VQ_OK) {
        code = vq_cli_fail(status, &err);
    }
    vq_chat_destroy(&c.script);
    vq_chats_free(&c.chats);
    vq_open_run_close(&c.kept);
    return code;
}
