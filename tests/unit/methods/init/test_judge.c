/* Drafts of method: judge: which columns are taken for outputs, labels and groups, and that what is
 * written loads and builds. */
#include "tests/unit/test.h"

#include "common/conf/config.h"
#include "methods/init/init.h"
#include "methods/rubric/data.h"

#include <stdio.h>
#include <string.h>

#define NONE VQ_INIT_NONE

static struct vq_table *table_of(const char *text, enum vq_table_format format)
{
    struct vq_table *table = NULL;
    struct vq_error err;
    if (vq_table_parse(vq_span_str(text), format, "d", &table, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return table;
}

/* What is written loads, and its rows are built: nothing that it names is missing or cannot be
 * read. */
static void builds(const struct vq_table *table, const struct vq_init_guess *guess,
                   uint32_t outputs, uint32_t criteria, uint32_t labelled)
{
    struct vq_buf out;
    struct vq_config *config = NULL;
    struct vq_rubric_data *data = NULL;
    struct vq_criterion list[3];
    struct vq_error err = {.text = ""};
    vq_buf_init(&out, VQ_INIT_BYTES_MAX);
    vq_init_judge_config(table, "d.csv", guess, &out);
    assert_int_equal(out.status, VQ_OK);
    if (vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, out.at);
    }
    assert_int_equal(config->method, VQ_METHOD_JUDGE);
    assert_int_equal(config->models_count, outputs);
    assert_int_equal(config->criteria_count, criteria);
    for (uint32_t i = 0; i < criteria; i++) {
        const struct vq_conf_criterion *c = &config->criteria[i];
        list[i] = c->rubric == NULL
                      ? *vq_criterion_builtin(c->name)
                      : (struct vq_criterion){c->name, VQ_RATING_LIKERT, "", c->rubric};
    }
    struct vq_rubric_settings settings = {config, list, "d.csv"};
    if (vq_rubric_data_create(&settings, table, &data, &err) != VQ_OK) {
        fail_msg("%s\n%s", err.text, out.at);
    }
    assert_int_equal(data->labelled[1], labelled);
    vq_rubric_data_destroy(&data);
    vq_config_destroy(&config);
    vq_buf_free(&out);
}

TEST(test_guesses)
{
    static const struct {
        const char *text;
        uint32_t prompt, a, b, human, group, labelled;
        bool json;
    } cases[] = {
        /* one column by its name, whatever else is long */
        {"question,answer,why\nq1,yes,a long reason for that\nq2,no,another long reason\n", 0, 1,
         NONE, NONE, NONE, 0, false},
        /* a pair of names with choices by letter */
        {"prompt,response_a,response_b,winner,topic\np,one,two,A,s\nq,three,four,b,t\nr,5,6,tie,"
         "s\n",
         0, 1, 2, 3, 4, 3, false},
        /* choices that cannot all be read are left out */
        {"prompt,response_a,response_b,winner\np,one,two,A\nq,three,four,perhaps\n", 0, 1, 2, NONE,
         NONE, 0, false},
        /* columns that the choices name */
        {"question,friendly,cold,preference\nq1,hello,bye,friendly\nq2,hi,no,cold\nq3,yo,k,\n", 0,
         1, 2, 3, NONE, 2, false},
        /* the longest texts; the second only where it is long too: numbers are no outputs */
        {"id,input,gpt\n1,i1,a long text here\n2,i2,and another text\n", 1, 2, NONE, NONE, NONE, 0,
         false},
        {"input,gpt,llama\ni1,a long text here,quite as long\ni2,and another text,and this too\n",
         0, 1, 2, NONE, NONE, 0, false},
        /* what is no text is not taken, whatever its name */
        {"{\"prompt\": \"p\", \"response\": [\"a\"], \"text_of_it\": \"some long text\"}\n"
         "{\"prompt\": \"q\", \"response\": [\"b\"], \"text_of_it\": \"another long one\"}\n",
         0, 2, NONE, NONE, NONE, 0, true},
        /* nothing to go by */
        {"prompt,x\np,1\nq,1\nr,1\n", 0, NONE, NONE, NONE, NONE, 0, false},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_table *table =
            table_of(cases[i].text, cases[i].json ? VQ_TABLE_JSONL : VQ_TABLE_CSV);
        struct vq_init_guess g;
        assert_int_equal(vq_init_guess_rated(table, &g), VQ_OK);
        if (g.prompt != cases[i].prompt || g.model[0] != cases[i].a || g.model[1] != cases[i].b ||
            g.preference != cases[i].human || g.group != cases[i].group) {
            fail_msg("case %zu: prompt %d, outputs %d %d, human %d, group %d", i, (int)g.prompt,
                     (int)g.model[0], (int)g.model[1], (int)g.preference, (int)g.group);
        }
        if (g.model[0] != NONE) {
            bool two = g.model[1] != NONE;
            builds(table, &g, two ? 2 : 1, two ? 3 : 2, cases[i].labelled);
        }
        vq_table_destroy(&table);
    }
}

TEST(test_groups_that_are_too_many)
{
    struct vq_buf csv;
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "prompt,output,topic\n");
    for (uint32_t i = 0; i < 2000; i++) { /* few of them at first */
        vq_buf_printf(&csv, "p%u,a,t%u\n", i, i < 300 ? i % 5 : i);
    }
    vq_buf_putc(&csv, '\0');
    struct vq_table *table = table_of(csv.at, VQ_TABLE_CSV);
    struct vq_init_guess g;
    assert_int_equal(vq_init_guess_rated(table, &g), VQ_OK);
    assert_int_equal(g.group, NONE);
    builds(table, &g, 1, 2, 0);
    vq_table_destroy(&table);
    vq_buf_free(&csv);
}

