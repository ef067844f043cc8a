/* Guessed configurations: what is found in data of several habits, and that what is written loads
 * and builds. */
#include "tests/unit/test.h"

#include "common/conf/config.h"
#include "methods/data/dataset.h"
#include "methods/init/init.h"

static struct vq_table *table_of(const char *csv)
{
    struct vq_table *table = NULL;
    struct vq_error err;
    if (vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, "d", &table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return table;
}

struct expectation {
    const char *csv;
    uint32_t prompt, a, b, preference, group;
    bool by_label;
};

#define NONE VQ_INIT_NONE

TEST(test_guesses)
{
    static const struct expectation cases[] = {
        /* labels name the columns, whatever they are called */
        {"question,category,friendly,cold,preference\nq1,c,hello,bye,friendly\nq2,d,hi,no,cold\nq3,"
         "c,yo,k,tie\n",
         0, 2, 3, 4, 1, true},
        {"id,who,xx,yy,Prompt\n1,xx,aaa,bbb,p1\n2,yy,ccc,ddd,p2\n", 4, 2, 3, 1, NONE, true},
        /* pairs of names */
        {"prompt,response_a,response_b,source\np,one,two,s\nq,three,four,t\n", 0, 1, 2, NONE, 3,
         false},
        /* the two longest columns of different texts */
        {"instruction,lang,gpt,human,score\ni1,en,a long text here,another long "
         "text,1\ni2,en,longer text again,and one more text,2\n",
         0, 2, 3, NONE, NONE, false},
        /* a winner column that does not name columns would be refused: left out */
        {"prompt,response_a,response_b,winner\np,one,two,model_a\nq,three,four,model_b\n", 0, 1, 2,
         NONE, NONE, false},
        /* nothing to go by */
        {"x\n1\n2\n", NONE, NONE, NONE, NONE, NONE, false},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_table *table = table_of(cases[i].csv);
        struct vq_init_guess g;
        vq_init_guess(table, &g);
        if (g.prompt != cases[i].prompt || g.model[0] != cases[i].a || g.model[1] != cases[i].b ||
            g.preference != cases[i].preference || g.group != cases[i].group ||
            g.models_by_label != cases[i].by_label) {
            fail_msg("case %zu: prompt %d, models %d %d, preference %d, group %d", i, (int)g.prompt,
                     (int)g.model[0], (int)g.model[1], (int)g.preference, (int)g.group);
        }
        vq_table_destroy(&table);
    }
}

TEST(test_what_is_written_loads_and_builds)
{
    /* names and cells that would break a careless writer */
    struct vq_table *table =
        table_of("\"the\nprompt: # \"\"x\"\"\",\"- a\",\xe6\xa8\xa1,prompt\n"
                 "\"line\n\x01 two\",first text,second thing,p1\nl,third text,fourth thing,p2\n");
    struct vq_init_guess g;
    vq_init_guess(table, &g);
    g.group = 0;
    g.prompt = 3;
    g.model[0] = 1;
    g.model[1] = 2;
    struct vq_buf out;
    vq_buf_init(&out, VQ_INIT_BYTES_MAX);
    vq_init_config(table, "dir/da\"ta.csv", &g, &out);
    assert_int_equal(out.status, VQ_OK);
    struct vq_config *config = NULL;
    struct vq_error err;
    if (vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, out.at);
    }
    assert_string_equal(config->data.path, "dir/da\"ta.csv");
    assert_string_equal(config->data.prompt, "prompt");
    assert_string_equal(config->data.group, "the\nprompt: # \"x\"");
    assert_string_equal(config->models[0], "- a");
    assert_string_equal(config->models[1], "\xe6\xa8\xa1");
    assert_int_equal(config->judges_count, 2);
    struct vq_dataset_settings settings = {.data = &config->data,
                                           .models = {config->models[0], config->models[1]},
                                           .seed = config->seed};
    struct vq_dataset *set = NULL;
    if (vq_dataset_build(&settings, table, NULL, &set, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(vq_dataset_count(set), 2);
    assert_int_equal(set->groups_count, 2);
    vq_dataset_destroy(&set);
    vq_config_destroy(&config);

    vq_buf_clear(&out);
    struct vq_init_guess nothing = {
        .prompt = NONE, .model = {NONE, NONE}, .preference = NONE, .group = NONE};
    vq_init_config(table, "d.csv", &nothing, &out);
    assert_int_equal(vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err),
                     VQ_OK);
    assert_string_equal(config->models[0], "COLUMN OF MODEL A");
    vq_config_destroy(&config);
    vq_buf_free(&out);
    vq_table_destroy(&table);
}
