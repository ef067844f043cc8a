/* What a careful reader would ask about, as sentences near the top. Each is drawn from the result or the settings; none hides a number
 * that stands elsewhere. */
#include "coordinator/report/html/parts.h"

#include <math.h>

#define COEF_ABS_MAX      20.0 /* above it the fit is nearly separable */
#define ROWS_PER_VIBE_MIN 10u

static void begin(struct vq_html *h)
{
    vq_html_puts(h, "<li>");
}

static void end(struct vq_html *h)
{
    vq_html_puts(h, "</li>\n");
}

static void say(struct vq_html *h, const char *sentence)
{
    begin(h);
    vq_html_puts(h, sentence);
    end(h);
}

/* ---- families of models ---- */

/* A word of a model's name that begins so (or is so, if `whole`) tells its maker. Rough on purpose: a name that says nothing
 * matches nothing. */
static const struct family {
    const char *word;
    bool whole;
    const char *name;
} families[] = {
    {"gpt", false, "OpenAI"},         {"chatgpt", false, "OpenAI"},
    {"davinci", false, "OpenAI"},     {"o1", true, "OpenAI"},
    {"o3", true, "OpenAI"},           {"o4", true, "OpenAI"},
    {"openai", true, "OpenAI"},       {"claude", false, "Anthropic"},
    {"anthropic", true, "Anthropic"}, {"gemini", false, "Google"},
    {"gemma", false, "Google"},       {"palm", false, "Google"},
    {"llama", false, "Llama"},        {"mistral", false, "Mistral"},
    {"mixtral", false, "Mistral"},    {"ministral", false, "Mistral"},
    {"codestral", false, "Mistral"},  {"qwen", false, "Qwen"},
    {"deepseek", false, "DeepSeek"},  {"command", true, "Cohere"},
    {"cohere", true, "Cohere"},       {"aya", true, "Cohere"},
    {"grok", false, "xAI"},           {"phi", true, "Phi"},
    {"nova", true, "Amazon"},         {"titan", true, "Amazon"},
    {"nemotron", false, "Nvidia"},    {"tnlgv2", false, "Microsoft"},
    {"kimi", false, "Moonshot"},      {"glm", false, "GLM"},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool in_word(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

static bool word_is(const char *at, const struct family *family)
{
    size_t n = strlen(family->word);
    for (size_t i = 0; i < n; i++) {
        if (lower(at[i]) != family->word[i]) {
            return false;
        }
    }
    return !family->whole || !in_word(at[n]);
}

static const char *family_of(const char *model)
{
    for (const char *at = model; *at != '\0'; at++) {
        bool starts = at == model || !in_word(at[-1]);
        for (size_t i = 0; starts && i < VQ_COUNT(families); i++) {
            if (word_is(at, &families[i])) {
                return families[i].name;
            }
        }
    }
    return NULL;
}

static void same_family(struct vq_html *h)
{
    for (uint32_t j = 0; j < h->r->config->judges_count; j++) {
        const char *judge = family_of(h->r->judges[j].model);
        for (int m = 0; judge != NULL && m < 2; m++) {
            const char *model = family_of(h->r->config->models[m]);
            if (model == NULL || strcmp(model, judge) != 0) {
                continue;
            }
            begin(h);
            vq_html_puts(h, "By their names, judge <bdi>");
            vq_html_text(h, h->r->judges[j].name);
            vq_html_puts(h, "</bdi> and ");
            vq_html_model(h, m);
            vq_html_printf(h, " are of one family (%s): a judge may favour its own kind.", judge);
            end(h);
        }
    }
}

/* ---- judges and preferences ---- */

static const char *judge_model(const struct vq_conf_judge *judge)
{
    return judge->model == NULL ? "" : judge->model;
}

static void preference_judge_ranks(struct vq_html *h)
{
    const struct vq_config *c = h->r->config;
    if (h->story->method == NULL || strcmp(h->story->method->preference_source, "judge") != 0) {
        return;
    }
    bool same = c->preference_judges_count == 0;
    for (uint32_t i = 0; i < c->preference_judges_count; i++) {
        for (uint32_t j = 0; j < c->judges_count; j++) {
            same |= strcmp(judge_model(&c->preference_judges[i]), judge_model(&c->judges[j])) == 0;
        }
    }
    say(h, same ? "The preferences were made by a model that also ranks the vibes: preference "
                  "prediction then measures how consistent that model is with itself."
                : "The preferences were made by models, not by people.");
}

static void judges(struct vq_html *h)
{
    if (h->r->config->judges_count == 1) {
        say(h,
            "There is one judge: how far another would agree is unknown, and there is no kappa.");
    }
    same_family(h);
    preference_judge_ranks(h);
}

/* ---- vibes ---- */

typedef bool (*vibe_test)(const struct vq_html *h, uint32_t vibe);

static bool is_indistinct(const struct vq_html *h, uint32_t v)
{
    return h->r->result->vibe[v].kept && !h->r->result->vibe[v].distinguishable;
}

static bool could_flip(const struct vq_html *h, uint32_t v)
{
    return h->r->result->vibe[v].gate_could_flip;
}

static bool agrees_little(const struct vq_html *h, uint32_t v)
{
    double kappa = vq_html_agreement(h, v)->kappa;
    return h->r->result->vibe[v].kept && kappa < h->r->config->gates.kappa_min; /* NaN is not */
}

static void about_vibes(struct vq_html *h, vibe_test test, const char *sentence)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->r->result->vibes; i++) {
        uint32_t v = h->order[i];
        if (!test(h, v)) {
            continue;
        }
        if (n == 0) {
            begin(h);
            vq_html_puts(h, sentence);
        }
        if (n < 12) {
            vq_html_printf(h, "%s<bdi>", n > 0 ? ", " : ": ");
            vq_html_text(h, h->r->in->axes[v].name);
            vq_html_puts(h, "</bdi>");
        }
        n++;
    }
    if (n > 12) {
        vq_html_printf(h, " and %u more", n - 12);
    }
    if (n > 0) {
        vq_html_puts(h, ".");
        end(h);
    }
}

