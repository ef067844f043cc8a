/* The run's data for metrics beyond the status. Invariants: the tally has each call of the ledger
 * once; nothing here stops the run. A call that was recorded as unknown, and whose result comes
 * later, counts as unknown until the next start. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/log.h"
#include "coordinator/store/calls/ledger.h"

#include <jansson.h>
#include <sys/statvfs.h>

#define MINUTE_NS          (60 * VQ_NS_PER_S)
#define COUNTERS_BYTES_MAX 65536u
#define METRICS_BYTES_MAX  (16u << 20)
#define DEPTH_MAX          2u

static void tally(struct vq_run *run, const struct vq_result *r)
{
    vq_call_tally_add(
        &run->metrics.calls,
        &(struct vq_tally_call){.pool = vq_conf_uses_find(&run->source.pools->uses, r->pool),
                                .end = r->end,
                                .latency_ms = r->latency_ms,
                                .tokens_in = r->tokens_in,
                                .tokens_cached = r->tokens_cached,
                                .tokens_out = r->tokens_out,
                                .cost_nano = r->cost_nano});
}

static enum vq_status take_row(void *ctx, const struct vq_call_row *row)
{
    tally(ctx, &row->result);
    vq_looks_recall(ctx, row);
    return VQ_OK;
}

static bool is_in(const size_t *list, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == index) {
            return true;
        }
    }
    return false;
}

void vq_metrics_see(struct vq_run *run, const struct vq_result *results, size_t count,
                    const size_t *repeated, size_t repeated_count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_in(repeated, repeated_count, i)) {
            tally(run, &results[i]);
        }
    }
}

/* ---- the file of counters ---- */

static void read_counters(struct vq_run *run)
{
    struct vq_buf text;
    struct vq_error err = {0};
    json_t *root = NULL;
    vq_buf_init(&text, COUNTERS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run->dir, VQ_COUNTERS_FILE, &text, &err);
    if (status == VQ_OK && vq_json_exceeds(vq_buf_span(&text), DEPTH_MAX, 0)) {
        status = VQ_CORRUPT;
    }
    if (status == VQ_OK) {
        status = vq_json_load(vq_buf_span(&text), JSON_REJECT_DUPLICATES, &root, NULL);
    }
    for (int c = 0; status == VQ_OK && c < VQ_COUNTER__COUNT; c++) {
        json_int_t n =
            json_integer_value(json_object_get(root, vq_counter_key((enum vq_counter)c)));
        run->metrics.past.n[c] = n > 0 ? (uint64_t)n : 0;
    }
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_log(VQ_LOG_WARN, "counters.unread", "why=%s",
               err.text[0] != '\0' ? err.text : "counters.json is damaged; counters begin at 0");
    }
    json_decref(root);
    vq_buf_free(&text);
}

static void write_counters(struct vq_run *run, const struct vq_counters *now)
{
    struct vq_run_metrics *m = &run->metrics;
    if (m->is_kept && memcmp(&m->kept, now, sizeof(*now)) == 0) {
        return;
    }
    struct vq_buf out;
    struct vq_json j;
    struct vq_error err = {0};
    vq_buf_init(&out, COUNTERS_BYTES_MAX);
    vq_json_open(&j, &out, 2);
    for (int c = 0; c < VQ_COUNTER__COUNT; c++) {
        vq_json_put_u64(&j, vq_counter_key((enum vq_counter)c), now->n[c]);
    }
    vq_json_close(&j);
    enum vq_status status = vq_run_dir_write_buf(run->dir, VQ_COUNTERS_FILE, &out, false, &err);
    if (status == VQ_OK) {
        m->kept = *now;
        m->is_kept = true;
    } else {
        vq_log(VQ_LOG_WARN, "counters.unwritten", "why=%s", err.text);
    }
}

/* ---- the run ---- */

enum vq_status vq_metrics_open(struct vq_run *run, struct vq_error *err)
{
    struct vq_view *view = NULL;
    vq_call_tally_init(&run->metrics.calls, run->source.pools->uses.count);
    read_counters(run);
    run->metrics.turn_since_ns = vq_run_now();
    VQ_TRY(vq_view_begin(run->calls, &view, err));
    enum vq_status status = vq_ledger_scan(view, &run->owner.uid, take_row, run, err);
    vq_view_end(&view);
    return status;
}

void vq_metrics_tick(struct vq_run *run, int64_t now_ns)
{
    struct vq_run_metrics *m = &run->metrics;
    int64_t turn_ns = vq_loop_stats_take(run->loop).busy_ns_max;
    if (now_ns - m->turn_since_ns >= MINUTE_NS) {
        m->turn_ns_max[1] = m->turn_ns_max[0];
        m->turn_ns_max[0] = 0;
        m->turn_since_ns = now_ns;
    }
    m->turn_ns_max[0] = turn_ns > m->turn_ns_max[0] ? turn_ns : m->turn_ns_max[0];
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; run->coord != NULL && vq_coord_worker_fill(run->coord, i, &w); i++) {
        m->carried = w.in_flight > m->carried ? w.in_flight : m->carried;
    }
}

static void put(struct vq_run *run, const struct vq_status_facts *facts, struct vq_buf *out)
{
    const struct vq_run_metrics *m = &run->metrics;
    struct vq_counters counters;
    struct statvfs disk;
    vq_counters_of(facts, &counters);
    for (int c = 0; c < VQ_COUNTER__COUNT; c++) {
        counters.n[c] += m->past.n[c];
    }
    bool known = statvfs(vq_run_dir_path(run->dir), &disk) == 0;
    if (run->work->write != NULL) {
        write_counters(run, &counters);
    }
    vq_metrics_put(
        &(struct vq_metrics_facts){
            .status = facts,
            .calls = &m->calls,
            .counters = m->is_kept ? &m->kept : &counters,
            .turn_ns_max =
                m->turn_ns_max[0] > m->turn_ns_max[1] ? m->turn_ns_max[0] : m->turn_ns_max[1],
            .disk_bytes = known ? (uint64_t)disk.f_blocks * disk.f_frsize : 0,
            .disk_free_bytes = known ? (uint64_t)disk.f_bavail * disk.f_frsize : 0,
            .carried = m->carried},
        out);
}

void vq_metrics_serve(struct vq_run *run, const struct vq_status_facts *facts, struct vq_buf *out)
{
    put(run, facts, out);
    vq_process_metrics(out);
}

void vq_metrics_write(struct vq_run *run, const struct vq_status_facts *facts)
{
    struct vq_buf out;
    struct vq_error err = {0};
    vq_buf_init(&out, METRICS_BYTES_MAX);
    put(run, facts, &out);
    enum vq_status status = vq_run_dir_write_buf(run->dir, VQ_METRICS_FILE, &out, false, &err);
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "metrics.unwritten", "why=%s", err.text);
    }
}
