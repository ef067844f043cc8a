/* A configuration, a list of axes and overrides, read and written with every allocation failing in
 * turn: ours and libyaml's. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/axes_file.h"
#include "common/conf/config.h"
#include "tests/unit/heap.h"

static const char yaml[] = "name: try\n"
                           "data: {path: data.csv, group: topic}\n"
                           "models: [alpha, beta]\n"
                           "method: vibes\n"
                           "vibes:\n"
                           "  - {name: Formality, low: casual, high: formal}\n"
                           "  - {name: Warmth, property: shows warmth}\n"
                           "  - \"Length: High: long Low: short\"\n"
                           "pools:\n"
                           "  - name: account\n"
                           "    base_url: https://api.example.com/v1\n"
                           "    keys: [env:ONE, file:two.key]\n"
                           "    models: [{model: m1, requests_per_minute: 100}]\n"
                           "judges:\n"
                           "  - {model: m1, name: first}\n"
                           "  - {model: offline-lexical}\n"
                           "judging: {tries_max: 3}\n"
                           "vibecheck: {preset: none}\n";

struct config_source {
    const char *text;
    const char *override;
    enum vq_status status;
    bool written;
};

static enum vq_status read_config(void *ctx)
{
    const struct config_source *source = ctx;
    struct vq_config *config = NULL;
    struct vq_error err = {.text = ""};
    enum vq_status status =
        vq_config_parse(source->text, strlen(source->text), "run.yaml", "/base", &source->override,
                        source->override == NULL ? 0 : 1, &config, &err);
    assert_true((status == VQ_OK) == (config != NULL));
    if (status != source->status && status != VQ_NOMEM) {
        fail_msg("%s", err.text);
    }
    if (status == VQ_OK && source->written) {
        char *text = NULL;
        size_t bytes = 0;
        status = vq_config_write(config, &text, &bytes);
        assert_true((status == VQ_OK) == (text != NULL));
        vq_free(text);
    }
    vq_config_destroy(&config);
    assert_null(config);
    return status == source->status ? VQ_OK : status;
}

TEST(a_configuration)
{
    static const struct config_source sources[] = {
        {yaml, NULL, VQ_OK, true},
        {yaml, "judges[2].model=m3", VQ_INVALID, false}, /* no pool has it */
        {yaml, "vibes[0]={name: Depth, low: shallow, high: deep}", VQ_OK, false},
        {yaml, "no.such.key=1", VQ_INVALID, false},
        {"data: {path: [}", NULL, VQ_INVALID, false},
        {"judges: nope\nmodels: 3\n", NULL, VQ_INVALID, false},
    };
    for (size_t i = 0; i < VQ_COUNT(sources); i++) {
        struct config_source source = sources[i];
        assert_true(heap_torture(source.override == NULL ? "plain" : source.override, read_config,
                                 &source, source.status != VQ_OK) > 5); /* a hint may be missing */
    }
}

static enum vq_status read_axes(void *ctx)
{
    struct vq_axes_file file = {.count = 0};
    struct vq_error err = {.text = ""};
    enum vq_status status = vq_axes_file_parse(vq_span_str(ctx), "axes.yaml", &file, &err);
    if (status != VQ_OK) {
        assert_true(file.axes == NULL && file.count == 0);
        return status;
    }
    assert_int_equal(file.count, 2);
    struct vq_buf out;
    vq_buf_init(&out, 4096);
    status = vq_axes_file_write(file.axes, file.count, &out);
    assert_true(status == VQ_OK || out.bytes == 0);
    vq_buf_free(&out);
    vq_axes_file_free(&file);
    return status;
}

TEST(a_list_of_axes)
{
    static char *const lists[] = {
        "vibes:\n  - {name: A, low: b, high: c}\n  - \"D: High: e Low: f\"\n",
        "[{\"name\": \"A\", \"low\": \"b\", \"high\": \"c\"}, {\"name\": \"D\", \"property\": "
        "\"e\"}]",
    };
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        assert_true(heap_torture(lists[i], read_axes, lists[i], false) > 20);
    }
}
