/* What `vibeq replay --set` may change of what a run has copies of. */
#include "tests/unit/cli/two_configs.h"

#include "cli/copied_inputs.h"

static const char judge[] = "data: d.csv\nmodels: [a, b]\njudges: [offline-a]\ncriteria:\n- "
                            "refusal\n- {name: own, file: own.txt}\n"
                            "- {name: mine, kind: likert, rubric: x}\n";
static const char persona[] =
    "subjects: [offline-subject]\njudges: [offline-a]\ndialogues: {personas: p.yaml, goal: q.txt}\n"
    "criteria: [style, knowledge]\nprobes:\n- {file: a.csv}\n";

static enum vq_status check(const char *yaml, const char *override, struct vq_error *err)
{
    return two_configs(vq_copied_inputs_check, yaml, override, err);
}

static void fine(const char *yaml, const char *override)
{
    struct vq_error err;
    if (check(yaml, override, &err) != VQ_OK) {
        fail_msg("%s: %s", override, err.text);
    }
}

static void refused(const char *yaml, const char *override, const char *key)
{
    struct vq_error err;
    assert_int_equal(check(yaml, override, &err), VQ_INVALID);
    char named[64] = "--set ";
    (void)strncat(named, key, sizeof(named) - 8);
    assert_non_null(strstr(err.text, named));
}

TEST(what_no_copy_depends_on)
{
    fine(judge, "seed=3");
    fine(judge, "rating.policy=paper");
    fine(judge, "data.group=topic");
    fine(judge, "criteria[0].human=[x, y]");
    fine(judge, "criteria[2].rubric=y");
    fine(judge, "criteria=[refusal]"); /* the rest is left out */
    fine(persona, "rating.policy=paper");
}

TEST(files_by_name)
{
    refused(judge, "data.path=other.csv", "data.path");
    refused(judge, "prompts.dir=there", "prompts.dir");
    refused(judge, "criteria[1].file=other.txt", "criteria[1]");
    refused(persona, "dialogues.personas=x.yaml", "dialogues.personas");
    refused(persona, "dialogues.goal=x.txt", "dialogues.goal");
    refused(persona, "dialogues.human=x.csv", "dialogues.human");
    refused(persona, "probes[0].file=x.csv", "probes[0]");
}

/* Whose text would be read as another's. */
TEST(criteria_by_their_places)
{
    refused(judge, "criteria=[general, refusal]", "criteria[0]");
    refused(judge, "criteria[0].name=general", "criteria[0]");
    refused(judge, "criteria=[refusal, {name: own, file: own.txt}, general]", "criteria[2]");
    refused(persona, "criteria=[knowledge, style]", "criteria[0]");
    refused(persona, "criteria=[style]", "criteria");
    refused(persona, "criteria=[style, knowledge, in_character]", "criteria");
    refused(persona, "probes[0].criterion=refusal", "probes[0]");
    refused(persona, "probes=[a.csv, b.csv]", "probes");
}
