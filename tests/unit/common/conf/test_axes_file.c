/* Lists of axes as files: what is read, what is refused and where, and that what is written is read
 * back. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/axes_file.h"
#include "common/conf/config.h"

#include <stdio.h>

static struct vq_axes_file read_list(const char *text)
{
    struct vq_axes_file file;
    struct vq_error err = {0};
    enum vq_status status = vq_axes_file_parse(vq_span_str(text), "list.yaml", &file, &err);
    if (status != VQ_OK) {
        fail_msg("%s: %s", vq_status_name(status), err.text);
    }
    return file;
}

static void check(const struct vq_axis *axis, const char *name, const char *low, const char *high)
{
    assert_string_equal(axis->name, name);
    assert_string_equal(axis->low, low);
    assert_string_equal(axis->high, high);
}

TEST(every_form_is_read)
{
    static const char *const forms[] = {
        "- name: Warmth\n  low: cold\n  high: warm\n- {name: Length, low: short, high: long}\n",
        "vibes:\n  - name: Warmth\n    low: cold\n    high: warm\n  - \"Length: High: long Low: "
        "short\"\n",
        "[{\"name\": \"Warmth\", \"low\": \"cold\", \"high\": \"warm\"}, {\"high\": \"long\", "
        "\"low\": "
        "\"short\", \"name\": \"Length\"}]",
        "{\"vibes\": [\"Warmth: Low: cold High: warm\", {\"name\": \"Length\", \"low\": \"short\", "
        "\"high\": \"long\"}]}"};
    for (size_t i = 0; i < VQ_COUNT(forms); i++) {
        struct vq_axes_file file = read_list(forms[i]);
        assert_int_equal(file.count, 2);
        check(&file.axes[0], "Warmth", "cold", "warm");
        check(&file.axes[1], "Length", "short", "long");
        vq_axes_file_free(&file);
        assert_int_equal(file.count, 0);
    }
    struct vq_axes_file file = read_list("- {name: Humour, property: makes jokes}");
    check(&file.axes[0], "Humour", VQ_PROPERTY_LOW, "makes jokes");
    vq_axes_file_free(&file);
}

TEST(what_is_wrong_is_said_with_its_place)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "expected a list of axes"},
        {"[]", "the list of axes is empty"},
        {"vibes: []", "the list of axes is empty"},
        {"vibes: {name: a}", "expected a list of axes"},
        {"vibes: [{name: a, low: b, high: c}]\nseed: 3", "expected a list of axes"},
        {"- name: a\n  low: b\n  high: c\n- name: d\n  low: e\n",
         "list.yaml, line 4, column 3, vibes[1]: "
         "an axis needs both low and high"},
        {"- {low: b, high: c}", "needs a name"},
        {"- {name: \"a\\nb\", low: b, high: c}", "needs a name of one line"},
        {"- {name: a, low: b, high: c, middle: d}", "a name, a low and a high only"},
        {"- {name: a, low: \"\", high: c}", "needs both low and high"},
        {"- {name: a, low: [b], high: c}", "needs both low and high"},
        {"- [a, b]", "an axis is a map"},
        {"- just a text", "High: ... Low: ..."},
        {"- {name: a, low: b", "list.yaml"},
    };
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_axes_file file = {.count = 77};
        struct vq_error err = {0};
        assert_int_equal(vq_axes_file_parse(vq_span_str(bad[i].text), "list.yaml", &file, &err),
                         VQ_INVALID);
        if (strstr(err.text, bad[i].says) == NULL) {
            fail_msg("%zu: %s", i, err.text);
        }
        assert_int_equal(file.count, 77);
    }
}

TEST(what_is_written_is_read_back)
{
    struct vq_axis axes[] = {
        {(char *)"yes", (char *)"~", (char *)"3"},
        {(char *)"Quotes: \"and\" 'more' #hash", (char *)"- dash\nand a line",
         (char *)"back\\slash"},
        {(char *)"\xC3\xA9t\xC3\xA9", (char *)" blank ", (char *)"{brace: [and bracket]}"}};
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    assert_int_equal(vq_axes_file_write(axes, 3, &out), VQ_OK);
    assert_memory_equal(out.at, "vibes:\n", 7);
    struct vq_axes_file file = read_list(out.at);
    assert_int_equal(file.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        check(&file.axes[i], axes[i].name, axes[i].low, axes[i].high);
    }
    vq_axes_file_free(&file);
    vq_buf_free(&out);
}

TEST(memory_may_run_out_anywhere)
{
    const char *text = "- {name: a, low: b, high: c}\n- \"d: High: e Low: f\"\n";
    bool done = false;
    for (uint64_t at = 1; !done; at++) {
        struct vq_axes_file file;
        vq_alloc_fail_at(at);
        enum vq_status status = vq_axes_file_parse(vq_span_str(text), "list.yaml", &file, NULL);
        done = status == VQ_OK;
        if (done) {
            vq_axes_file_free(&file);
        } else {
            assert_int_equal(status, VQ_NOMEM);
        }
        vq_alloc_fail_at(0);
        assert_true(at < 10000);
    }
}
