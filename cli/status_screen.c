/* Draws a status from the top: the most important part comes first, because the screen may be low.
 * Not its job: the terminal's modes and its size (status_watch.c). */
#include "cli/status_screen.h"

#include "common/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#define BAR_COLUMNS   20u
#define SPARK_COLUMNS 20u
#define NAME_COLUMNS  18u
#define PIECE_BYTES   512u
#define ERASE_LINE    "\033[K"
#define ERASE_BELOW   "\033[J"
#define NS_PER_S      1e9

/* ---- the status ---- */

double vq_status_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

uint64_t vq_status_whole(const json_t *object, const char *key)
{
    double value = vq_status_number(object, key);
    return value > 0 ? (uint64_t)value : 0;
}

const char *vq_status_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static uint64_t settled(const json_t *tasks)
{
    return vq_status_whole(tasks, "answered") + vq_status_whole(tasks, "not_needed") +
           vq_status_whole(tasks, "failed") + vq_status_whole(tasks, "blocked");
}

/* ---- samples ---- */

static void push(struct vq_trail_line *line, double value)
{
    line->value[line->count++ % VQ_TRAIL_SAMPLES] = value;
}

static struct vq_trail_line *pool_line(struct vq_status_trail *trail, const char *name)
{
    for (uint32_t i = 0; i < trail->pools_count; i++) {
        if (strncmp(trail->pools[i].name, name, VQ_TRAIL_NAME_MAX) == 0) {
            return &trail->pools[i];
        }
    }
    if (trail->pools_count == VQ_TRAIL_POOLS) {
        return NULL;
    }
    struct vq_trail_line *line = &trail->pools[trail->pools_count++];
    (void)snprintf(line->name, sizeof(line->name), "%s", name);
    return line;
}

void vq_status_trail_add(struct vq_status_trail *trail, const json_t *status)
{
    if (json_object_get(status, "tasks") == NULL) {
        return;
    }
    double tokens = vq_status_number(status, "tokens_in") + vq_status_number(status, "tokens_out");
    double unix_ms = vq_status_number(status, "written_unix_ms");
    double passed_s = (unix_ms - trail->unix_ms_before) / 1000;
    bool same = trail->unix_ms_before > 0 && passed_s > 0 && tokens >= trail->tokens_before;
    trail->tokens_per_s = same ? (tokens - trail->tokens_before) / passed_s : 0;
    trail->tokens_before = tokens;
    trail->unix_ms_before = unix_ms;
    push(&trail->calls, vq_status_number(status, "calls_per_s"));
    if (same) {
        push(&trail->tokens, trail->tokens_per_s);
    }
    size_t i;
    json_t *pool;
    json_array_foreach(json_object_get(status, "pools"), i, pool)
    {
        struct vq_trail_line *line = pool_line(trail, vq_status_string(pool, "name"));
        if (line != NULL) {
            push(line, vq_status_number(pool, "in_flight"));
        }
    }
}

/* ---- lines ---- */

struct screen {
    struct vq_buf *out;
    const struct vq_terminal *terminal;
    uint32_t rows;    /* the rest, including the current one */
    uint32_t columns; /* the rest of the current row */
    bool begun;       /* there is a line before this one */
};

static uint32_t width(uint32_t point)
{
    int columns = wcwidth((wchar_t)point);
    return columns < 0 ? 1 : (uint32_t)columns; /* the locale does not know it */
}

/* Puts the part of the text that fits. */
static void put(struct screen *s, struct vq_span text)
{
    for (size_t pos = 0; pos < text.bytes;) {
        size_t from = pos;
        uint32_t columns = width(vq_utf8_next(text, &pos));
        if (columns > s->columns) {
            s->columns = 0;
            return;
        }
        vq_buf_append(s->out, text.at + from, pos - from);
        s->columns -= columns;
    }
}

