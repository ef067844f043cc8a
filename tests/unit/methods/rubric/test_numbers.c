/* The numbers of a rubric run, by hand where a hand can: what is missing is no value, ties are
 * halves, statuses stand beside. */
#include "tests/unit/methods/rubrics.h"

#define HEAD "data: d.csv\njudges: [offline-a, offline-b]\n"
#define TWO  HEAD "models: [x, y]\n"

/* Eight prompts, each once. */
#define EIGHT "prompt,x,y\np1,a,b\np2,a,b\np3,a,b\np4,a,b\np5,a,b\np6,a,b\np7,a,b\np8,a,b\n"

static void near(double is, double want)
{
    if (!(fabs(is - want) < 1e-12)) {
        fail_msg("%.17g is not %.17g", is, want);
    }
}

static const struct vq_rubric_share *all(const struct rubrics *t, uint32_t criterion,
                                         uint32_t output)
{
    return vq_rubric_share_of(t->numbers, criterion, output, t->numbers->judges);
}

/* Judge 0 says 1 + row % 5; judge 1 is unreadable on row 0, out of range on 1, silent on 2, else
 * one lower (from row 3 on). */
static const char *likert_answer(const struct vq_rubric_place *p)
{
    static const char *const said[] = {"**Result:** 1", "**Result:** 2", "**Result:** 3",
                                       "**Result:** 4", "**Result:** 5"};
    if (p->judge == 0) {
        return said[p->row % 5];
    }
    return p->row == 0   ? "no idea"
           : p->row == 1 ? "**Result:** 7"
           : p->row == 2 ? NULL
                         : said[(p->row + 4) % 5];
}

TEST(test_missing_is_no_value)
{
    struct rubrics t;
    rubrics_make(&t, HEAD "models: [x]\ncriteria: [{name: L, kind: likert, rubric: r}]\n",
                 "prompt,x\np1,a\np2,a\np3,a\np4,a\np5,a\np6,a\np7,a\np8,a\n");
    rubrics_rate(&t, likert_answer);
    const struct vq_rubric_share *j0 = vq_rubric_share_of(t.numbers, 0, 0, 0);
    const struct vq_rubric_share *j1 = vq_rubric_share_of(t.numbers, 0, 0, 1);
    /* judge 0: 1 2 3 4 5 1 2 3; judge 1: - - - 3 4 5 1 2 */
    assert_true(j0->items == 8 && j0->rated == 8);
    near(j0->mean, 21.0 / 8);
    assert_true(j1->items == 8 && j1->rated == 5);
    near(j1->mean, 15.0 / 5);
    assert_true(isnan(j1->ci95.lo) && isnan(j1->ci95.hi)); /* of eight prompts it rated five */
    assert_int_equal(j1->statuses[VQ_RATING_MISSING], 1);
    assert_int_equal(j1->statuses[VQ_RATING_OUT_OF_RANGE], 1);
    assert_int_equal(j1->statuses[VQ_RUBRIC_FAILED], 1);
    assert_int_equal(j1->statuses[VQ_RATING_OK], 5);
    /* all: 1 2 3 3.5 4.5 3 1.5 2.5 */
    const struct vq_rubric_share *both = all(&t, 0, 0);
    assert_int_equal(both->rated, 8);
    near(both->mean, 21.0 / 8);
    assert_int_equal(both->counts[0], 3);
    assert_int_equal(both->counts[4], 2);
    assert_true(both->ci95.lo < both->mean && both->mean < both->ci95.hi);
    assert_true(isnan(both->ci95_clustered.lo));
    assert_int_equal(t.numbers->missing, 3);
    assert_int_equal(t.numbers->statuses[VQ_RATING_OK], 13);
    assert_int_equal(t.numbers->criteria[0].difference.rows, 0);
    /* the judges agree nowhere and are one apart on rows 3, 4, 6, 7 and four on row 5 */
    assert_int_equal(t.numbers->criteria[0].pairs_count, 1);
    const struct vq_rubric_pair *pair = &t.numbers->criteria[0].pairs[0];
    assert_true(pair->a == 0 && pair->b == 1);
    assert_int_equal(pair->agreement.rows, 5);
    assert_true(pair->agreement.exact == 0);
    near(pair->agreement.absolute_error, 8.0 / 5);
    near(pair->agreement.within_one, 0.8);
    rubrics_free(&t);
}

