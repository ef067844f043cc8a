/* Passes SPEC, SAMPLE and one LEASE per judge to a worker, as a coordinator would, and reads its
 * lines. Invariants: requests and answers pass only through memory files, so neither stays on a
 * disk; both children end with this process. Not its job: keys (the worker's), the meaning of an
 * answer. */
#include "cli/ask_once.h"

#include "common/base/alloc.h"
#include "common/text/json_load.h"
#include "coordinator/run/programs.h"
#include "methods/grid/role_models.h"
#include "proto/wire.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_BYTES_MAX (48u << 20)
#define LINES_BYTES_MAX  ((size_t)256 << 20)
#define GRACE_MS         30000u /* after the calls' own deadlines */
#define WAIT_MS_MAX      UINT64_C(3660000)

struct asking {
    const struct vq_stage_grid *stage;
    const struct vq_once_task *task;
    struct vq_once *once;
    struct vq_loop *loop;
    struct vq_child *offline, *worker;
    char offline_url[VQ_PROGRAM_URL_BYTES_MAX];
    int in_fd, out_fd;
    bool ended;
    struct vq_child_exit how;
};

static bool asks_offline(const struct asking *a)
{
    bool asks = false;
    for (uint32_t i = 0; i < a->stage->cast->count; i++) {
        asks |= a->once[i].wanted && vq_role_models_is_offline(&a->stage->cast->conf[i]);
    }
    return asks;
}

/* ---- the worker's input ---- */

static enum vq_status put_frame(struct vq_buf *out, const struct vq_msg *msg)
{
    struct vq_buf frame;
    vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
    enum vq_status status = vq_msg_encode(msg, &frame);
    if (status == VQ_OK) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            vq_buf_putc(out, (char)(frame.bytes >> shift & 0xFF));
        }
        vq_buf_append(out, frame.at, frame.bytes);
        status = out->status;
    }
    vq_buf_free(&frame);
    return status;
}

static enum vq_status put_spec(const struct asking *a, struct vq_buf *out)
{
    struct vq_buf body;
    struct vq_msg msg = {.type = VQ_MSG_SPEC};
    VQ_TRY(vq_stage_grid_spec(a->stage, a->offline_url, &body, &msg.u.spec.hash));
    msg.u.spec.body = vq_buf_span(&body);
    enum vq_status status = put_frame(out, &msg);
    vq_buf_free(&body);
    return status;
}

static enum vq_status put_frames(const struct asking *a, struct vq_buf *out)
{
    const struct vq_sample *s = &a->stage->samples[a->task->sample];
    struct vq_msg sample = {
        .type = VQ_MSG_SAMPLE,
        .u.sample = {.prompt = s->prompt, .a = s->a, .b = s->b, .image = s->image}};
    VQ_TRY(put_spec(a, out));
    VQ_TRY(put_frame(out, &sample));
    for (uint32_t i = 0; i < a->stage->cast->count; i++) {
        struct vq_ask ask = {.vibe = a->task->vibe, .order = (uint8_t)a->task->order};
        struct vq_msg lease = {.type = VQ_MSG_LEASE,
                               .u.lease = {.judge = i, .asks = &ask, .asks_count = 1}};
        if (a->once[i].wanted) {
            VQ_TRY(put_frame(out, &lease));
        }
    }
    return VQ_OK;
}

static enum vq_status memory_file(const char *name, int *ret_fd, struct vq_error *err)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "cannot make a file in memory: %s", strerror(errno));
    }
    *ret_fd = fd;
    return VQ_OK;
}

static enum vq_status write_all(int fd, struct vq_span bytes, struct vq_error *err)
{
    for (size_t done = 0; done < bytes.bytes;) {
        ssize_t put = write(fd, bytes.at + done, bytes.bytes - done);
        if (put <= 0) {
            return vq_fail(err, VQ_IO, "cannot write a file in memory: %s", strerror(errno));
        }
        done += (size_t)put;
    }
    return VQ_OK;
}

static enum vq_status prepare(struct asking *a, struct vq_error *err)
{
    struct vq_buf frames;
    VQ_TRY(memory_file("vibeq-ask", &a->in_fd, err));
    VQ_TRY(memory_file("vibeq-answers", &a->out_fd, err));
    vq_buf_init(&frames, FRAMES_BYTES_MAX);
    enum vq_status status = put_frames(a, &frames);
    if (status == VQ_OK) {
        status = write_all(a->in_fd, vq_buf_span(&frames), err);
    } else {
        (void)vq_fail(err, status, "the call cannot be handed to a worker: %s",
                      vq_status_text(status));
    }
    vq_buf_free(&frames);
    return status;
}

/* ---- the worker ---- */

static void worker_ended(void *ctx, struct vq_child_exit how)
{
    struct asking *a = ctx;
    a->ended = true;
    a->how = how;
}

static void offline_ended(void *ctx, struct vq_child_exit how)
{
    (void)ctx; /* calls to it fail and report the reason */
    (void)how;
}

static bool has_ended(void *ctx)
{
    return ((const struct asking *)ctx)->ended;
}

static uint32_t wait_ms(const struct vq_role_models *cast)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < cast->count; i++) {
        uint64_t ms = cast->conf[i].total_timeout_ms;
        longest = ms > longest ? ms : longest;
    }
    uint64_t wait = longest + GRACE_MS;
    return (uint32_t)(wait < WAIT_MS_MAX ? wait : WAIT_MS_MAX);
}

