/* Paths of requests: what names a run, and what leads elsewhere. */
#include "tests/unit/test.h"

#include "cli/ui/path.h"

#define API "/api/v1/runs/"

static void is(const char *path, const char *name, const char *rest)
{
    struct vq_ui_path got;
    assert_true(vq_ui_path_parse(API, path, &got));
    assert_string_equal(got.name, name);
    assert_string_equal(got.rest, rest);
}

TEST(a_name_and_what_of_it)
{
    is(API "night", "night", "");
    is(API "night/", "night", "");
    is(API "night.2-b_c/status", "night.2-b_c", "status");
    is(API "a/dead-letters", "a", "dead-letters");
    is(API "a/pools/2", "a", "pools/2");
}

TEST(what_leads_elsewhere_is_refused)
{
    static const char *const wrong[] = {
        "",
        "/",
        "/api/v1/run/night",
        API,
        API ".",
        API "..",
        API "../night",
        API ".ui/status",
        API "/night",
        API "calls.lmdb",
        API "pools",
        API "night/..",
        API "night/../status",
        API "night//status",
        API "night/status/",
        API "night/Status",
        API "night/st%61tus",
        API "n\xc3\xa4ght",
        API "night\n",
        API "ni ght/status",
        API "night/a\\b",
        API "-night",
    };
    struct vq_ui_path got = {.name = "before"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        assert_false(vq_ui_path_parse(API, wrong[i], &got));
        assert_string_equal(got.name, "before");
    }
}

TEST(lengths)
{
    char path[512] = API;
    struct vq_ui_path got;
    size_t skipped = strlen(API);
    memset(path + skipped, 'x', VQ_RUN_NAME_BYTES_MAX);
    path[skipped + VQ_RUN_NAME_BYTES_MAX] = '\0';
    assert_true(vq_ui_path_parse(API, path, &got));
    path[skipped + VQ_RUN_NAME_BYTES_MAX] = 'x';
    path[skipped + VQ_RUN_NAME_BYTES_MAX + 1] = '\0';
    assert_false(vq_ui_path_parse(API, path, &got));
    path[skipped + 1] = '/';
    memset(path + skipped + 2, 'x', VQ_UI_REST_BYTES_MAX);
    path[skipped + 2 + VQ_UI_REST_BYTES_MAX] = '\0';
    assert_true(vq_ui_path_parse(API, path, &got));
    path[skipped + 2 + VQ_UI_REST_BYTES_MAX] = 'x';
    path[skipped + 3 + VQ_UI_REST_BYTES_MAX] = '\0';
    assert_false(vq_ui_path_parse(API, path, &got));
}