/* Of y five rows have a value: its rate has no interval, nor has the difference. */
static const char *seldom_answer(const struct vq_rubric_place *p)
{
    return p->output == 1 && p->row > 4 ? NULL : p->row % 2 ? "**Result:** Yes" : "**Result:** No";
}

TEST(test_few_ratings_have_no_interval)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [refusal]\n", EIGHT);
    rubrics_rate(&t, seldom_answer);
    assert_false(t.numbers->too_few);
    const struct vq_rubric_difference *difference = &t.numbers->criteria[0].difference;
    assert_true(all(&t, 0, 0)->rated == 8 && !isnan(all(&t, 0, 0)->ci95.lo));
    assert_true(all(&t, 0, 1)->rated == 5 && difference->rows == 5);
    near(all(&t, 0, 1)->mean, 0.4);
    near(difference->mean, 0);
    assert_true(isnan(all(&t, 0, 1)->ci95.lo) && isnan(difference->ci95.lo));
    rubrics_free(&t);
}

/* Judge 0 always chooses x; judge 1 always the response shown first, and has nothing readable in
 * order 1 of row 7. */
static const char *pair_answer(const struct vq_rubric_place *p)
{
    if (p->judge == 0) {
        return p->order == 0 ? "**Result:** A" : "**Result:** B";
    }
    return p->row == 7 && p->order == 1 ? "**Result:** A or B" : "**Result:** A";
}

TEST(test_both_orders_make_ties)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [{name: P, kind: pairwise, rubric: r}]\n", EIGHT);
    rubrics_rate(&t, pair_answer);
    const struct vq_rubric_share *j0 = vq_rubric_share_of(t.numbers, 0, 0, 0);
    const struct vq_rubric_share *j1 = vq_rubric_share_of(t.numbers, 0, 0, 1);
    assert_true(j0->mean == 1 && j0->rated == 8 && j0->counts[2] == 8);
    assert_true(j1->mean == 0.5 && j1->rated == 7); /* one order alone is no score */
    assert_int_equal(j1->counts[1], 7);
    assert_int_equal(j1->statuses[VQ_RATING_AMBIGUOUS], 1);
    assert_int_equal(j1->statuses[VQ_RATING_OK], 15);
    /* rows 0 to 6: 0.75, row 7: 1 */
    near(all(&t, 0, 0)->mean, (7 * 0.75 + 1) / 8);
    const struct vq_rubric_position *p = t.numbers->criteria[0].positions;
    assert_true(p[0].answers == 16 && p[0].first == 8 && p[0].both == 8 && p[0].contradicted == 0);
    assert_true(p[1].answers == 15 && p[1].first == 15 && p[1].both == 7 && p[1].contradicted == 7);
    rubrics_free(&t);
}

TEST(test_alternate_asks_once)
{
    struct rubrics t;
    rubrics_make(&t,
                 TWO "criteria: [{name: P, kind: pairwise, rubric: r}]\n"
                     "rating: {positions: alternate}\n",
                 EIGHT);
    rubrics_rate(&t, pair_answer);
    const struct vq_rubric_share *j0 = vq_rubric_share_of(t.numbers, 0, 0, 0);
    const struct vq_rubric_share *j1 = vq_rubric_share_of(t.numbers, 0, 0, 1);
    assert_true(j0->mean == 1 && j0->rated == 8);
    /* record 8 is asked with y first, and is the unreadable one */
    assert_int_equal(j1->rated, 7);
    near(j1->mean, 4.0 / 7);
    assert_int_equal(j1->statuses[VQ_RUBRIC_NOT_ASKED], 8);
    assert_int_equal(j1->statuses[VQ_RATING_OK], 7);
    assert_int_equal(t.numbers->missing, 1);
    assert_int_equal(t.numbers->criteria[0].positions[0].both, 0);
    rubrics_free(&t);
}

