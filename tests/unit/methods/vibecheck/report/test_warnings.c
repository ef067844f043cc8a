/* Each warning comes when it should and only then, under its own code. */
#include "world.h"

#include "methods/vibecheck/report/warnings.h"

#include <stdio.h>

static const struct vq_warning *find(const struct vq_warnings *list, const char *code)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->at[i].code, code) == 0) {
            return &list->at[i];
        }
    }
    return NULL;
}

static void expect(const struct world *w, const char *code, const char *words)
{
    struct vq_warnings *list = NULL;
    assert_int_equal(vq_warnings_create(&w->r, &list), VQ_OK);
    const struct vq_warning *found = find(list, code);
    if ((found != NULL) != (words != NULL) ||
        (found != NULL && strstr(found->text, words) == NULL)) {
        print_error("%s: %s\n", code, found == NULL ? "(none)" : found->text);
    }
    assert_true((found != NULL) == (words != NULL));
    assert_true(found == NULL || strstr(found->text, words) != NULL);
    vq_warnings_destroy(&list);
}

/* A result that nothing can be said against. */
static struct world *sound(void)
{
    struct world *w = world_create(200, 2, 2, "text");
    w->result->vibe[0].distinguishable = w->result->vibe[1].distinguishable = true;
    w->result->mm.degenerate = w->result->pp.degenerate = VQ_FIT_SOUND;
    w->result->pp.rivals.chance_p = w->result->pp.rivals.difference_p = 0.01;
    w->result->pp.rivals.difference = 0.1;
    struct vq_warnings *list = NULL;
    assert_int_equal(vq_warnings_create(&w->r, &list), VQ_OK);
    for (uint32_t i = 0; i < list->count; i++) {
        print_error("%s: %s\n", list->at[i].code, list->at[i].text);
    }
    assert_int_equal(list->count, 0);
    vq_warnings_destroy(&list);
    return w;
}

TEST(judges)
{
    struct world *w = sound();
    static char llama[] = "Meta-Llama-3", gpt[] = "ChatGPT_answer";
    w->judges[0].model = "gpt-4o";
    w->config.models[0] = llama;
    expect(w, "judge_of_same_family", NULL);
    w->config.models[1] = gpt;
    expect(w, "judge_of_same_family", "of one family (OpenAI)");
    static char not_llama[] = "not_llama";
    w->judges[0].model = "meta-llama/Llama-3.1-70B-Instruct";
    expect(w, "judge_of_same_family", "and Meta-Llama-3 are of one family (Llama)");
    w->config.models[0] = not_llama;
    expect(w, "judge_of_same_family", NULL);
    w->r.judge_kind = "offline-lexical";
    expect(w, "offline_judge", "plumbing");
    world_destroy(w);
    w = world_create(60, 1, 2, "text");
    expect(w, "one_judge", "There is one judge");
    world_destroy(w);
}

TEST(vibes)
{
    struct world *w = sound();
    w->result->vibe[1].gate_could_flip = true;
    expect(w, "gate_could_flip", "over its gate: Vibe1.");
    w->result->vibe[0].distinguishable = false;
    expect(w, "not_distinguishable", "on test not distinguishable from 0 (q above 0.05): Vibe0.");
    w->result->vibe[1].distinguishable = false;
    expect(w, "not_distinguishable", ": Vibe0, Vibe1.");
    w->config.gates.kappa_min = 0.99;
    expect(w, "low_kappa", "agree less than the gate asks");
    w->result->vibe[1].mm.length.explained = true;
    expect(w, "mm_explained_by_length", "model matching coefficient is not distinguishable");
    expect(w, "pp_explained_by_length", NULL);
    w->result->vibe[1].pp.length.explained = true;
    expect(w, "pp_explained_by_length", ": Vibe1.");
    w->result->vibe[1].overlap_unjudged = true;
    expect(w, "overlap_not_judged", "Vibe1");
    w->result->vibe[0].test.sep_at_random = w->result->vibe[0].test.sep + 0.019;
    expect(w, "failures_shrink_separability", NULL);
    w->result->vibe[0].test.sep_at_random = w->result->vibe[0].test.sep + 0.021;
    expect(w, "failures_shrink_separability", "Vibe0");
    w->result->vibe[0].na_everywhere = true;
    expect(w, "not_applicable_everywhere", "Vibe0");
    world_destroy(w);
}

