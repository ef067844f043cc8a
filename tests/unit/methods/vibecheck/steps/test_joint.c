/* Joint calls: whatever the walk, several vibes in a call end in the results of one a call; what a
 * joint answer lacks is asked alone, and nothing else is. */
#include "tests/unit/methods/vibecheck/walker.h"

/* How the judge of a test writes its joint answers. */
struct style {
    uint32_t leaves_out; /* each so manieth number; 0: none */
    bool says_nothing;   /* no answer at all */
};

/* What walk_cell says of the axis, the row and the order that the prompt shows. */
static bool answers_jointly(struct walk *w, const struct vq_stage *stage, uint32_t p,
                            struct vq_buf *to)
{
    if (!walk_wants(stage, p, "verdicts by number")) {
        return false;
    }
    const struct style *style = w->world;
    struct vq_span user = stage->prompts[p].user;
    uint32_t row, answered;
    assert_int_equal(sscanf(walk_section(user, "prompt").at, "question %u", &row), 1);
    unsigned order = strncmp(walk_section(user, "output_a").at, "first", 5) == 0 ? 0 : 1;
    assert_int_equal(sscanf(walk_section(user, "output_a").at,
                            order == 0 ? "first answer %u" : "second answer %u", &answered),
                     1);
    assert_int_equal(answered, row);
    if (style->says_nothing) {
        return true;
    }
    struct vq_span axes = walk_section(user, "axes");
    const char *at = axes.at;
    for (uint32_t k = 1; at != NULL && at < axes.at + axes.bytes; k++) {
        char mark[32], name[256];
        uint8_t both[2];
        uint32_t number;
        assert_int_equal(sscanf(at, "%u. Name: %255[^\n]", &number, name), 2);
        assert_int_equal(number, k);
        walk_cell(w, name, row, w->model, both);
        if (style->leaves_out == 0 || k % style->leaves_out != 0) {
            vq_buf_printf(to, "Property %u: %s\n", k,
                          vq_outcome_name((enum vq_outcome)both[order]));
        }
        (void)snprintf(mark, sizeof(mark), "\n%u. Name: ", k + 1);
        at = strstr(at, mark);
        at = at == NULL || at > axes.at + axes.bytes ? NULL : at + 1;
    }
    vq_buf_puts(to, to->bytes == 0 ? "nothing to say" : "");
    return true;
}

static struct walk *world(uint32_t vibes_per_call, struct style *style)
{
    struct walk *w = walk_create(60, 2, 5);
    w->config.method = VQ_METHOD_PRESET;
    w->config.judging.vibes_per_call = vibes_per_call;
    w->config.judging.repair = true;
    w->config.vibecheck.num_final_vibes = 0;
    w->error = 0.1;
    w->text = answers_jointly;
    w->world = style;
    return w;
}

static uint32_t calls_of(const struct walk *w, enum vq_stage_kind kind)
{
    uint32_t calls = 0;
    for (uint32_t i = 0; i < w->stages_count; i++) {
        bool judges = w->stages[i].role == VQ_ROLE_JUDGE;
        calls += judges && w->stages[i].kind == kind ? w->stages[i].calls : 0;
    }
    return calls;
}

static void same(struct walk *joint, struct walk *single)
{
    const struct vq_vibecheck_method_result *a = walk_run(joint);
    const struct vq_vibecheck_method_result *b = walk_run(single);
    assert_int_equal(a->axes_count, b->axes_count);
    for (uint32_t v = 0; v < a->axes_count; v++) {
        assert_string_equal(a->axes[v].name, b->axes[v].name);
        assert_int_equal(a->stopped_early[v], b->stopped_early[v]);
    }
    size_t tasks = (size_t)joint->in.rows_count * joint->in.judges_count * a->axes_count * 2;
    assert_memory_equal(a->outcomes, b->outcomes, tasks);
    walk_destroy(joint);
    walk_destroy(single);
}

TEST(preset_vibes_by_every_size_of_group)
{
    static const uint32_t sizes[] = {2, 3, 5, 10, 20};
    for (size_t k = 0; k < VQ_COUNT(sizes); k++) {
        struct style style = {0};
        struct walk *joint = world(sizes[k], &style);
        const uint32_t groups = (10 + sizes[k] - 1) / sizes[k];
        walk_run(joint);
        assert_int_equal(calls_of(joint, VQ_STAGE_TEXT), 2 * 2 * 60 * groups);
        assert_int_equal(calls_of(joint, VQ_STAGE_RANK), 0);
        walk_destroy(joint);
        same(world(sizes[k], &style), world(1, &style));
    }
}

