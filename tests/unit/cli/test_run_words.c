/* From the words of `vibeq run` to a configuration, without a file or an environment. */

#include "tests/unit/test.h"

#include "cli/run_words.h"

#include <stdlib.h>
#include <string.h>

const struct vq_verb vq_verbs[] = {{0}};

#define WORDS_MAX 24

static int parse(const char *const *given, struct vq_run_words *ret_words, char **ret_argv,
                 int *ret_count)
{
    static char texts[WORDS_MAX][256];
    int argc = 0;
    for (; given[argc] != NULL; argc++) {
        assert_true(argc < WORDS_MAX);
        (void)strncpy(texts[argc], given[argc], sizeof(texts[argc]) - 1);
        ret_argv[argc] = texts[argc];
    }
    *ret_words = (struct vq_run_words){.yes = false};
    return vq_run_words_parse("run", vq_run_opts, argc, ret_argv, ret_words, ret_count);
}

/* VQ_OK with the configuration, which the caller destroys, or the status and the sentence. */
static enum vq_status config_of(const char *const *given, struct vq_config **ret_config,
                                struct vq_error *err)
{
    struct vq_run_words words;
    char *argv[WORDS_MAX];
    int count = 0;
    assert_int_equal(parse(given, &words, argv, &count), VQ_EXIT_DONE);
    assert_int_equal(count, 1);
    *err = (struct vq_error){0};
    return vq_run_words_config(&words, argv[0], ret_config, err);
}

#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL}, &c, &err)

static int plain_environment(void **state)
{
    (void)state;
    return unsetenv("OPENAI_BASE_URL") | unsetenv("OPENAI_API_KEY");
}

TEST(test_words_become_a_configuration)
{
    struct vq_config *c;
    struct vq_error err;
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "offline-a,offline-b",
                            "--prompt", "ask", "--preference", "won", "--limit", "9", "--workers",
                            "3", "--set", "seed=5"),
                     VQ_OK);
    assert_string_equal(c->data.path, "d.csv");
    assert_string_equal(c->data.prompt, "ask");
    assert_string_equal(c->data.preference, "won");
    assert_int_equal(c->data.limit, 9);
    assert_int_equal(c->workers, 3);
    assert_int_equal(c->seed, 5);
    assert_string_equal(c->models[0], "a");
    assert_string_equal(c->models[1], "b");
    assert_int_equal(c->judges_count, 2);
    assert_null(c->judges[0].base_url);
    assert_string_equal(c->judges[1].model, "offline-b");
    assert_int_equal(c->method, VQ_METHOD_PRESET);
    vq_config_destroy(&c);
}

TEST(test_names_with_commas_quotes_and_colons)
{
    struct vq_config *c;
    struct vq_error err;
    assert_int_equal(CONFIG("d.csv", "--model", "a, \"x\": y", "--model", "b # c", "--judge",
                            "offline-a,1", "--judge", "offline-b,2"),
                     VQ_OK);
    assert_string_equal(c->models[0], "a, \"x\": y");
    assert_string_equal(c->models[1], "b # c");
    assert_int_equal(c->judges_count, 2);
    assert_string_equal(c->judges[0].model, "offline-a,1");
    assert_string_equal(c->judges[1].model, "offline-b,2");
    vq_config_destroy(&c);
}

TEST(test_endpoint_and_key)
{
    struct vq_config *c;
    struct vq_error err;
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "m,offline-a"), VQ_OK);
    assert_string_equal(c->judges[0].base_url, "https://api.openai.com/v1");
    assert_null(c->judges[0].key);
    assert_null(c->judges[1].base_url);
    vq_config_destroy(&c);
    assert_int_equal(setenv("OPENAI_BASE_URL", "", 1), 0);
    assert_int_equal(setenv("OPENAI_API_KEY", "", 1), 0);
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "m"), VQ_OK);
    assert_string_equal(c->judges[0].base_url, "https://api.openai.com/v1");
    assert_null(c->judges[0].key);
    vq_config_destroy(&c);
    assert_int_equal(setenv("OPENAI_BASE_URL", "https://one.example/v1", 1), 0);
    assert_int_equal(setenv("OPENAI_API_KEY", "not read here", 1), 0);
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "m"), VQ_OK);
    assert_string_equal(c->judges[0].base_url, "https://one.example/v1");
    assert_string_equal(c->judges[0].key, "env:OPENAI_API_KEY");
    vq_config_destroy(&c);
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "m", "--base-url",
                            "https://two.example/v1", "--key", "file:/k"),
                     VQ_OK);
    assert_string_equal(c->judges[0].base_url, "https://two.example/v1");
    assert_string_equal(c->judges[0].key, "file:/k");
    vq_config_destroy(&c);
    assert_int_equal(plain_environment(NULL), 0);
}

TEST(test_discovery)
{
    struct vq_config *c;
    struct vq_error err;
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "m", "--base-url",
                            "https://one.example/v1", "--key", "env:K", "--discover", "--proposer",
                            "large"),
                     VQ_OK);
    assert_int_equal(c->method, VQ_METHOD_DISCOVER);
    assert_string_equal(c->proposer->model, "large");
    assert_string_equal(c->proposer->base_url, "https://one.example/v1");
    assert_string_equal(c->proposer->key, "env:K");
    vq_config_destroy(&c);
    assert_int_equal(CONFIG("d.csv", "--models", "a,b", "--judge", "offline-a"), VQ_OK);
    assert_int_equal(c->method, VQ_METHOD_PRESET);
    vq_config_destroy(&c);
    assert_int_equal(CONFIG("c.yaml", "--proposer", "large"), VQ_INVALID);
    assert_non_null(strstr(err.text, "--proposer"));
}

TEST(test_sentences_name_the_option)
{
    static const struct {
        const char *more[3];
        const char *begins;
    } cases[] = {
        {{"--prompt", "a"}, "--prompt: "},
        {{"--preference", "b"}, "--preference: "},
        {{"--key", "pasted", NULL}, "--key: "},
        {{"--base-url", "http://far.example/v1", NULL}, "--base-url: "},
        {{"--workers", "257", NULL}, "--workers: "},
        {{"--set", "nonsense=1", NULL}, "--set: unknown key"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        const char *given[] = {"d.csv",          "--models",       "a,b", "--judge", "m",
                               cases[i].more[0], cases[i].more[1], NULL};
        struct vq_config *c = NULL;
        struct vq_error err;
        assert_int_equal(config_of(given, &c, &err), VQ_INVALID);
        assert_null(c);
        if (strncmp(err.text, cases[i].begins, strlen(cases[i].begins)) != 0) {
            fail_msg("%s: %s", cases[i].more[0], err.text);
        }
        assert_null(strstr(err.text, "pasted"));
        assert_null(strstr(err.text, "command line"));
    }
}

TEST(test_options_of_a_data_file_do_not_go_with_a_configuration)
{
    struct vq_config *c;
    struct vq_error err;
    assert_int_equal(CONFIG("c.yaml", "--judge", "m"), VQ_INVALID);
    assert_non_null(strstr(err.text, "go with a data file"));
    assert_true(vq_is_config_name("a/b.YML"));
    assert_false(vq_is_config_name("yaml"));
    assert_false(vq_is_config_name("a.yaml.csv"));
}

TEST_GROUP(plain_environment, NULL)