static void vibes(struct vq_html *h)
{
    about_vibes(h, is_indistinct, "Kept, but not distinguishable from 0 (q above 0.05)");
    about_vibes(h, could_flip, "Answers are missing that could move a vibe over its gate");
    about_vibes(h, agrees_little,
                "Kept, but the judges agree less than the gate asks on these rows");
}

/* ---- fits and data ---- */

static void fits(struct vq_html *h)
{
    const struct vq_vibecheck *r = h->r->result;
    double most = fmax(r->mm.coef_abs_max, r->pp.coef_abs_max);
    if (most > COEF_ABS_MAX) {
        say(h, "A coefficient is above 20: the rows are nearly separable, and the sizes of "
               "coefficients "
               "say little.");
    }
    double pp = h->test ? r->pp.accuracy_test : r->pp.accuracy_train;
    if (r->pp.status == VQ_FIT_OK && pp <= r->pp.majority_baseline) {
        say(h, "Preference prediction is not above its baseline: the vibes do not explain what is "
               "preferred here.");
    }
    if (r->kept_count > 0 && r->mm.rows_train < (uint64_t)ROWS_PER_VIBE_MIN * r->kept_count) {
        say(h, "There are fewer than 10 training rows a vibe: the fits are fragile.");
    }
    if (r->mm.missing_warning || r->pp.missing_warning) {
        say(h, "Over complete rows alone an accuracy differs by more than 0.01.");
    }
    if (r->in_sample) {
        say(h, "There is no test split: all numbers are in-sample and too good.");
    }
}

static void data(struct vq_html *h)
{
    const struct vq_dataset *d = h->r->dataset;
    for (uint32_t i = 0; i < d->warnings_count; i++) {
        begin(h);
        vq_html_text(h, d->warnings[i]);
        vq_html_puts(h, ".");
        end(h);
    }
    if (h->r->result->cells_missing > 0) {
        begin(h);
        vq_html_count(h, h->r->result->cells_missing);
        if (h->r->result->dropped == NULL) {
            vq_html_puts(h, " judge scores are missing. They are left out, not counted as 0.");
        } else {
            vq_html_puts(h, " judge scores are missing. Rows left out of all numbers for it "
                            "(judging.invalid): ");
            vq_html_count(h, h->r->result->rows_dropped_train + h->r->result->rows_dropped_test);
            vq_html_puts(h, ".");
        }
        end(h);
    }
    if (h->story->inputs_truncated > 0) {
        begin(h);
        vq_html_count(h, h->story->inputs_truncated);
        vq_html_puts(h,
                     " requests were too long for their judge; both outputs were cut evenly, and "
                     "it was asked again.");
        end(h);
    } else if (h->r->config->judging.truncate) {
        say(h, "Requests too long for a judge were allowed to be cut (judging.truncate).");
    }
    for (uint32_t i = 0; i < h->story->warnings_count; i++) {
        begin(h);
        vq_html_text(h, h->story->warnings[i]);
        end(h);
    }
}

void vq_html_warnings(struct vq_html *h)
{
    size_t before = h->out->bytes;
    vq_html_puts(
        h, "<section id=\"warnings\"><h2>Before you quote this</h2>\n<ul class=\"warnings\">\n");
    size_t empty = h->out->bytes;
    judges(h);
    vibes(h);
    fits(h);
    data(h);
    if (h->out->status == VQ_OK && h->out->bytes == empty) {
        h->out->bytes = before;
        h->out->at[before] = '\0';
        return;
    }
    vq_html_puts(h, "</ul></section>\n");
}