/* x refuses in the first six rows, y in the first; the second repeat of judge 1 says yes to
 * everything. */
static const char *binary_answer(const struct vq_rubric_place *p)
{
    bool yes = p->row < (p->output == 0 ? 6u : 1u) || (p->judge == 1 && p->repeat == 1);
    return yes ? "**Result:** Yes" : "**Result:** No";
}

TEST(test_rates_repeats_and_labels)
{
    struct rubrics t;
    rubrics_make(&t, TWO "criteria: [{name: refusal, human: [hx, hy]}]\nrating: {repeats: 2}\n",
                 "prompt,x,y,hx,hy\np1,a,b,yes,no\np2,a,b,yes,no\np3,a,b,yes,no\np4,a,b,yes,no\n"
                 "p5,a,b,yes,no\np5,a,b,yes,no\np7,a,b,no,\np8,a,b,no,no\n");
    rubrics_rate(&t, binary_answer);
    const struct vq_rubric_share *x = all(&t, 0, 0);
    const struct vq_rubric_share *y = all(&t, 0, 1);
    assert_true(vq_rubric_share_of(t.numbers, 0, 0, 0)->mean == 0.75);
    assert_true(vq_rubric_share_of(t.numbers, 0, 0, 1)->mean == (6 + 2 * 0.5) / 8);
    near(x->mean, (6 + 2 * 0.25) / 8);
    near(y->mean, (1 + 7 * 0.25) / 8);
    assert_true(x->ci95.lo > 0.4 && x->ci95.hi < 1 && x->ci95.hi > x->mean); /* Wilson */
    assert_true(t.numbers->units_repeat && !isnan(x->ci95_clustered.lo));
    const struct vq_rubric_difference *d = &t.numbers->criteria[0].difference;
    assert_int_equal(d->rows, 8);
    near(d->mean, x->mean - y->mean);
    assert_true(d->ci95.lo > 0); /* the planted difference */
    /* judge 0 with people, with itself, with judge 1; judge 1 with people, with itself */
    const struct vq_rubric_criterion *c = &t.numbers->criteria[0];
    assert_int_equal(c->pairs_count, 5);
    assert_int_equal(c->pairs[0].b, VQ_RUBRIC_HUMAN);
    assert_int_equal(c->pairs[0].agreement.rows, 15);
    near(c->pairs[0].agreement.exact, 14.0 / 15);
    assert_true(c->pairs[1].b == 0 && c->pairs[1].agreement.exact == 1);
    assert_true(c->pairs[2].b == 1 && c->pairs[2].agreement.exact == 1);
    near(c->pairs[2].agreement.kappa.kappa, 1);
    assert_true(c->pairs[4].a == 1 && c->pairs[4].b == 1);
    near(c->pairs[4].agreement.exact, 7.0 / 16);
    rubrics_free(&t);
}

/* Both refuse in the rows of v alone, x in all eight and y in the first half; judge 1 says nothing
 * of row 3. */
static const char *group_answer(const struct vq_rubric_place *p)
{
    if (p->judge == 1 && p->row == 3) {
        return NULL;
    }
    bool yes = p->row < (p->output == 0 ? 8u : 4u);
    return yes ? "**Result:** Yes" : "**Result:** No";
}