static void say(struct screen *s, const char *fmt, ...) VQ_PRINTF(2, 3);
static void say(struct screen *s, const char *fmt, ...)
{
    char text[PIECE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    put(s, vq_span_str(text));
}

static void color(struct screen *s, enum vq_color is)
{
    vq_buf_puts(s->out, vq_color(s->terminal, is));
}

/* Puts a foreign text into at most `most` columns; padded: with spaces up to there. */
static void put_foreign(struct screen *s, const char *text, uint32_t most, bool padded)
{
    struct vq_buf plain;
    vq_buf_init(&plain, PIECE_BYTES * VQ_UTF8_BYTES_MAX);
    vq_fmt_plain(&plain, vq_utf8_cut(vq_span_str(text), PIECE_BYTES));
    uint32_t left = s->columns > most ? s->columns - most : 0;
    uint32_t before = s->columns;
    s->columns -= left;
    if (plain.status == VQ_OK && plain.bytes > 0) {
        put(s, vq_buf_span(&plain));
    }
    vq_buf_free(&plain);
    uint32_t used = before - left - s->columns;
    for (; padded && used < before - left; used++) {
        vq_buf_putc(s->out, ' ');
    }
    s->columns = before - used;
}

/* Starts a line; false: there is no room. */
static bool begin(struct screen *s)
{
    if (s->rows == 0) {
        return false;
    }
    if (s->begun) {
        vq_buf_puts(s->out, ERASE_LINE "\r\n");
    }
    s->begun = true;
    s->rows--;
    s->columns = s->terminal->columns;
    return true;
}

/* ---- bars and small charts ---- */

static void bar(struct screen *s, double part, uint32_t columns)
{
    double full = fmin(fmax(part, 0), 1) * columns;
    for (uint32_t i = 0; i < columns; i++) {
        double cell = full - i;
        const char *block = s->terminal->unicode ? cell >= 1     ? "█"
                                                   : cell >= 0.5 ? "▌"
                                                                 : "░"
                            : cell >= 0.5        ? "#"
                                                 : "-";
        put(s, vq_span_str(block));
    }
}

static void spark(struct screen *s, const struct vq_trail_line *line)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    uint32_t count = line->count < SPARK_COLUMNS ? line->count : SPARK_COLUMNS;
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = fmax(most, line->value[(line->count - 1 - i) % VQ_TRAIL_SAMPLES]);
    }
    for (uint32_t i = count; i > 0; i--) {
        double value = line->value[(line->count - i) % VQ_TRAIL_SAMPLES];
        size_t step = most > 0 ? (size_t)(value / most * (double)(VQ_COUNT(blocks) - 1) + 0.5) : 0;
        put(s, vq_span_str(s->terminal->unicode ? blocks[step] : marks[step]));
    }
}

/* ---- the parts ---- */

static enum vq_color state_color(const char *state)
{
    static const char *const good[] = {"running", "open", "finished"};
    static const char *const bad[] = {"stalled", "stopped", "parked", "closed", "unserved"};
    for (size_t i = 0; i < VQ_COUNT(good); i++) {
        if (strcmp(state, good[i]) == 0) {
            return VQ_COLOR_GREEN;
        }
    }
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        if (strcmp(state, bad[i]) == 0) {
            return VQ_COLOR_RED;
        }
    }
    return VQ_COLOR_YELLOW;
}

static void head(struct screen *s, const json_t *status, const char *run)
{
    char clock[32] = "", took[VQ_FMT_BYTES];
    time_t now = (time_t)(vq_status_number(status, "written_unix_ms") / 1000);
    struct tm tm;
    (void)localtime_r(&now, &tm);
    (void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
    double passed_ms =
        vq_status_number(status, "written_unix_ms") - vq_status_number(status, "started_unix_ms");
    if (!begin(s)) {
        return;
    }
    color(s, VQ_COLOR_BOLD);
    put_foreign(s, run, NAME_COLUMNS * 2, false);
    color(s, VQ_COLOR_RESET);
    say(s, "  ");
    color(s, state_color(vq_status_string(status, "state")));
    say(s, "%s", vq_status_string(status, "state"));
    color(s, VQ_COLOR_RESET);
    say(s, "  stage %s, since %s, now %s", vq_status_string(status, "stage"),
        vq_fmt_duration((int64_t)(passed_ms / 1000 * NS_PER_S), took), clock);
}

static void troubles(struct screen *s, const json_t *status)
{
    const char *const texts[] = {vq_status_string(status, "note"),
                                 vq_status_string(json_object_get(status, "alarm"), "text")};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        if (texts[i][0] != '\0' && begin(s)) {
            color(s, VQ_COLOR_YELLOW);
            put_foreign(s, texts[i], s->columns, false);
            color(s, VQ_COLOR_RESET);
        }
    }
}

