/* Checks the last dialogues beside the run, by the stored copies of their queries and settings:
 * computes the state of every turn, the dialogues and their accounting again. Not its job:
 * questions of other verbs beside the run, of which only calls and answers are stored. */
#include "methods/chat/files/chats.h"
#include "methods/verify/parts.h"

static void say_differs(void *ctx, const char *file, const char *how)
{
    vq_verify_report(ctx, "chat: " VQ_CHATS_FOLDER "/%s %s", file, how);
}

/* Checks the files that are written at the end: dialogues, accounting. */
static enum vq_status check_end(struct vq_verifying *v, const struct vq_chats *chats,
                                const struct vq_chat *said, uint64_t open)
{
    struct vq_results to = {.job = v->in->job,
                            .calls = v->in->calls,
                            .run = v->uid,
                            .dir = v->in->dir,
                            .folder = VQ_CHATS_FOLDER,
                            .silent = true,
                            .differs = say_differs,
                            .differs_ctx = v};
    uint32_t ended;
    if (!v->replay.whole) {
        vq_verify_report(v,
                         "chat: %llu turns have no state, and the dialogues were led to their end",
                         (unsigned long long)open);
        return VQ_OK;
    }
    VQ_TRY(vq_chats_write(chats, said, &to, &ended, v->err));
    return vq_verify_account(v, VQ_CHATS_ACCOUNT);
}

static enum vq_status check_chats(struct vq_verifying *v, const struct vq_chats *chats)
{
    struct vq_chat_input input = {.chains = chats->chains,
                                  .count = chats->count,
                                  .models = v->in->job->cast[VQ_ROLE_JUDGE].count};
    struct vq_chat *said;
    uint64_t before = v->out->open;
    VQ_TRY(vq_chat_create(&input, &said, v->err));
    struct vq_script script = vq_chat_script(said);
    enum vq_status status = vq_verify_tasks(v, &script);
    uint64_t open = v->out->open - before;
    if (status == VQ_OK && v->walked && !v->in->running) {
        if (vq_verify_is_there(v, VQ_CHATS_DIALOGUES)) {
            status = check_end(v, chats, said, open);
        } else {
            vq_verify_note(v,
                           "the dialogues of vibeq chat are not finished, %llu turns are open; the "
                           "same command continues them",
                           (unsigned long long)open);
        }
    }
    vq_verify_tasks_free(v);
    vq_chat_destroy(&said);
    return status;
}

/* Opens the run's job with the settings of the dialogues. */
static enum vq_status open_job(const struct vq_verifying *v, struct vq_job **ret_job,
                               struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_config *config;
    VQ_TRY(vq_run_dir_join(v->in->dir, VQ_CHATS_CONFIG, path));
    VQ_TRY(vq_config_load(path, NULL, 0, &config, err));
    VQ_TRY(vq_job_create(config, v->in->dir, ret_job, err));
    (*ret_job)->generation = v->in->job->generation;
    return VQ_OK;
}

static enum vq_status check(struct vq_verifying *v, struct vq_span text)
{
    struct vq_chats chats = {.table = NULL};
    struct vq_job *job = NULL;
    struct vq_error why = {0};
    enum vq_status status = vq_chats_read(text, VQ_CHATS_CHAINS, &chats, &why);
    if (status == VQ_OK) {
        status = open_job(v, &job, &why);
    }
    if (status == VQ_OK) {
        struct vq_verify_input in = *v->in;
        in.job = job;
        struct vq_verifying of = {.in = &in, .uid = v->uid, .out = v->out, .err = v->err};
        status = check_chats(&of, &chats);
    } else if (status != VQ_NOMEM) {
        vq_verify_report(v, "chat: the stored dialogues cannot be read: %s", why.text);
        status = VQ_OK;
    }
    vq_job_destroy(&job);
    vq_chats_free(&chats);
    return status;
}

enum vq_status vq_verify_chat(struct vq_verifying *v)
{
    struct vq_buf text;
    struct vq_error why = {0};
    vq_buf_init(&text, VQ_CHATS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(v->in->dir, VQ_CHATS_CHAINS, &text, &why);
    if (status == VQ_OK) {
        status = check(v, vq_buf_span(&text));
    } else {
        status = status == VQ_NOT_FOUND ? VQ_OK : vq_fail(v->err, status, "%s", why.text);
    }
    vq_buf_free(&text);
    return status;
}
