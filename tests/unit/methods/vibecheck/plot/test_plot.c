/* The three panels: a row for each vibe, a missing value is no bar, everything inside the drawing;
 * both forms of the file. */
#include "tests/unit/test.h"

#include "methods/vibecheck/plot/plot.h"

#include <stdio.h>

static const char header[] = "name,kept,sep_train,sep_test,sep_test_lo,sep_test_hi,kappa_train,"
                             "kappa_test,pp_coefficient,pp_lo,pp_hi\n";

static struct vq_plot draw(const char *rows, bool offline)
{
    char csv[2000];
    struct vq_table *t = NULL;
    struct vq_error err;
    struct vq_plot plot;
    struct vq_plot_words words = {"alpha", "b<eta", offline};
    (void)snprintf(csv, sizeof(csv), "%s%s", header, rows);
    assert_int_equal(vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "v", &t, &err), VQ_OK);
    assert_int_equal(vq_plot_draw(t, &words, &plot), VQ_OK);
    vq_table_destroy(&t);
    return plot;
}

static size_t count(const struct vq_plot *plot, int kind, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < plot->count; i++) {
        n += (int)plot->shapes[i].kind == kind &&
             (text == NULL || strstr(plot->shapes[i].text, text) != NULL);
    }
    return n;
}

TEST(test_bars)
{
    struct vq_plot plot = draw("Warm,1,0.5,0.4,0.2,0.6,0.7,0.8,1.5,,\n"
                               "Terse,1,-0.5,-0.3,,,0.7,,,,\n"
                               "Lost,0,0.1,0.1,,,0.1,0.1,,,\n",
                               false);
    assert_int_equal(count(&plot, VQ_PLOT_RECT, NULL), 4); /* not those of Terse that are missing */
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "n/a"), 2);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "Warm"), 1);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "Lost"), 0);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "Test rows"), 1);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "offline"), 0);
    for (size_t i = 0; i < plot.count; i++) {
        const struct vq_plot_shape *s = &plot.shapes[i];
        assert_true(s->x >= 0 && s->y >= 0 && s->x <= plot.width && s->y <= plot.height);
        assert_true(s->kind == VQ_PLOT_TEXT || (s->x + s->w <= plot.width && s->w >= 0));
    }
    vq_plot_free(&plot);
}

TEST(test_notes)
{
    struct vq_plot plot = draw("Lost,0,0.1,,,,0.1,,,,\n", true);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "In-sample numbers"), 1);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "No vibe was kept; all are shown"), 1);
    assert_int_equal(count(&plot, VQ_PLOT_TEXT, "offline judge"), 1);
    assert_int_equal(count(&plot, VQ_PLOT_RECT, NULL), 2);
    vq_plot_free(&plot);
}

TEST(test_both_files)
{
    struct vq_plot plot = draw("\"W & <w>\",1,0.5,0.4,0.2,0.6,0.7,0.8,1.5,-1,2\n", false);
    struct vq_buf svg, png;
    vq_buf_init(&svg, VQ_PLOT_BYTES_MAX);
    vq_buf_init(&png, VQ_PLOT_BYTES_MAX);
    vq_plot_svg(&plot, &svg);
    assert_int_equal(svg.status, VQ_OK);
    assert_non_null(strstr(svg.at, ">W &amp; &lt;w&gt;</text>"));
    assert_non_null(strstr(
        svg.at, "Separability, PP coefficient and kappa of 1 vibes: alpha and b&lt;eta</title>"));
    assert_int_equal(vq_plot_png(&plot, &png), VQ_OK);
    assert_memory_equal(png.at, "\x89PNG\r\n\x1a\n", 8);
    vq_buf_free(&png);
    vq_buf_init(&png, 20);
    assert_int_equal(vq_plot_png(&plot, &png), VQ_LIMIT);
    vq_buf_free(&svg);
    vq_buf_free(&png);
    vq_plot_free(&plot);
}
