/* Measures durable commits into the call store: results of whole shards, as workers send them,
 * compared with bare LMDB with the same values and random keys. Shows the cost of a commit besides
 * its fsync, and the gain from a shard's neighbouring keys.
 *
 *     bench-store [FOLDER]     a folder on the disk to measure; default: the current one */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/judge/template.h"
#include "coordinator/store/calls/commit.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/calls/lookup.h"

#include <ftw.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VIBES   10
#define JUDGES  2
#define SAMPLES 20000

struct bench {
    char dir[4096];
    struct vq_error err;
    struct vq_calls *calls;
    struct vq_template *template;
    struct vq_judge judges[JUDGES];
    struct vq_asker askers[JUDGES];
    struct vq_sample_id *samples;
    struct vq_axis axes[VIBES];
    struct vq_plan plan;
    struct vq_id run;
    uint64_t epoch;
    uint64_t next_task;
    struct vq_result *results; /* lent to one batch at a time */
    struct vq_span *workers;
};

static void must(enum vq_status status, const struct vq_error *err)
{
    if (status != VQ_OK) {
        (void)fprintf(stderr, "bench-store: %s: %s\n", vq_status_name(status), err->text);
        exit(1);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void set_up(struct bench *b, const char *folder)
{
    static const char *const names[VIBES] = {"length",    "warmth",  "hedging", "structure",
                                             "jargon",    "humour",  "emotion", "detail",
                                             "formality", "examples"};
    (void)snprintf(b->dir, sizeof(b->dir), "%s/bench-store-XXXXXX", folder);
    if (mkdtemp(b->dir) == NULL) {
        perror(b->dir);
        exit(1);
    }
    must(vq_template_parse(VQ_TEMPLATE_JUDGE, vq_template_builtin(VQ_TEMPLATE_JUDGE), "judge.txt",
                           &b->template, &b->err),
         &b->err);
    for (int j = 0; j < JUDGES; j++) {
        b->judges[j] = (struct vq_judge){.name = "j",
                                         .model = j == 0 ? "one" : "two",
                                         .dialect = "openai",
                                         .identity = "bench",
                                         .max_tokens_field = "max_tokens",
                                         .seed = -1};
        vq_asker_init(&b->askers[j], &b->judges[j], b->template, NULL);
    }
    b->samples = vq_alloc(SAMPLES, sizeof(*b->samples));
    for (uint32_t i = 0; b->samples != NULL && i < SAMPLES; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "prompt %u", i);
        struct vq_sample sample = {
            .prompt = vq_span_str(text), .a = vq_span_str("a"), .b = vq_span_str("b")};
        vq_sample_identify(&sample, &b->samples[i]);
    }
    for (int v = 0; v < VIBES; v++) {
        b->axes[v] = (struct vq_axis){names[v], "little", "much"};
    }
    b->plan = (struct vq_plan){.grid = {SAMPLES, JUDGES, VIBES},
                               .samples = b->samples,
                               .askers = b->askers,
                               .axes = b->axes,
                               .swap = VQ_SWAP_BOTH};
    struct vq_id nonce = {.b = {1}};
    struct vq_run_begun begun;
    must(vq_calls_open(b->dir, NULL, &b->calls, &b->err), &b->err);
    must(vq_calls_begin_run(b->calls, &b->run, &nonce, false, 0, &begun, &b->err), &b->err);
    b->epoch = begun.now.epoch;
}

static void fill(struct bench *b, struct vq_batch *batch, uint32_t results, struct vq_span text)
{
    for (uint32_t i = 0; i < results; i++) {
        uint64_t task = b->next_task++;
        struct vq_result r = {.task = task,
                              .judge = vq_grid_cell(&b->plan.grid, task).judge,
                              .tries = 1,
                              .outcome = VQ_OUTCOME_FIRST,
                              .final = true,
                              .http_status = 200,
                              .tokens_in = 1000,
                              .tokens_out = 100,
                              .answer = text,
                              .finish_reason = vq_span_str("stop"),
                              .model = vq_span_str("one-2024")};
        memcpy(r.call.b + 8, &task, sizeof(task));
        vq_plan_request(&b->plan, task, 0, &r.request);
        b->results[i] = r;
        b->workers[i] = vq_span_str("worker-0");
    }
    *batch =
        (struct vq_batch){.results = b->results, .workers = b->workers, .results_count = results};
}

static void measure_commits(struct bench *b, uint32_t results, uint32_t bytes, uint32_t commits)
{
    char *text = vq_alloc(bytes, 1);
    struct vq_batch batch;
    b->results = vq_alloc(results, sizeof(*b->results));
    b->workers = vq_alloc(results, sizeof(*b->workers));
    bool room = text != NULL && b->results != NULL && b->workers != NULL;
    must(room ? VQ_OK : VQ_NOMEM, &b->err);
    static const char words[] = "Output A keeps its sentences short, and it names its source. ";
    for (uint32_t i = 0; i < bytes; i++) {
        text[i] = words[i % (sizeof(words) - 1)];
    }
    memcpy(text + bytes - 10, "\nModel: A\n", 10);
    int64_t ns = 0;
    for (uint32_t i = 0; i < commits; i++) {
        struct vq_commit commit;
        fill(b, &batch, results, vq_span(text, bytes));
        int64_t from = vq_clock_mono_ns();
        must(vq_commit_run(b->calls, &b->plan, &b->run, b->epoch, &batch, 0, &commit, &b->err),
             &b->err);
        ns += vq_clock_mono_ns() - from;
        vq_commit_free(&commit);
    }
    vq_free(b->results);
    vq_free(b->workers);
    vq_free(text);
    (void)printf("commit  %5u x %4u B  %8.0f results/s  %6.2f ms a commit\n", results, bytes,
                 (double)results * commits * 1e9 / (double)ns, (double)ns / commits / 1e6);
}

/* One table, the same values, random keys, one durable transaction per batch. */
static void measure_bare(const char *dir, uint32_t results, uint32_t bytes, uint32_t commits)
{
    char path[4200];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi table;
    struct vq_rng rng;
    char *value = vq_alloc(bytes + 100, 1);
    static int files;
    (void)snprintf(path, sizeof(path), "%s/bare%d.lmdb", dir, files++);
    vq_rng_seed(&rng, 1);
    int rc = value == NULL || mdb_env_create(&env) || mdb_env_set_mapsize(env, (size_t)4 << 30) ||
             mdb_env_open(env, path, MDB_NOSUBDIR, 0600);
    int64_t from = vq_clock_mono_ns();
    for (uint32_t i = 0; i < commits && rc == 0; i++) {
        rc = mdb_txn_begin(env, NULL, 0, &txn) || mdb_dbi_open(txn, NULL, 0, &table);
        for (uint32_t k = 0; k < results && rc == 0; k++) {
            uint64_t key[4] = {vq_rng_u64(&rng), 1, 2, 3};
            MDB_val mk = {sizeof(key), key}, mv = {bytes + 100, value};
            rc = mdb_put(txn, table, &mk, &mv, MDB_NOOVERWRITE);
        }
        rc = rc != 0 ? rc : mdb_txn_commit(txn);
    }
    double s = (double)(vq_clock_mono_ns() - from) / 1e9;
    if (rc != 0) {
        (void)fprintf(stderr, "bench-store: bare LMDB: %d\n", rc);
        exit(1);
    }
    mdb_env_close(env);
    vq_free(value);
    (void)printf(
        "bare    %5u x %4u B  %8.0f values/s   %6.2f ms a commit (random keys, one table)\n",
        results, bytes, results * commits / s, s * 1e3 / commits);
}

static void measure_lookups(struct bench *b)
{
    struct vq_known known[2 * VIBES];
    struct vq_buf text;
    struct vq_view *view = NULL;
    uint64_t shards = b->next_task / vq_grid_shard_tasks(&b->plan.grid);
    vq_buf_init(&text, 1u << 20);
    must(vq_view_begin(b->calls, &view, &b->err), &b->err);
    int64_t from = vq_clock_mono_ns();
    for (uint64_t shard = 0; shard < shards; shard++) {
        must(vq_lookup_shard(view, &b->plan, &b->run, shard, known, &text, &b->err), &b->err);
    }
    double s = (double)(vq_clock_mono_ns() - from) / 1e9;
    vq_view_end(&view);
    vq_buf_free(&text);
    (void)printf("look-up %llu shards of %d tasks: %.0f tasks/s\n", (unsigned long long)shards,
                 2 * VIBES, (double)shards * 2 * VIBES / s);
}

struct total {
    uint64_t rows, tokens;
};

static enum vq_status add_row(void *ctx, const struct vq_call_row *row)
{
    struct total *total = ctx;
    total->rows++;
    total->tokens += row->result.tokens_in + row->result.tokens_out;
    return VQ_OK;
}

/* Measures the ledger scan of each start of a run for its counters
 * (coordinator/run/metrics_run.c). */
static void measure_ledger(struct bench *b)
{
    struct total total = {0, 0};
    struct vq_view *view = NULL;
    must(vq_view_begin(b->calls, &view, &b->err), &b->err);
    int64_t from = vq_clock_mono_ns();
    must(vq_ledger_scan(view, &b->run, add_row, &total, &b->err), &b->err);
    double s = (double)(vq_clock_mono_ns() - from) / 1e9;
    vq_view_end(&view);
    (void)printf("ledger  %llu calls of a run, %llu tokens: %.3f s, %.0f calls/s\n",
                 (unsigned long long)total.rows, (unsigned long long)total.tokens, s,
                 (double)total.rows / s);
}

int main(int argc, char **argv)
{
    static struct bench b = {.run = {.b = {1}}};
    set_up(&b, argc > 1 ? argv[1] : ".");
    for (int round = 0; round < 2; round++) {
        measure_commits(&b, 512, 700, 100);
        measure_bare(b.dir, 512, 700, 100);
        measure_commits(&b, 2048, 300, 30);
        measure_bare(b.dir, 2048, 300, 30);
    }
    measure_lookups(&b);
    measure_ledger(&b);
    vq_calls_close(&b.calls);
    vq_template_destroy(&b.template);
    vq_free(b.samples);
    (void)nftw(b.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