static void progress(struct screen *s, const json_t *status)
{
    const json_t *tasks = json_object_get(status, "tasks");
    uint64_t total = vq_status_whole(status, "tasks_total"), done = settled(tasks);
    uint64_t failed = vq_status_whole(tasks, "failed") + vq_status_whole(tasks, "blocked");
    char d[VQ_FMT_BYTES], t[VQ_FMT_BYTES], f[VQ_FMT_BYTES], out[VQ_FMT_BYTES];
    double part = total == 0 ? 1 : (double)done / (double)total;
    if (!begin(s)) {
        return;
    }
    bar(s, part, BAR_COLUMNS);
    say(s, " %5.1f %%  %s of %s settled, %s at workers", 100 * part, vq_fmt_count(done, d),
        vq_fmt_count(total, t), vq_fmt_count(vq_status_whole(tasks, "leased"), out));
    if (failed > 0) {
        color(s, VQ_COLOR_RED);
        say(s, ", %s failed or blocked", vq_fmt_count(failed, f));
        color(s, VQ_COLOR_RESET);
    }
}

static void time_left(struct screen *s, const json_t *status)
{
    char left[VQ_FMT_BYTES], low[VQ_FMT_BYTES], high[VQ_FMT_BYTES];
    if (!begin(s)) {
        return;
    }
    if (!json_is_number(json_object_get(status, "eta_s"))) {
        say(s, "time left: unknown");
        return;
    }
    bool none = vq_status_number(status, "eta_s") <= 0;
    say(s, "time left: %s",
        none ? "none"
             : vq_fmt_duration((int64_t)(vq_status_number(status, "eta_s") * NS_PER_S), left));
    if (vq_status_number(status, "eta_low_s") > 0 && vq_status_number(status, "eta_high_s") > 0) {
        say(s, " (%s to %s)",
            vq_fmt_duration((int64_t)(vq_status_number(status, "eta_low_s") * NS_PER_S), low),
            vq_fmt_duration((int64_t)(vq_status_number(status, "eta_high_s") * NS_PER_S), high));
    }
}

static void rates(struct screen *s, const json_t *status, const struct vq_status_trail *trail)
{
    char tokens[VQ_FMT_BYTES];
    if (!begin(s)) {
        return;
    }
    say(s, "calls: %.1f/s ", vq_status_number(status, "calls_per_s"));
    spark(s, &trail->calls);
    say(s, "  tokens: %s/s ", vq_fmt_count((uint64_t)trail->tokens_per_s, tokens));
    spark(s, &trail->tokens);
}

static void money(struct screen *s, const json_t *status)
{
    const json_t *of = json_object_get(status, "money"), *tasks = json_object_get(status, "tasks");
    double spent = vq_status_number(of, "spent_usd"), budget = vq_status_number(of, "budget_usd");
    uint64_t done = settled(tasks), total = vq_status_whole(status, "tasks_total");
    if ((spent <= 0 && budget <= 0) || !begin(s)) {
        return;
    }
    say(s, "spent: $%.4f", spent);
    if (budget > 0) {
        say(s, " of $%.2f ", budget);
        bar(s, spent / budget, BAR_COLUMNS / 2);
    }
    if (done > 0 && done < total && spent > 0) {
        say(s, "  about $%.4f at the end of the stage", spent * (double)total / (double)done);
    }
}

static void failures(struct screen *s, const json_t *status)
{
    const char *end;
    json_t *count;
    bool any = false;
    json_object_foreach(json_object_get(status, "calls"), end, count)
    {
        bool failed = strcmp(end, "ended") != 0 && strcmp(end, "answer") != 0 &&
                      strcmp(end, "cancelled") != 0;
        if (!failed || json_integer_value(count) == 0 || (!any && !begin(s))) {
            continue;
        }
        char n[VQ_FMT_BYTES];
        say(s, "%s%s %s", any ? ", " : "calls without an answer: ",
            vq_fmt_count((uint64_t)json_integer_value(count), n), end);
        any = true;
    }
}

/* A blank line and a title; `rows` follow. */
static bool title(struct screen *s, const char *text, size_t rows)
{
    if (rows == 0 || s->rows < 3 || !begin(s) || !begin(s)) {
        return false;
    }
    color(s, VQ_COLOR_DIM);
    say(s, "%s", text);
    color(s, VQ_COLOR_RESET);
    return true;
}

/* The number of rows to show; the last line counts the others. */
static size_t room(const struct screen *s, size_t rows)
{
    return rows <= s->rows ? rows : s->rows > 0 ? s->rows - 1 : 0;
}

static void others(struct screen *s, size_t rows, size_t shown)
{
    if (shown < rows && begin(s)) {
        say(s, "  and %zu more", rows - shown);
    }
}

