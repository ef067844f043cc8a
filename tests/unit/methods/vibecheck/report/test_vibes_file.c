/* Which cells of a vibes.csv tables and pictures show: Firth's estimate of a degenerate fit, texts
 * as they were, NaN for what is missing. */
#include "tests/unit/test.h"

#include "methods/vibecheck/report/vibes_file.h"

#include <math.h>

TEST(cells)
{
    static const char text[] = "name,mm_coefficient,mm_lo,mm_hi,mm_firth,mm_firth_lo,mm_firth_hi,"
                               "pp_coefficient,pp_firth,q\n"
                               "'=A1,10.5,,,8.25,2.5,,0.5,,x\n";
    struct vq_table *t = NULL;
    struct vq_error err = {""};
    assert_int_equal(vq_table_parse(vq_span_str(text), VQ_TABLE_CSV, "vibes.csv", &t, &err), VQ_OK);
    assert_true(vq_span_eq(vq_vibes_text(t, 0, "name"), vq_span_str("=A1")));
    assert_int_equal(vq_vibes_text(t, 0, "none").bytes, 0);
    assert_true(fabs(vq_vibes_number(t, 0, "mm_coefficient") - 8.25) < 1e-12);
    assert_true(fabs(vq_vibes_number(t, 0, "mm_lo") - 2.5) < 1e-12);
    assert_true(isnan(vq_vibes_number(t, 0, "mm_hi")));
    assert_true(fabs(vq_vibes_number(t, 0, "pp_coefficient") - 0.5) < 1e-12);
    assert_true(isnan(vq_vibes_number(t, 0, "q")));
    assert_true(isnan(vq_vibes_number(t, 0, "none")) && isnan(vq_vibes_number(t, 0, NULL)));
    vq_table_destroy(&t);
}