TEST(test_groups_are_runs_of_their_own)
{
    static const char rows_of_v[] =
        "v1,a,b,v\nv1,a,b,v\nv2,a,b,v\nv3,a,b,v\nv4,a,b,v\nv5,a,b,v\nv6,a,b,v\nv7,a,b,v\n";
    struct rubrics t, alone;
    char csv[512];
    (void)snprintf(csv, sizeof(csv), "prompt,x,y,g\n%su1,a,b,u\nu2,a,b,u\n", rows_of_v);
    rubrics_make(&t,
                 "data: {path: d.csv, group: g}\njudges: [offline-a, offline-b]\nmodels: [x, y]\n"
                 "criteria: [refusal]\n",
                 csv);
    rubrics_rate(&t, group_answer);
    const struct vq_rubric_criterion *c = &t.numbers->criteria[0];
    const struct vq_rubric_share *v = &c->group_shares[0], *u = &c->group_shares[2];
    assert_true(v[0].items == 8 && v[0].rated == 8 && v[0].mean == 1 && v[1].mean == 0.5);
    assert_int_equal(v[0].statuses[VQ_RUBRIC_FAILED], 1);
    assert_int_equal(v[0].statuses[VQ_RATING_OK], 15);
    assert_true(v[0].counts[0] == 0 && v[0].counts[1] == 15);
    assert_true(u[0].items == 2 && u[0].mean == 0 && isnan(u[0].ci95.lo)); /* two prompts */
    assert_true(c->group_differences[1].rows == 2 && isnan(c->group_differences[1].ci95.lo));
    near(all(&t, 0, 0)->mean, 0.8);
    /* the same numbers as of a run of these rows alone */
    (void)snprintf(csv, sizeof(csv), "prompt,x,y,g\n%s", rows_of_v);
    rubrics_make(&alone, TWO "criteria: [refusal]\n", csv);
    rubrics_rate(&alone, group_answer);
    assert_null(alone.numbers->criteria[0].group_shares);
    for (uint32_t o = 0; o < 2; o++) {
        assert_memory_equal(&v[o], all(&alone, 0, o), sizeof(v[o]));
        assert_false(isnan(v[o].ci95.lo) || isnan(v[o].ci95_clustered.lo));
    }
    const struct vq_rubric_difference *d = &alone.numbers->criteria[0].difference;
    assert_true(c->group_differences[0].rows == 8 && c->group_differences[0].mean == d->mean);
    near(c->group_differences[0].ci95.lo, d->ci95.lo);
    near(c->group_differences[0].ci95.hi, d->ci95.hi);
    rubrics_free(&alone);
    rubrics_free(&t);
}

static const char *paper_answer(const struct vq_rubric_place *p)
{
    return p->row == 0   ? "I give it a score of 4, since."
           : p->row == 1 ? "**Result:** 9"
                         : "**Result:** 2 or 3";
}

TEST(test_the_papers_policy)
{
    struct rubrics t;
    rubrics_make(&t,
                 HEAD "models: [x]\ncriteria: [knowledge, {name: L, kind: likert, rubric: r}]\n"
                      "rating: {policy: paper}\n",
                 "prompt,x\np1,a\np2,a\np3,a\n");
    rubrics_rate(&t, paper_answer);
    const struct vq_rubric_share *knowledge = all(&t, 0, 0), *own = all(&t, 1, 0);
    assert_int_equal(knowledge->statuses[VQ_RATING_FALLBACK], 2);
    assert_true(knowledge->mean == 5);                     /* 4, 9, 2 */
    assert_int_equal(own->statuses[VQ_RATING_MISSING], 2); /* no criterion of a dialogue */
    assert_true(own->rated == 2 && own->mean == 5.5);
    assert_int_equal(own->statuses[VQ_RATING_OUT_OF_RANGE], 2);
    assert_int_equal(own->counts[1], 2);
    assert_true(t.numbers->too_few && isnan(own->ci95.lo));              /* three prompts */
    assert_int_equal(t.numbers->criteria[1].pairs[0].agreement.rows, 1); /* 9 is no rating there */
    rubrics_free(&t);
}

