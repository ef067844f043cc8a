/* Which two models are meant, and what is counted when their answers are joined. */
#include "tests/unit/test.h"

#include "common/import/import.h"
#include "common/text/table.h"

struct pairing {
    struct vq_import_set set;
    struct vq_import_pairing told;
    struct vq_buf out;
    struct vq_error err;
};

static void add(struct pairing *p, const char *name, const char *text)
{
    struct vq_error err = {.text = ""};
    if (vq_import_read(vq_import_format_find("openai-chat"), vq_span_str(text), name, &p->set,
                       &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static int start(void **state)
{
    static struct pairing p;
    p = (struct pairing){.err = {.text = ""}};
    vq_import_set_init(&p.set);
    vq_buf_init(&p.out, 1u << 16);
    *state = &p;
    return 0;
}

static int stop(void **state)
{
    struct pairing *p = *state;
    vq_buf_free(&p->out);
    vq_import_set_free(&p->set);
    return 0;
}

static enum vq_status pair(struct pairing *p, const char *a, const char *b)
{
    const char *const names[2] = {a, b};
    vq_buf_clear(&p->out);
    return vq_import_pair(&p->set, names, &p->out, &p->told, &p->err);
}

static void says(const struct pairing *p, const char *text)
{
    if (strstr(p->err.text, text) == NULL) {
        fail_msg("\"%s\" is not in: %s", text, p->err.text);
    }
}

#define LINE(model, id, q, a)                                                                      \
    "{\"model\": \"" model "\", \"id\": \"" id                                                     \
    "\", \"messages\": [{\"role\": \"user\", \"content\": \"" q                                    \
    "\"}, {\"role\": \"assistant\", \"content\": \"" a "\"}]}\n"

TEST_WITH(test_counts, start, stop)
{
    struct pairing *p = *state;
    add(p, "a.jsonl",
        LINE("m", "1", "q1", "x") LINE("m", "2", "q2", "") LINE("m", "2", "q2", "again")
            LINE("m", "3", "q3", "z"));
    add(p, "b.jsonl",
        LINE("n", "2", "other", "y") LINE("n", "4", "q4", "w") LINE("n", "1", "q1", "v"));
    assert_int_equal(pair(p, NULL, NULL), VQ_OK);
    assert_string_equal(p->out.at, "id,question,m,n\n1,q1,x,v\n2,q2,,y\n");
    assert_int_equal(p->told.rows, 2);
    assert_int_equal(p->told.only[0], 1);
    assert_int_equal(p->told.only[1], 1);
    assert_int_equal(p->told.repeated[0], 1);
    assert_int_equal(p->told.empty[0], 1);
    assert_int_equal(p->told.other_prompt, 1);
    assert_int_equal(pair(p, "n", "m"), VQ_OK); /* both are there: chosen in this order */
    assert_string_equal(p->out.at, "id,question,n,m\n2,other,y,\n1,q1,v,x\n");
    assert_int_equal(pair(p, "left", NULL), VQ_OK); /* else a name for the column */
    assert_string_equal(p->out.at, "id,question,left,n\n1,q1,x,v\n2,q2,,y\n");
}

TEST_WITH(test_one_file_with_models, start, stop)
{
    struct pairing *p = *state;
    add(p, "a.jsonl", LINE("m", "1", "q", "x"));
    assert_int_equal(pair(p, NULL, NULL), VQ_INVALID);
    says(p, "two models are needed: name a second file; the models in these files are m (1 in "
            "a.jsonl)");
    add(p, "b.jsonl", LINE("n", "1", "q", "y") LINE("o", "1", "q", "z"));
    assert_int_equal(pair(p, NULL, NULL), VQ_INVALID);
    says(p, "choose them with --a NAME --b NAME; the models in these files are m (1 in a.jsonl), n "
            "(1 in");
    assert_int_equal(pair(p, "m", "p"), VQ_INVALID);
    says(p, "there is no model p");
    assert_int_equal(pair(p, "o", "m"), VQ_OK);
    assert_string_equal(p->out.at, "id,question,o,m\n1,q,z,x\n");
}

TEST_WITH(test_the_same_name_twice, start, stop)
{
    struct pairing *p = *state;
    add(p, "a.jsonl", LINE("m", "1", "q", "x"));
    add(p, "b.jsonl", LINE("m", "1", "q", "y"));
    assert_int_equal(pair(p, NULL, NULL), VQ_INVALID);
    says(p, "the same name");
    assert_int_equal(pair(p, NULL, "question"), VQ_INVALID);
    says(p, "cannot have this name");
    assert_int_equal(pair(p, "old", "new"), VQ_OK);
    assert_string_equal(p->out.at, "id,question,old,new\n1,q,x,y\n");
}

TEST_WITH(test_nothing_in_common, start, stop)
{
    struct pairing *p = *state;
    add(p, "a.jsonl", LINE("m", "1", "q", "x"));
    add(p, "b.jsonl", LINE("n", "2", "q", "y"));
    assert_int_equal(pair(p, NULL, NULL), VQ_INVALID);
    says(p, "no prompt has answers of both: m has answers to 1 other prompts, n to 1");
}

static void add_table(struct pairing *p, const char *name, const char *csv)
{
    static const struct vq_import_columns columns = {.key = "id"};
    struct vq_table *table = NULL;
    assert_int_equal(vq_table_parse(vq_span_str(csv), VQ_TABLE_CSV, name, &table, &p->err), VQ_OK);
    assert_int_equal(vq_import_table(table, &columns, name, &p->set, &p->err), VQ_OK);
    vq_table_destroy(&table);
}

TEST_WITH(test_tables, start, stop)
{
    struct pairing *p = *state;
    static const struct vq_import_columns columns = {.key = "id"}, wrong = {.key = "nr"};
    struct vq_table *table = NULL;
    add_table(p, "dir/a.csv", "id,response\n1,x\n2,y\n");
    add_table(p, "b.csv", "answer,id,prompt\nv,2,Why?\n");
    assert_int_equal(pair(p, NULL, NULL), VQ_OK);
    assert_string_equal(p->out.at, "id,question,a,b\n2,Why?,y,v\n");
    assert_int_equal(vq_table_parse(vq_span_str("id,x\n1,2\n"), VQ_TABLE_CSV, "c", &table, &p->err),
                     VQ_OK);
    assert_int_equal(vq_import_table(table, &columns, "c", &p->set, &p->err), VQ_INVALID);
    says(p, "c: expected a column of outputs, found the columns id, x; name it with --column");
    assert_int_equal(vq_import_table(table, &wrong, "c", &p->set, &p->err), VQ_INVALID);
    says(p, "name it with --key");
    vq_table_destroy(&table);
}

TEST_WITH(test_answers_without_prompts, start, stop)
{
    struct pairing *p = *state;
    add_table(p, "a.csv", "id,response\n1,x\n");
    add_table(p, "b.csv", "id,response\n1,y\n");
    assert_int_equal(pair(p, NULL, NULL), VQ_INVALID);
    says(p, "no answer has its prompt");
}
