/* The screen of a status: it fits the terminal, wide characters too, and texts of others cannot
 * move the cursor. */
#include "tests/unit/test.h"

#include "cli/status_screen.h"

#include "common/text/utf8.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static const char status_text[] =
    "{\"state\": \"running\", \"note\": \"\", \"stage\": \"rank\", \"started_unix_ms\": 1000,"
    " \"written_unix_ms\": 61000, \"tasks_total\": 100, \"eta_s\": 30, \"calls_per_s\": 2.5,"
    " \"tokens_in\": 10, \"tokens_out\": 5, \"calls\": {\"ended\": 9, \"answer\": 7, \"rate\": 2},"
    " \"tasks\": {\"open\": 40, \"leased\": 10, \"answered\": 45, \"not_needed\": 0, \"failed\": 5,"
    " \"blocked\": 0}, \"money\": {\"spent_usd\": 1, \"budget_usd\": 4},"
    " \"pools\": [{\"name\": \"工作者工作者工作者工作者\", \"state\": \"open\", \"in_flight\": 3,"
    " \"text\": \"bad\\u001b[2J\\u202e\", \"limits\": {\"concurrency\": {\"limit\": 4}}}],"
    " \"judges\": [], \"workers\": [{\"name\": \"w\\u001b]0;x\\u0007\", \"host\": \"h\"},"
    " {\"name\": \"2\", \"host\": \"h\"}, {\"name\": \"3\", \"host\": \"h\"}]}";

/* The lines of the screen, without colours; the widest. */
static uint32_t draw(uint32_t columns, uint32_t rows, bool unicode, struct vq_buf *out,
                     uint32_t *ret_lines)
{
    struct vq_terminal terminal = {.is_tty = true, .unicode = unicode, .columns = columns};
    struct vq_status_trail trail = {.pools_count = 0};
    json_t *status = json_loads(status_text, 0, NULL);
    assert_non_null(status);
    for (uint32_t i = 0; i < 3 * VQ_TRAIL_SAMPLES; i++) {
        vq_status_trail_add(&trail, status);
    }
    vq_buf_init(out, 1u << 20);
    vq_status_screen(status, "r", &trail, &terminal, rows, out);
    json_decref(status);
    assert_int_equal(out->status, VQ_OK);
    uint32_t widest = 0, width = 0;
    *ret_lines = 1;
    for (size_t pos = 0; pos < out->bytes;) {
        if (strncmp(out->at + pos, "\033[K", 3) == 0 || strncmp(out->at + pos, "\033[J", 3) == 0) {
            pos += 3;
            continue;
        }
        uint32_t point = vq_utf8_next(vq_buf_span(out), &pos);
        assert_int_not_equal(point, 0x1b); /* no other sequence: there are no colours */
        if (point == '\n') {
            (*ret_lines)++;
            width = 0;
        } else if (point != '\r') {
            width += (uint32_t)wcwidth((wchar_t)point);
        }
        widest = width > widest ? width : widest;
    }
    return widest;
}

TEST(it_fits_every_terminal)
{
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (uint32_t columns = 1; columns < 160; columns += 7) {
        for (uint32_t rows = 1; rows < 40; rows += 3) {
            struct vq_buf out;
            uint32_t lines;
            assert_true(draw(columns, rows, rows % 2 == 0, &out, &lines) <= columns);
            assert_true(lines <= rows);
            vq_buf_free(&out);
        }
    }
}

TEST(it_says_what_matters)
{
    static const char *const words[] = {
        "running",           "50.0 %",   "50 of 100 settled",  "5 failed or blocked", "2 rate",
        "time left: 30.0 s", "of $4.00", "3 of   4 in flight", "about $2.0000",       "bad"};
    struct vq_buf out;
    uint32_t lines;
    (void)draw(150, 40, false, &out, &lines);
    vq_buf_putc(&out, '\0');
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        if (strstr(out.at, words[i]) == NULL) {
            fail_msg("no %s in %s", words[i], out.at);
        }
    }
    vq_buf_free(&out);
}

/* The last line counts the rows that have no room. */
TEST(a_low_screen)
{
    struct vq_buf out;
    uint32_t lines;
    (void)draw(100, 13, false, &out, &lines);
    vq_buf_putc(&out, '\0');
    assert_int_equal(lines, 13);
    assert_non_null(strstr(out.at, "and 2 more"));
    vq_buf_free(&out);
}