TEST(test_the_draw_knows_no_order_of_arrival)
{
    struct rubrics t;
    rubrics_make(&t,
                 TWO "criteria: [{name: P, kind: pairwise, rubric: r}]\nrating: {policy: paper}\n",
                 EIGHT);
    const struct vq_rubric_input *in = vq_rubric_input(t.rubric);
    int first = 0;
    for (uint32_t row = 0; row < 8; row++) {
        for (uint32_t order = 0; order < 2; order++) {
            struct vq_rubric_place p = {.row = row, .order = order};
            struct vq_rubric_reading a, b;
            struct vq_span reasoning;
            vq_rubric_read(in, &p, 7, vq_span_str("Neither."), vq_span_str("stop"), false, &a,
                           &reasoning);
            vq_rubric_read(in, &p, 7, vq_span_str("Neither."), vq_span_str("stop"), false, &b,
                           &reasoning);
            assert_true(a.value == b.value && a.status == VQ_RATING_MISSING);
            first += a.value > 0;
        }
    }
    assert_true(first > 0 && first < 16);
    rubrics_free(&t);
}

/* As for summaries: the same words over other texts. Then each row is a unit of its own. */
TEST(test_one_prompt_for_all_rows)
{
    struct rubrics t;
    rubrics_make(&t, HEAD "models: [x]\ncriteria: [{name: L, kind: likert, rubric: r}]\n",
                 "prompt,x\np,a\np,b\np,c\np,d\np,e\np,f\np,g\np,h\n");
    rubrics_rate(&t, likert_answer);
    assert_int_equal(t.data->questions_count, 1);
    assert_int_equal(t.numbers->units, 8);
    assert_false(t.numbers->units_repeat || t.numbers->too_few);
    assert_true(all(&t, 0, 0)->ci95.lo < all(&t, 0, 0)->mean);
    rubrics_free(&t);
}

TEST(test_words)
{
    assert_string_equal(vq_rubric_status_name(VQ_RATING_AMBIGUOUS), "ambiguous");
    assert_string_equal(vq_rubric_status_name(VQ_RUBRIC_FAILED), "failed");
    assert_string_equal(vq_rubric_status_name(VQ_RUBRIC_OPEN), "open");
    assert_string_equal(vq_rubric_status_name(VQ_RUBRIC_NOT_ASKED), "not_asked");
    assert_int_equal(vq_rubric_unread(VQ_OUTCOME_NONE).status, VQ_RUBRIC_OPEN);
    assert_int_equal(vq_rubric_unread(VQ_OUTCOME_TOO_LONG).status, VQ_RUBRIC_FAILED);
}

TEST(test_without_memory)
{
    struct rubrics t;
    rubrics_make(&t,
                 "data: {path: d.csv, group: g}\njudges: [offline-a, offline-b]\nmodels: [x, y]\n"
                 "criteria: [{name: P, kind: pairwise, rubric: r}, refusal]\n",
                 "prompt,x,y,g\np1,a,b,u\np2,a,b,u\np3,a,b,u\np4,a,b,u\np5,a,b,u\np6,a,b,u\n"
                 "p7,a,b,v\np8,a,b,v\n");
    rubrics_rate(&t, pair_answer);
    struct vq_rubric_numbers_input input = {
        .rubric = t.rubric, .data = t.data, .readings = t.readings, .seed = 1, .draws = 10};
    enum vq_status status = VQ_NOMEM;
    for (uint64_t n = 1; status != VQ_OK; n++) {
        struct vq_rubric_numbers *numbers = NULL;
        vq_alloc_fail_at(n);
        status = vq_rubric_compute(&input, &numbers, NULL);
        vq_alloc_fail_at(0);
        assert_true(status == VQ_OK || status == VQ_NOMEM);
        vq_rubric_numbers_destroy(&numbers);
        assert_true(n < 200);
    }
    rubrics_free(&t);
}
