/* The words of `vibeq ctl`: what is read as which command, what is refused and why, and that
 * docs/use/ctl.md lists the table. */
#include "coordinator/run/ctl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/text/file.h"
#include "tests/unit/page.h"

#include <string.h>

static enum vq_status parse(const char *const *words, struct vq_ctl_asked *ret_asked,
                            struct vq_error *err)
{
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    *err = (struct vq_error){0};
    return vq_ctl_parse(words, count, ret_asked, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *const *words, const char *why)
{
    struct vq_ctl_asked asked;
    struct vq_error err;
    assert_int_equal(parse(words, &asked, &err), VQ_INVALID);
    if (strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    }
}

static void every_row_is_read_and_explained(void **state)
{
    (void)state;
    for (const struct vq_ctl_command *c = vq_ctl_commands; c->name != NULL; c++) {
        assert_non_null(c->help);
        assert_non_null(c->carry_out);
        assert_non_null(c->otherwise);
        struct vq_ctl_asked asked;
        struct vq_error err;
        bool words = false;
        for (size_t i = 0; i < VQ_CTL_ARGS_MAX && c->args[i].name != NULL; i++) {
            assert_non_null(c->args[i].help);
            words |= c->args[i].value == NULL;
        }
        if (!words) {
            assert_int_equal(parse(WORDS(c->name), &asked, &err), VQ_OK);
            assert_ptr_equal(asked.command, c);
            assert_null(asked.values[0]);
        }
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    refused((const char *const[]){NULL}, "use one of pause, resume");
    refused(WORDS("puase"), "'puase' is no command; use one of pause");
    refused(WORDS(""), "is no command");
    refused(WORDS("pause", "now"), "does not take 'now'");
    refused(WORDS("pause", "--class", "x"), "does not take '--class'");
    refused(WORDS("pause", "--"), "does not take '--'");
    const char *many[VQ_CTL_WORDS_MAX + 2] = {"pause"};
    for (size_t i = 1; i <= VQ_CTL_WORDS_MAX; i++) {
        many[i] = "x";
    }
    refused(many, "at most");
}

static void the_page_lists_the_table(void **state)
{
    (void)state;
    struct vq_buf page, row, item;
    struct vq_error err;
    assert_int_equal(vq_file_read(VQ_SOURCE_DIR "/docs/use/ctl.md", 1u << 20, &page, &err), VQ_OK);
    vq_buf_init(&row, 4096);
    vq_buf_init(&item, 4096);
    for (const struct vq_ctl_command *c = vq_ctl_commands; c->name != NULL; c++) {
        vq_buf_clear(&row);
        vq_buf_clear(&item);
        vq_buf_puts(&row, "**`");
        vq_ctl_usage(c, &row);
        vq_buf_printf(&row, "`**: %s", c->help);
        assert_int_equal(row.status, VQ_OK);
        page_item(&item, row.at);
        assert_int_equal(item.status, VQ_OK);
        if (strstr(page.at, item.at) == NULL) {
            fail_msg("docs/use/ctl.md has no item %s", item.at);
        }
    }
    vq_buf_free(&item);
    vq_buf_free(&page);
    vq_buf_free(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_read_and_explained),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_page_lists_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