TEST(what_is_left_out_is_asked_alone)
{
    struct style style = {.leaves_out = 3};
    struct walk *w = world(4, &style);
    walk_run(w);
    assert_int_equal(w->stages_count, 2);
    assert_int_equal(w->stages[1].kind, VQ_STAGE_RANK);
    assert_int_equal(w->stages[1].axes, 2); /* number 3 of 4, 4 and 2 */
    assert_int_equal(w->stages[1].rows, 60);
    walk_destroy(w);
    same(world(4, &style), world(1, &style));
}

TEST(no_answer_at_all_is_asked_alone_or_missing)
{
    struct style style = {.says_nothing = true};
    same(world(4, &style), world(1, &style));
    struct walk *w = world(4, &style);
    w->config.judging.repair = false;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(w->stages_count, 1);
    for (size_t t = 0; t < (size_t)60 * 2 * 10 * 2; t++) {
        assert_int_equal(r->outcomes[t], VQ_OUTCOME_UNPARSEABLE);
    }
    assert_true(r->notes_count > 0);
    walk_destroy(w);
}

TEST(a_cut_answer_counts_as_far_as_it_goes)
{
    struct style style = {.leaves_out = 3};
    struct walk *w = world(4, &style);
    w->ending = VQ_ENDING_CUT;
    w->config.judging.repair = false;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    size_t missing = 0, n = (size_t)60 * 2 * 10 * 2;
    for (size_t t = 0; t < n; t++) {
        missing += r->outcomes[t] == VQ_OUTCOME_TRUNCATED;
    }
    assert_int_equal(missing, n / 5); /* number 3 of 4, 4 and 2 */
    walk_destroy(w);
    w = world(4, &style);
    w->ending = VQ_ENDING_CUT;
    same(w, world(1, &style));
}

TEST(an_unknown_ending_gives_no_verdict)
{
    struct style style = {0};
    struct walk *w = world(4, &style);
    w->ending = VQ_ENDING_UNKNOWN;
    w->config.judging.repair = false;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    for (size_t t = 0; t < (size_t)60 * 2 * 10 * 2; t++) {
        assert_int_equal(r->outcomes[t], VQ_OUTCOME_TRUNCATED);
    }
    walk_destroy(w);
}

TEST(early_stopping_goes_on_with_fewer)
{
    struct style style = {.leaves_out = 4};
    struct walk *pair[2];
    for (int k = 0; k < 2; k++) {
        pair[k] = world(k == 0 ? 4 : 1, &style);
        pair[k]->config.judging.early_stop = VQ_EARLY_STOP_EXACT;
        pair[k]->config.judging.early_stop_alpha = 0.1;
        pair[k]->config.judging.early_stop_rows = 12;
    }
    same(pair[0], pair[1]);
}

TEST(discovery_too_with_presets_beside)
{
    struct style style = {.leaves_out = 2};
    struct walk *pair[2];
    for (int k = 0; k < 2; k++) {
        pair[k] = world(k == 0 ? 2 : 1, &style);
        pair[k]->config.method = VQ_METHOD_DISCOVER;
        pair[k]->config.vibecheck.compare_presets = true;
        pair[k]->config.vibecheck.num_final_vibes = 10;
        for (unsigned f = 0; f < 4; f++) {
            static const char *const lines[] = {
                "Feature 0: High: much Low: little", "Feature 1: High: more Low: less",
                "Feature 2: High: long Low: short", "Feature 3: High: warm Low: cold"};
            pair[k]->proposes[f] = lines[f];
            pair[k]->share[f] = 0.6 - 0.2 * f;
        }
    }
    same(pair[0], pair[1]);
}

TEST(forward_asks_one_order)
{
    struct style style = {0};
    struct walk *w = world(5, &style);
    w->config.judging.pair_rule = VQ_PAIR_FORWARD;
    const struct vq_vibecheck_method_result *r = walk_run(w);
    assert_int_equal(calls_of(w, VQ_STAGE_TEXT), 2 * 60 * 2);
    for (size_t t = 0; t < (size_t)60 * 2 * 10 * 2; t++) {
        assert_true(t % 2 == 1 ? r->outcomes[t] == VQ_OUTCOME_NOT_NEEDED
                               : vq_outcome_is_vote((enum vq_outcome)r->outcomes[t]));
    }
    walk_destroy(w);
}