static enum vq_status run_worker(struct asking *a, struct vq_error *err)
{
    char path[VQ_PROGRAM_PATH_BYTES_MAX], file[64];
    vq_program_path("vibeq-worker", path);
    (void)snprintf(file, sizeof(file), "/proc/self/fd/%d", a->in_fd);
    const char *argv[] = {"vibeq-worker", "--check", file, NULL};
    struct vq_child_options options = {.path = path,
                                       .argv = argv,
                                       .env_all = true, /* it holds keys and proxies */
                                       .stdout_fd = a->out_fd,
                                       .stderr_fd = STDERR_FILENO,
                                       .keep_fds = &a->in_fd,
                                       .keep_fds_count = 1,
                                       .exited = worker_ended,
                                       .ctx = a};
    VQ_TRY(vq_child_spawn(a->loop, &options, &a->worker, err));
    if (vq_loop_run_until(a->loop, has_ended, a, wait_ms(a->stage->cast)) != VQ_OK) {
        return vq_fail(err, VQ_TIMEOUT, "the worker did not end in time");
    }
    if (a->how.code != 0) {
        return vq_fail(err, VQ_BUG, "the worker ended with code %d, signal %d", a->how.code,
                       a->how.signal);
    }
    return VQ_OK;
}

/* ---- the worker's output ---- */

static enum vq_status take_text(const json_t *line, const char *key, char **ret_text)
{
    const json_t *value = json_object_get(line, key);
    if (!json_is_string(value)) {
        return VQ_OK;
    }
    *ret_text = vq_strndup(json_string_value(value), json_string_length(value));
    return *ret_text == NULL ? VQ_NOMEM : VQ_OK;
}

static int64_t take_number(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

static enum vq_status take_line(struct asking *a, const json_t *line)
{
    int64_t judge = take_number(line, "judge");
    if (judge < 0 || judge >= a->stage->cast->count || a->once[judge].heard) {
        return VQ_CORRUPT;
    }
    struct vq_once *o = &a->once[judge];
    o->heard = true;
    o->refusal = json_is_true(json_object_get(line, "refusal"));
    o->http_status = take_number(line, "http_status");
    o->tokens_in = take_number(line, "tokens_in");
    o->tokens_out = take_number(line, "tokens_out");
    o->latency_ms = take_number(line, "latency_ms");
    VQ_TRY(take_text(line, "end", &o->end));
    VQ_TRY(take_text(line, "answer", &o->answer));
    VQ_TRY(take_text(line, "finish_reason", &o->finish_reason));
    VQ_TRY(take_text(line, "model", &o->model));
    return take_text(line, "error", &o->error);
}

static enum vq_status take_lines(struct asking *a, struct vq_span text, struct vq_error *err)
{
    for (size_t at = 0; at < text.bytes;) {
        const char *end = memchr(text.at + at, '\n', text.bytes - at);
        size_t bytes = end == NULL ? text.bytes - at : (size_t)(end - (text.at + at));
        json_t *line = NULL;
        enum vq_status status =
            vq_json_load(vq_span(text.at + at, bytes), JSON_ALLOW_NUL, &line, NULL);
        status = status == VQ_OK ? take_line(a, line) : status == VQ_NOMEM ? status : VQ_CORRUPT;
        json_decref(line);
        if (status != VQ_OK) {
            return vq_fail(err, status, "the reply of the worker cannot be read: %s",
                           vq_status_text(status));
        }
        at += bytes + 1;
    }
    return VQ_OK;
}

static enum vq_status read_lines(struct asking *a, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, LINES_BYTES_MAX);
    off_t bytes = lseek(a->out_fd, 0, SEEK_END);
    enum vq_status status = bytes < 0 ? VQ_IO : VQ_OK;
    char *at = status == VQ_OK ? vq_buf_reserve(&text, (size_t)bytes) : NULL;
    if (status == VQ_OK && at == NULL) {
        status = text.status;
    }
    while (status == VQ_OK && text.bytes < (size_t)bytes) {
        ssize_t got =
            pread(a->out_fd, at + text.bytes, (size_t)bytes - text.bytes, (off_t)text.bytes);
        status = got > 0 ? VQ_OK : VQ_IO;
        text.bytes += got > 0 ? (size_t)got : 0;
    }
    status = status == VQ_OK ? take_lines(a, vq_buf_span(&text), err)
                             : vq_fail(err, status, "the reply of the worker cannot be read: %s",
                                       vq_status_text(status));
    vq_buf_free(&text);
    return status;
}

static enum vq_status ask(struct asking *a, struct vq_error *err)
{
    VQ_TRY(vq_loop_create(&a->loop, err));
    if (asks_offline(a)) {
        struct vq_program_offline options = {.conf = &a->stage->config->offline,
                                             .hint = "",
                                             .stderr_fd = STDERR_FILENO,
                                             .exited = offline_ended};
        VQ_TRY(vq_program_offline_start(a->loop, &options, &a->offline, a->offline_url, err));
    }
    VQ_TRY(prepare(a, err));
    VQ_TRY(run_worker(a, err));
    return read_lines(a, err);
}

enum vq_status vq_ask_once(const struct vq_once_task *task, struct vq_once *once,
                           struct vq_error *err)
{
    struct asking a = {
        .stage = task->asking, .task = task, .once = once, .in_fd = -1, .out_fd = -1};
    enum vq_status status = ask(&a, err);
    vq_child_destroy(&a.worker);
    vq_child_destroy(&a.offline);
    vq_loop_destroy(&a.loop);
    for (int i = 0; i < 2; i++) {
        int fd = i == 0 ? a.in_fd : a.out_fd;
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return status;
}

void vq_once_free(struct vq_once *once, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char *texts[] = {once[i].end, once[i].answer, once[i].finish_reason, once[i].model,
                         once[i].error};
        for (size_t k = 0; k < VQ_COUNT(texts); k++) {
            vq_free(texts[k]);
        }
        once[i] = (struct vq_once){.wanted = false};
    }
}