static void pool_row(struct screen *s, const json_t *pool, const struct vq_status_trail *trail)
{
    const json_t *calls = json_object_get(json_object_get(pool, "limits"), "concurrency");
    double limit = vq_status_number(calls, "limit"), used = vq_status_number(pool, "in_flight");
    say(s, "  ");
    put_foreign(s, vq_status_string(pool, "name"), NAME_COLUMNS, true);
    say(s, " ");
    color(s, state_color(vq_status_string(pool, "state")));
    say(s, "%-8s ", vq_status_string(pool, "state"));
    color(s, VQ_COLOR_RESET);
    bar(s, limit > 0 ? used / limit : 0, BAR_COLUMNS / 2);
    if (limit > 0) {
        say(s, " %3.0f of %3.0f in flight ", used, limit);
    } else {
        say(s, " %3.0f in flight        ", used);
    }
    for (uint32_t i = 0; i < trail->pools_count; i++) {
        if (strncmp(trail->pools[i].name, vq_status_string(pool, "name"), VQ_TRAIL_NAME_MAX) == 0) {
            spark(s, &trail->pools[i]);
        }
    }
    say(s, " ");
    const char *why = vq_status_string(pool, "text");
    put_foreign(s,
                why[0] != '\0' ? why : vq_status_string(json_object_get(pool, "limited"), "text"),
                s->columns, false);
}

static void worker_row(struct screen *s, const json_t *worker)
{
    char held[VQ_FMT_BYTES], results[VQ_FMT_BYTES];
    say(s, "  ");
    put_foreign(s, vq_status_string(worker, "name"), NAME_COLUMNS, true);
    say(s, " ");
    put_foreign(s, vq_status_string(worker, "host"), NAME_COLUMNS, true);
    say(s, " holds %s, %3llu in flight, %s results, heard %.0f s ago%s",
        vq_fmt_count(vq_status_whole(worker, "tasks_held"), held),
        (unsigned long long)vq_status_whole(worker, "calls_out"),
        vq_fmt_count(vq_status_whole(worker, "results"), results),
        vq_status_number(worker, "heard_ms_ago") / 1000,
        json_is_true(json_object_get(worker, "draining")) ? ", draining" : "");
}

static void judge_row(struct screen *s, const json_t *judge)
{
    const json_t *tasks = json_object_get(judge, "tasks");
    uint64_t done = settled(tasks),
             open = vq_status_whole(tasks, "open") + vq_status_whole(tasks, "leased");
    char d[VQ_FMT_BYTES], o[VQ_FMT_BYTES];
    say(s, "  ");
    put_foreign(s, vq_status_string(judge, "name"), NAME_COLUMNS, true);
    say(s, " ");
    bar(s, done + open == 0 ? 1 : (double)done / (double)(done + open), BAR_COLUMNS / 2);
    say(s, " %s settled, %s open", vq_fmt_count(done, d), vq_fmt_count(open, o));
    if (vq_status_string(judge, "closed")[0] != '\0') {
        color(s, VQ_COLOR_RED);
        say(s, " closed: ");
        put_foreign(s, vq_status_string(judge, "closed"), s->columns, false);
        color(s, VQ_COLOR_RESET);
    }
}

static void table(struct screen *s, const json_t *rows, const char *name,
                  const struct vq_status_trail *trail)
{
    size_t count = json_array_size(rows);
    if (!title(s, name, count)) {
        return;
    }
    size_t shown = room(s, count);
    for (size_t i = 0; i < shown && begin(s); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(name, "pools") == 0) {
            pool_row(s, row, trail);
        } else if (strcmp(name, "workers") == 0) {
            worker_row(s, row);
        } else {
            judge_row(s, row);
        }
    }
    others(s, count, shown);
}

void vq_status_screen(const json_t *status, const char *run, const struct vq_status_trail *trail,
                      const struct vq_terminal *terminal, uint32_t rows, struct vq_buf *out)
{
    struct screen s = {.out = out, .terminal = terminal, .rows = rows};
    head(&s, status, run);
    troubles(&s, status);
    if (json_object_get(status, "tasks") != NULL) {
        progress(&s, status);
        time_left(&s, status);
        rates(&s, status, trail);
        money(&s, status);
        failures(&s, status);
        table(&s, json_object_get(status, "pools"), "pools", trail);
        table(&s, json_object_get(status, "judges"), "judges", trail);
        table(&s, json_object_get(status, "workers"), "workers", trail);
    }
    vq_buf_puts(out, ERASE_LINE ERASE_BELOW);
}
