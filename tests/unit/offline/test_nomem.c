/* Requests to the built-in server and its files with every allocation failing in turn. */

#include "tests/unit/test.h"

#include "offline/chat.h"
#include "offline/dialect.h"
#include "offline/dialogue.h"
#include "offline/embed.h"
#include "offline/faults/rules.h"
#include "offline/judge/oracle.h"
#include "tests/unit/heap.h"

#include <unistd.h>

struct request {
    const char *path;
    const char *body;
    enum vq_status status;
};

static const struct request chats[] = {
    {"/v1/chat/completions",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":"
     "\"user\",\"content\":[{\"type\":\"text\",\"text\":\"What is \"},{\"type\":\"text\",\"text\":"
     "\"this?\"}]}],\"max_tokens\":5}",
     VQ_OK},
    {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[", VQ_INVALID},
    {"/v1/messages",
     "{\"model\":\"m\",\"max_tokens\":5,\"system\":\"s\",\"messages\":[{\"role\":\"user\","
     "\"content\":[{\"type\":\"text\",\"text\":\"front\",\"cache_control\":{\"type\":"
     "\"ephemeral\"}},{\"type\":\"text\",\"text\":\"rest\"}]}]}",
     VQ_OK},
    {"/v1beta/models/m:generateContent",
     "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":[{\"role\":\"user\","
     "\"parts\":[{\"text\":\"a\"},{\"text\":\"b\"}]}],\"generationConfig\":{\"maxOutputTokens\":5,"
     "\"seed\":3}}",
     VQ_OK},
};

static enum vq_status parse_chat(void *ctx)
{
    const struct request *r = ctx;
    struct vq_route route;
    vq_route_of(r->path, &route);
    assert_int_equal(route.kind, VQ_ROUTE_CHAT);
    struct vq_chat_request request;
    struct vq_error err = {.text = ""};
    enum vq_status status = vq_chat_parse(vq_span_str(r->body), &route, &request, &err);
    if (status == VQ_OK) {
        assert_string_equal(request.model, "m");
        assert_true(request.question_text.bytes > 0);
        vq_chat_request_free(&request);
    }
    return status == r->status ? VQ_OK : status;
}

TEST(chat_requests)
{
    for (size_t i = 0; i < VQ_COUNT(chats); i++) {
        struct request r = chats[i];
        assert_true(heap_torture(r.path, parse_chat, &r, false) > 3);
    }
}

static enum vq_status read_dialogue(void *ctx)
{
    const struct vq_chat_request *request = ctx;
    struct vq_dialogue d;
    enum vq_status status = vq_dialogue_read(request, &d);
    if (status == VQ_OK) {
        assert_int_equal(d.n, 2);
        assert_int_equal(d.turns[0].role, VQ_TURN_SYSTEM);
        assert_true(vq_span_eq(d.turns[0].text, vq_span_str("be brief")));
        assert_int_equal(d.turns[1].role, VQ_TURN_USER);
        assert_true(vq_span_eq(d.turns[1].text, vq_span_str("What is this?")));
        vq_dialogue_free(&d);
    }
    return status;
}

TEST(turns_of_a_request)
{
    struct vq_route route;
    struct vq_chat_request request;
    vq_route_of(chats[0].path, &route);
    assert_int_equal(vq_chat_parse(vq_span_str(chats[0].body), &route, &request, NULL), VQ_OK);
    assert_true(heap_torture("dialogue", read_dialogue, &request, false) >= 2);
    vq_chat_request_free(&request);
}

static int text_file(const char *text, char *path)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return close(fd);
}

static enum vq_status load_oracle(void *ctx)
{
    struct vq_oracle *oracle = NULL;
    struct vq_error err = {.text = ""};
    enum vq_status status = vq_oracle_load(ctx, 1, &oracle, &err);
    assert_true((status == VQ_OK) == (oracle != NULL));
    assert_true(status != VQ_OK || vq_oracle_names_model(oracle, "m1"));
    vq_oracle_destroy(&oracle);
    return status;
}

TEST(a_truth_file)
{
    char path[] = "/tmp/vibeq-nomem-XXXXXX";
    (void)text_file("# truth\n{\"rates\":{\"model\":\"m1\",\"error\":0.5}}\n"
                    "{\"axis\":\"Tone\",\"sample\":\"s1\",\"score\":1}\n"
                    "{\"axis\":\"Tone\",\"sample\":\"s2\",\"score\":\"N/A\"}\n",
                    path);
    assert_true(heap_torture("oracle", load_oracle, path, true) >
                10); /* stdio does without a buffer */
    unlink(path);
}

static enum vq_status load_rules(void *ctx)
{
    struct vq_fault_rules rules = {.seed = 1};
    struct vq_error err = {.text = ""};
    enum vq_status status = vq_fault_rules_add(&rules, "rate_limit=0.5,tries=2", &err);
    assert_int_equal(rules.n, status == VQ_OK ? 1 : 0);
    status = status == VQ_OK ? vq_fault_rules_load(&rules, ctx, &err) : status;
    vq_fault_rules_free(&rules);
    return status;
}

TEST(a_fault_script)
{
    char path[] = "/tmp/vibeq-nomem-XXXXXX";
    (void)text_file("{\"fault\":\"rate_limit\",\"p\":0.5}\n{\"fault\":\"rate_limit\",\"nth\":3}\n",
                    path);
    assert_true(heap_torture("rules", load_rules, path, true) > 5);
    unlink(path);
}
