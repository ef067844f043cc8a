/* The table of keys: defaults obey their own bounds, and docs/use/config.md says what
 * the table says. VQ_PRINT_KEYS=1 prints the reference for the page instead. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/schema.h"
#include "common/text/file.h"
#include "tests/unit/page.h"

#include <stdio.h>
#include <stdlib.h>

#define BEGIN_MARK "<!-- keys: from common/conf/config_keys.def -->\n"
#define END_MARK   "<!-- end of keys -->\n"

static void defaults_are_in_range(const struct vq_key *keys)
{
    for (; keys->key != NULL; keys++) {
        const char *text = keys->by_default;
        if (keys->keys != NULL) {
            defaults_are_in_range(keys->keys);
        }
        assert_non_null(keys->kind == VQ_KEY_KIND_SECTION ? "" : keys->meaning);
        if (text == NULL) {
            continue;
        }
        double value = strtod(text, NULL);
        switch (keys->kind) {
        case VQ_KEY_KIND_UINT:
            assert_true(value >= (double)keys->uint_min && value <= (double)keys->int_max);
            assert_true(keys->bytes == sizeof(uint64_t) || keys->int_max <= UINT32_MAX);
            break;
        case VQ_KEY_KIND_INT: assert_true(value >= (double)keys->int_min); break;
        case VQ_KEY_KIND_REAL:
            assert_true(value >= keys->real_min && value <= keys->real_max);
            break;
        case VQ_KEY_KIND_BOOL:
            assert_true(strcmp(text, "true") == 0 || strcmp(text, "false") == 0);
            break;
        case VQ_KEY_KIND_TEXT:
        case VQ_KEY_KIND_ENUM: assert_non_null(strstr(keys->choices, text)); break;
        case VQ_KEY_KIND_SECTION:
        case VQ_KEY_KIND_SECTIONS:
        case VQ_KEY_KIND_TEXTS: fail();
        }
    }
}

TEST(test_defaults_are_in_range)
{
    defaults_are_in_range(vq_conf_keys());
}

static void describe_value(struct vq_buf *out, const struct vq_key *key)
{
    if (key->choices != NULL) {
        for (const char *at = key->choices; *at != '\0';) {
            size_t n = strcspn(at, "|");
            vq_buf_printf(out, "%s`%.*s`", at == key->choices ? "" : ", ", (int)n, at);
            at += n + (at[n] == '|');
        }
        return;
    }
    switch (key->kind) {
    case VQ_KEY_KIND_UINT:
        vq_buf_printf(out,
                      key->int_max == UINT64_MAX || key->int_max == UINT32_MAX ? "whole, from %llu"
                                                                               : "%llu to ",
                      (unsigned long long)key->uint_min);
        if (key->int_max != UINT64_MAX && key->int_max != UINT32_MAX) {
            vq_buf_printf(out, "%llu", (unsigned long long)key->int_max);
        }
        break;
    case VQ_KEY_KIND_INT: vq_buf_printf(out, "whole, from %lld", (long long)key->int_min); break;
    case VQ_KEY_KIND_REAL: vq_buf_printf(out, "%g to %g", key->real_min, key->real_max); break;
    case VQ_KEY_KIND_BOOL: vq_buf_puts(out, "on, off"); break;
    case VQ_KEY_KIND_TEXTS: vq_buf_printf(out, "list of %u texts", key->items_max); break;
    case VQ_KEY_KIND_SECTIONS: vq_buf_printf(out, "list, at most %u", key->items_max); break;
    case VQ_KEY_KIND_TEXT:
    case VQ_KEY_KIND_ENUM: vq_buf_puts(out, "text"); break;
    case VQ_KEY_KIND_SECTION:
        vq_buf_printf(out, "map, or a %s",
                      key->keys[0].key == NULL                   ? "model"
                      : strcmp(key->keys[0].key, "design") == 0  ? "design"
                      : strcmp(key->keys[0].key, "first") == 0   ? "judge's name"
                      : strcmp(key->keys[0].key, "enabled") == 0 ? "switch (on, off)"
                                                                 : "model");
        break;
    }
}

/* The keys of a judge are described once, though other models are written with the same. */
static bool was_described(const struct vq_key *section)
{
    for (const struct vq_key *key = vq_conf_keys(); key != section; key++) {
        if (key->keys == section->keys) {
            return true;
        }
    }
    return false;
}

static void describe_rows(struct vq_buf *out, const struct vq_key *keys, const char *prefix)
{
    bool judge_too = strcmp(prefix, "subjects[i].") == 0; /* a judge's keys stand there already */
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        if (judge_too && strcmp(key->key, "model") == 0) {
            vq_buf_puts(out, "\nAnd the keys of a judge.\n");
            break;
        }
        if (key->kind == VQ_KEY_KIND_SECTION && !key->optional) {
            continue;
        }
        bool is_bool = key->kind == VQ_KEY_KIND_BOOL && key->by_default != NULL;
        const char *given =
            is_bool ? (strcmp(key->by_default, "true") == 0 ? "on" : "off") : key->by_default;
        struct vq_buf item;
        vq_buf_init(&item, 1u << 14);
        vq_buf_printf(&item, "**`%s%s`** (", prefix, key->key);
        describe_value(&item, key);
        if (given != NULL) {
            vq_buf_printf(&item, "; default `%s`", given);
        }
        vq_buf_printf(&item, "): %s", key->meaning);
        assert_int_equal(item.status, VQ_OK);
        page_item(out, item.at);
        vq_buf_free(&item);
    }
    vq_buf_putc(out, '\n');
}

/* The sections of `keys`, and what they hold in turn; `above`: "pools[i]." */
static void describe_sections(struct vq_buf *out, const struct vq_key *keys, const char *above)
{
    for (const struct vq_key *key = keys; key->key != NULL; key++) {
        if (key->keys == NULL || (above[0] == '\0' && was_described(key))) {
            continue;
        }
        char prefix[64];
        bool list = key->kind == VQ_KEY_KIND_SECTIONS;
        (void)snprintf(prefix, sizeof(prefix), "%s%s%s.", above, key->key, list ? "[i]" : "");
        vq_buf_printf(out, "## %s%s\n\n", above, key->key);
        describe_rows(out, key->keys, prefix);
        describe_sections(out, key->keys, prefix);
    }
}

static void describe_all(struct vq_buf *out)
{
    vq_buf_puts(out, "## Top level\n\n");
    describe_rows(out, vq_conf_keys(), "");
    describe_sections(out, vq_conf_keys(), "");
}

TEST(test_the_page_says_what_the_table_says)
{
    struct vq_buf expected, page;
    struct vq_error err;
    vq_buf_init(&expected, 1u << 20);
    describe_all(&expected);
    assert_int_equal(expected.status, VQ_OK);
    if (getenv("VQ_PRINT_KEYS") != NULL) {
        (void)fputs(expected.at, stdout);
        vq_buf_free(&expected);
        skip();
    }
    if (vq_file_read(VQ_SOURCE_DIR "/docs/use/config.md", 1u << 20, &page, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    char *begin = strstr(page.at, BEGIN_MARK);
    char *end = strstr(page.at, END_MARK);
    assert_true(begin != NULL && end != NULL && begin < end);
    begin += strlen(BEGIN_MARK) + 1; /* an empty line */
    *end = '\0';
    assert_string_equal(begin, expected.at);
    vq_buf_free(&expected);
    vq_buf_free(&page);
}
