

#include "tests/unit/test.h"

#include "offline/embed.h"

#include <jansson.h>
#include <math.h>

static double cosine(const char *a, const char *b)
{
    float x[VQ_EMBED_DIMENSIONS];
    float y[VQ_EMBED_DIMENSIONS];
    vq_embed_text(vq_span_str(a), VQ_EMBED_DIMENSIONS, x);
    vq_embed_text(vq_span_str(b), VQ_EMBED_DIMENSIONS, y);
    double sum = 0;
    for (size_t i = 0; i < VQ_EMBED_DIMENSIONS; i++) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

TEST(texts_that_share_words_are_near)
{
    assert_true(fabs(cosine("a formal tone", "A formal TONE!") - 1) < 1e-5);
    double near = cosine("uses a formal tone", "formality of the tone");
    double far = cosine("uses a formal tone", "jokes and puns everywhere");
    assert_true(near > far + 0.2);
    assert_true(fabs(cosine("", "x")) <= 0);
}

/* Whatever the wording: axes about one feature are nearer to each other than to any other axis. */
TEST(axes_of_one_feature_are_nearest)
{
    static const struct {
        int feature;
        const char *axis;
    } axes[] = {
        {0, "Length: High: long answers Low: brief"},
        {0, "Brevity: High: short Low: verbose, wordy"},
        {0, "Size of the reply: High: lengthy Low: terse, few words"},
        {1, "Humour: High: makes jokes Low: serious"},
        {1, "Playfulness: High: witty and light-hearted Low: solemn"},
        {2, "Layout: High: bullet points and headings Low: plain prose"},
        {2, "Use of lists: High: numbered lists Low: paragraphs"},
        {3, "Certainty of tone: High: hedged, tentative Low: confident"},
        {3, "Confidence: High: decisive Low: hesitant and unsure"},
        {4, "Warmth: High: friendly Low: cold"},
        {4, "Kindness: High: caring, supportive Low: curt"},
    };
    for (size_t i = 0; i < VQ_COUNT(axes); i++) {
        double near = 2;
        double far = -2;
        for (size_t j = 0; j < VQ_COUNT(axes); j++) {
            double c = cosine(axes[i].axis, axes[j].axis);
            bool same = axes[i].feature == axes[j].feature;
            near = same && j != i && c < near ? c : near;
            far = !same && c > far ? c : far;
        }
        if (near < far + 0.1) {
            fail_msg("%s: %f to its own, %f to another", axes[i].axis, near, far);
        }
    }
}

static bool knows_nothing(const void *context, const char *model)
{
    (void)context;
    (void)model;
    return false;
}

static json_t *ask_at(const char *path, const char *body, int status)
{
    struct vq_route route;
    vq_route_of(path, &route);
    assert_int_equal(route.kind, VQ_ROUTE_EMBED);
    struct vq_offline_reply reply;
    vq_offline_reply_init(&reply);
    char model[VQ_CHAT_MODEL_BYTES];
    reply.dialect = route.dialect;
    assert_int_equal(vq_embed_answer(&route, vq_span_str(body), knows_nothing, NULL, &reply, model),
                     VQ_OK);
    assert_int_equal(reply.status, status);
    json_t *root = json_loadb(reply.body.at, reply.body.bytes, 0, NULL);
    assert_non_null(root);
    vq_offline_reply_free(&reply);
    return root;
}

static json_t *ask(const char *body)
{
    return ask_at("/v1/embeddings", body, 200);
}

TEST(gemini_has_the_same_vectors)
{
    static const char path[] = "/v1beta/models/offline-embed:batchEmbedContents";
    json_t *openai = ask("{\"model\":\"offline-embed\",\"input\":[\"one\",\"two words\"]}");
    json_t *gemini = ask_at(path,
                            "{\"requests\":[{\"model\":\"models/offline-embed\",\"content\":{"
                            "\"parts\":[{\"text\":\"one\"}]}},{\"model\":\"models/offline-embed\","
                            "\"content\":{\"parts\":[{\"text\":\"two words\"}]}}]}",
                            200);
    for (size_t i = 0; i < 2; i++) {
        const json_t *a =
            json_object_get(json_array_get(json_object_get(openai, "data"), i), "embedding");
        const json_t *b =
            json_object_get(json_array_get(json_object_get(gemini, "embeddings"), i), "values");
        assert_true(json_array_size(a) > 0 && json_equal(a, b));
    }
    json_decref(openai);
    json_decref(gemini);
    static const char *const bad[] = {
        "{}",
        "{\"requests\":[]}",
        ("{\"requests\":[{\"model\":\"models/other\",\"content\":{\"parts\":"
         "[{\"text\":\"x\"}]}}]}"),
        ("{\"requests\":[{\"model\":\"models/offline-embed\",\"content\":{\"parts\":"
         "[{\"text\":1}]}}]}"),
        "{\"requests\":[{\"model\":\"models/offline-embed\"}]}",
    };
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        json_decref(ask_at(path, bad[i], 400));
    }
}

TEST(lists_and_dimensions_are_honoured)
{
    json_t *root =
        ask("{\"model\":\"offline-embed\",\"input\":[\"one\",\"two words\"],\"dimensions\":8}");
    const json_t *data = json_object_get(root, "data");
    assert_int_equal(json_array_size(data), 2);
    const json_t *vector = json_object_get(json_array_get(data, 1), "embedding");
    assert_int_equal(json_array_size(vector), 8);
    double sum = 0;
    for (size_t i = 0; i < 8; i++) {
        double value = json_number_value(json_array_get(vector, i));
        sum += value * value;
    }
    assert_true(fabs(sum - 1) < 1e-5);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(root, "usage"), "total_tokens")), 3);
    json_decref(root);
}

TEST(base64_holds_the_same_floats)
{
    /* One dimension and one word: the vector is 1 or -1, whose bytes are known. */
    json_t *root = ask("{\"model\":\"offline-embed\",\"input\":\"x\",\"dimensions\":1,\"encoding_"
                       "format\":\"base64\"}");
    const char *text = json_string_value(
        json_object_get(json_array_get(json_object_get(root, "data"), 0), "embedding"));
    assert_non_null(text);
    assert_true(strcmp(text, "AACAPw==") == 0 || strcmp(text, "AACAvw==") == 0);
    json_decref(root);
}