TEST(fits)
{
    struct world *w = sound();
    struct vq_vibecheck *r = w->result;
    r->mm.coef_abs_max = 20.0;
    expect(w, "large_coefficient", NULL);
    r->mm.coef_abs_max = 20.5;
    expect(w, "large_coefficient", "nearly separable");
    r->mm.degenerate = VQ_FIT_SEPARATED;
    expect(w, "fit_separated", "Model matching");
    r->pp.degenerate = VQ_FIT_FEW_PROMPTS;
    expect(w, "fit_few_prompts", "Preference prediction");
    r->pp.degenerate = VQ_FIT_C_AT_EDGE;
    expect(w, "fit_c_at_edge", "Preference prediction");
    r->pp.rivals.difference_p = 0.2;
    expect(w, "pp_adds_nothing_to_identity", "which model wrote");
    expect(w, "pp_not_above_chance", NULL);
    r->pp.rivals.chance_p = 0.2;
    expect(w, "pp_not_above_chance", "not distinguishable from chance");
    expect(w, "pp_adds_nothing_to_identity", NULL);
    r->pp.rivals.one_class = true;
    expect(w, "pp_is_mm", "All preferences name one model");
    r->mm.rows_train = 19;
    expect(w, "few_rows_per_vibe", "fewer than 10");
    r->in_sample = true;
    expect(w, "in_sample", "no test split");
    world_destroy(w);
}

TEST(data)
{
    struct world *w = sound();
    w->result->cells_missing = 1;
    expect(w, "missing_scores", "1 judge score is missing. It is left out, not counted as 0.");
    w->result->cells_missing = 3;
    expect(w, "missing_scores", "3 judge scores are missing");
    w->config.judging.truncate = true;
    expect(w, "inputs_may_be_cut", "allowed to be cut");
    (void)snprintf(w->dataset.warnings[0], sizeof(w->dataset.warnings[0]), "7 rows are odd");
    w->dataset.warnings_count = 1;
    expect(w, "data", "7 rows are odd.");
    world_destroy(w);
}

TEST(preferences_of_judges)
{
    static char ranks[] = "m1", other[] = "m2";
    struct world *w = sound();
    w->conf_judges[0].model = ranks;
    struct vq_vibecheck_method_result method = {.rows = w->rows, .preference_source = "data"};
    w->r.method = &method;
    expect(w, "preferences_by_ranking_judge", NULL);
    method.preference_source = "judge";
    expect(w, "preferences_by_ranking_judge", "a model that also ranks");
    struct vq_conf_judge preference = {.model = other};
    w->config.preference_judges = &preference;
    w->config.preference_judges_count = 1;
    expect(w, "preferences_by_ranking_judge", NULL);
    expect(w, "preferences_by_judge", "by models, not by people");
    preference.model = ranks;
    expect(w, "preferences_by_ranking_judge", "a model that also ranks");
    w->config.preference_judges = NULL;
    w->config.preference_judges_count = 0;
    world_destroy(w);
}

/* Names of any length and number leave the text bounded. */
TEST(many_long_names)
{
    struct world *w = world_create(40, 2, 60, "text");
    char *name = vq_alloc(5001, 1);
    assert_non_null(name);
    memset(name, 'n', 5000);
    for (uint32_t v = 0; v < 60; v++) {
        w->axes[v].name = v == 3 ? name : "short";
        w->result->vibe[v].gate_could_flip = true;
    }
    struct vq_warnings *list = NULL;
    assert_int_equal(vq_warnings_create(&w->r, &list), VQ_OK);
    const struct vq_warning *found = find(list, "gate_could_flip");
    assert_non_null(found);
    assert_int_equal(found->vibes_count, 60);
    assert_true(strlen(found->text) < VQ_WARNING_BYTES_MAX);
    vq_warnings_destroy(&list);
    vq_free(name);
    world_destroy(w);
}

static int setup(void **state)
{
    (void)state;
    vq_stats_init();
    return 0;
}

TEST_GROUP(setup, NULL)
