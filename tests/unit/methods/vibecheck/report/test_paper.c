/* Tables for a paper: columns by name, missing values as dashes, everything escaped. */
#include "tests/unit/test.h"

#include "methods/vibecheck/report/paper.h"

#define VIBES                                                                                      \
    "vibe_id,name,low,high,kept,reason,sep_train,sep_test,sep_test_lo,sep_test_hi,kappa_train,"    \
    "kappa_test,mm_coefficient,pp_coefficient\n"                                                   \
    "1,Warm & fuzzy,cold,\"warm\n50%\",1,,0.5,0.444,0.3,0.6,0.7,0.8,1.25,\n"                       \
    "2,Terse,long,short,1,,-0.5,-0.4,,,0.7,,-1,0\n"                                                \
    "3,B_1,x,y,0,kappa,0.1,0.1,0,0.2,0,0,,\n"

static void shows(struct vq_buf *out, const char *text)
{
    if (out->at == NULL || strstr(out->at, text) == NULL) {
        fail_msg("\"%s\" is not in: %s", text, out->at);
    }
}

static struct vq_table *parse(const char *csv)
{
    struct vq_table *t = NULL;
    struct vq_error err;
    assert_int_equal(vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "v", &t, &err), VQ_OK);
    return t;
}

TEST(test_latex)
{
    struct vq_table *t = parse(VIBES);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    vq_paper_vibes(t, "gpt_4", "b", VQ_PAPER_LATEX, &out);
    shows(&out, "% A = gpt\\_4, B = b. Positive: A is higher. Test rows, 95 % intervals.\n");
    shows(&out, "\\begin{tabular}{llrrrr}\n\\toprule\nVibe & Low to high & Separability & Kappa & "
                "MM & PP \\\\\n\\midrule\n");
    shows(&out, "Warm \\& fuzzy & cold $\\rightarrow$ warm 50\\% & $+0.44$ [$+0.30$, $+0.60$] & "
                "$0.80$ & $+1.25$ & -- \\\\\n");
    shows(&out, "Terse & long $\\rightarrow$ short & $-0.40$ & -- & $-1.00$ & $+0.00$ \\\\\n");
    shows(&out, "\\bottomrule\n\\end{tabular}\n% dropped: B\\_1 (kappa)\n");
    vq_buf_free(&out);
    vq_table_destroy(&t);
}

TEST(test_markdown)
{
    struct vq_table *t = parse(VIBES);
    struct vq_buf out;
    vq_buf_init(&out, 1u << 16);
    vq_paper_vibes(t, "a|b", "<b>", VQ_PAPER_MARKDOWN, &out);
    shows(&out, "A = a\\|b, B = &lt;b&gt;.");
    shows(&out, "| Vibe | Low to high | Separability | Kappa | MM | PP |\n| --- | --- | ---: | "
                "---: | ---: | ---: |\n");
    shows(&out, "| Warm &amp; fuzzy | cold \xe2\x86\x92 warm 50% | +0.44 [+0.30, +0.60] | 0.80 | "
                "+1.25 | \xe2\x80\x93 |\n");
    shows(&out, "\nDropped: B\\_1 (kappa)\n");
    vq_buf_free(&out);
    vq_table_destroy(&t);
}

TEST(test_any_table)
{
    struct vq_table *t = parse("a,b\n1,\"x | y\"\n");
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_paper_table(t, VQ_PAPER_MARKDOWN, &out);
    assert_string_equal(out.at, "| a | b |\n| --- | --- |\n| 1 | x \\| y |\n");
    vq_buf_clear(&out);
    vq_paper_table(t, VQ_PAPER_LATEX, &out);
    shows(&out, "1 & x \\textbar{} y \\\\\n");
    vq_buf_free(&out);
    vq_table_destroy(&t);
}

TEST(test_texts)
{
    struct vq_buf out;
    vq_buf_init(&out, 1000);
    vq_paper_text(vq_span_str("\\ ^ ~ { } \" \t\x7f\xe2\x80\xae\xc3\xa9"), VQ_PAPER_LATEX, &out);
    assert_string_equal(out.at, "\\textbackslash{} \\textasciicircum{} \\textasciitilde{} \\{ \\} "
                                "\\textquotedbl{}    \xc3\xa9");
    vq_buf_free(&out);
}
