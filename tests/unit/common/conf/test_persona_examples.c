/* The examples of the persona evaluation are read by the readers of users' files, and hold what
 * their page says. */

#include "tests/unit/test.h"

#include "common/conf/items_file.h"
#include "common/conf/queries_file.h"

#include <stdio.h>
#include <string.h>

static char text_bytes[1 << 16];

static struct vq_span text_of(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/examples/%s", VQ_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(text_bytes, 1, sizeof(text_bytes), file);
    (void)fclose(file);
    assert_in_range(bytes, 1, sizeof(text_bytes) - 1);
    return vq_span(text_bytes, bytes);
}

TEST(test_personas)
{
    struct vq_personas_file file;
    struct vq_error err = {""};
    if (vq_personas_file_parse(text_of("personas.yaml"), "personas.yaml", &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(file.count, 3);
    assert_false(file.baseline);
    for (uint32_t i = 0; i < file.count; i++) {
        assert_true(file.personas[i].labelled);
        assert_in_range(strlen(file.personas[i].description), 300, 900);
        assert_null(strchr(file.personas[i].description, '\n'));
    }
    vq_personas_file_free(&file);
}

static void read_queries(const char *name, uint32_t count, bool remarks)
{
    struct vq_queries_file file;
    struct vq_error err = {""};
    if (vq_queries_file_parse(text_of(name), name, &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(file.count, count);
    if (remarks) {
        assert_non_null(strstr(file.opening, VQ_ROLE_MARK));
        assert_non_null(strstr(file.closing, VQ_ROLE_MARK));
    } else {
        assert_null(file.opening);
        assert_null(file.closing);
    }
    vq_queries_file_free(&file);
}

TEST(test_queries_make_twelve_rounds)
{
    read_queries("queries-interview.yaml", 10, true);
    read_queries("queries-goals.txt", 12, false);
}

static struct vq_items_file items_of(const char *name, uint32_t count)
{
    static const struct vq_items_columns usual = {.text = NULL};
    struct vq_items_file file;
    struct vq_error err = {""};
    if (vq_items_file_parse(text_of(name), name, &usual, &file, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(file.count, count);
    return file;
}

TEST(test_items)
{
    unsigned traits[VQ_BIG_FIVE + 1] = {0};
    unsigned labels[VQ_ITEM_UNSAFE + 1] = {0};
    struct vq_items_file file = items_of("probe-bigfive.csv", 10);
    for (uint32_t i = 0; i < file.count; i++) {
        traits[file.items[i].trait]++;
    }
    for (uint32_t t = 0; t < VQ_BIG_FIVE; t++) {
        assert_int_equal(traits[t], 2);
    }
    vq_items_file_free(&file);
    file = items_of("probe-safety.csv", 12);
    for (uint32_t i = 0; i < file.count; i++) {
        labels[file.items[i].label]++;
    }
    assert_int_equal(labels[VQ_ITEM_SAFE], 6);
    assert_int_equal(labels[VQ_ITEM_UNSAFE], 6);
    vq_items_file_free(&file);
    static const char *const pairwise[] = {"probe-role.csv", "probe-general.csv"};
    for (size_t f = 0; f < VQ_COUNT(pairwise); f++) {
        file = items_of(pairwise[f], 6);
        for (uint32_t i = 0; i < file.count; i++) {
            assert_non_null(file.items[i].persona);
            assert_non_null(file.items[i].reference);
        }
        vq_items_file_free(&file);
    }
}