TEST(test_without_an_output_it_loads_and_names_no_column)
{
    struct vq_table *table = table_of("a\n1\n", VQ_TABLE_CSV);
    struct vq_init_guess nothing = {
        .prompt = NONE, .model = {NONE, NONE}, .preference = NONE, .group = NONE};
    struct vq_buf out;
    struct vq_config *config = NULL;
    struct vq_error err = {.text = ""};
    vq_buf_init(&out, VQ_INIT_BYTES_MAX);
    vq_init_judge_config(table, "da\"ta\n.csv", &nothing, &out);
    assert_int_equal(vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err),
                     VQ_OK);
    assert_string_equal(config->data.path, "da\"ta\n.csv");
    assert_string_equal(config->models[0], "COLUMN OF THE OUTPUTS");
    vq_config_destroy(&config);
    vq_buf_free(&out);
    vq_table_destroy(&table);
}

/* Whoever made the data does not write the configuration: no character of a cell or a name ends the
 * comment that shows it. */
TEST(test_cells_stay_in_their_comments)
{
    static const char *const ends[] = {"\n",           "\r",           "\xc2\x85",
                                       "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf",
                                       "\xef\xbf\xbf", "\xc2\x9b"};
    for (size_t i = 0; i < VQ_COUNT(ends); i++) {
        char csv[200];
        (void)snprintf(csv, sizeof(csv), "prompt,output,\"x%sbudget: y\"\np1,\"a%sseed: 7\",b\n",
                       ends[i], ends[i]);
        struct vq_table *table = table_of(csv, VQ_TABLE_CSV);
        struct vq_init_guess g;
        struct vq_buf out;
        struct vq_config *config = NULL;
        struct vq_error err = {.text = ""};
        assert_int_equal(vq_init_guess_rated(table, &g), VQ_OK);
        vq_buf_init(&out, VQ_INIT_BYTES_MAX);
        vq_init_judge_config(table, "d.csv", &g, &out);
        if (vq_config_parse(out.at, out.bytes, "init", "/base", NULL, 0, &config, &err) != VQ_OK) {
            fail_msg("%zu: %s", i, err.text);
        }
        assert_int_equal(config->seed, 42);
        vq_config_destroy(&config);
        vq_buf_free(&out);
        vq_table_destroy(&table);
    }
}
