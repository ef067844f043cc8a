/* Splits rows into train and test. All rows of a question are on one side, so that a repeated
 * prompt is never on both. If that would leave a side empty or nearly so (one prompt for all rows),
 * rows are split one by one, with a warning. With a test file, training rows whose prompt is in the
 * test file are excluded. Invariant: the split depends on prompts, settings and seed, never on
 * outputs or on which model is A. */
#include "methods/data/parts.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"

/* A side is nearly empty if it has less than this share of the rows that it should have. */
#define NEARLY_EMPTY_SHARE 0.25

static void split_rows(struct vq_dataset_build *b, uint32_t *order, uint32_t test_wanted)
{
    struct vq_rng rng;
    vq_dataset_rng(b, VQ_STREAM_SPLIT, &rng);
    for (uint32_t i = 0; i < b->count; i++) {
        order[i] = i;
    }
    vq_rng_shuffle_u32(&rng, order, b->count);
    for (uint32_t i = 0; i < b->count; i++) {
        b->rows[order[i]].split = i < test_wanted ? VQ_SPLIT_TEST : VQ_SPLIT_TRAIN;
    }
}

/* Takes questions in seeded order for the test side while they fit. Returns the number of their
 * rows. */
static uint32_t choose_questions(const struct vq_dataset_build *b, const uint32_t *order,
                                 const uint32_t *rows_of, uint32_t test_wanted, bool *is_test)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < vq_questions_count(&b->questions); i++) {
        uint32_t question = order[i];
        if (rows_of[question] > 0 && rows_of[question] <= test_wanted - taken) {
            is_test[question] = true;
            taken += rows_of[question];
        }
    }
    return taken;
}

static enum vq_status split_by_share(struct vq_dataset_build *b, uint32_t test_wanted)
{
    uint32_t questions = vq_questions_count(&b->questions);
    uint32_t longest = questions > b->count ? questions : b->count;
    uint32_t *order, *rows_of;
    bool *is_test;
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, order, longest));
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, rows_of, questions));
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, is_test, questions));
    for (uint32_t i = 0; i < b->count; i++) {
        rows_of[b->rows[i].question]++;
    }
    for (uint32_t q = 0; q < questions; q++) {
        order[q] = q;
    }
    struct vq_rng rng;
    vq_dataset_rng(b, VQ_STREAM_SPLIT, &rng);
    vq_rng_shuffle_u32(&rng, order, questions);
    uint32_t taken = choose_questions(b, order, rows_of, test_wanted, is_test);
    double train_wanted = (double)(b->count - test_wanted);
    b->set->split_by_row = (double)taken < NEARLY_EMPTY_SHARE * test_wanted ||
                           (double)(b->count - taken) < NEARLY_EMPTY_SHARE * train_wanted;
    for (uint32_t i = 0; i < b->count; i++) {
        b->rows[i].split = is_test[b->rows[i].question] ? VQ_SPLIT_TEST : VQ_SPLIT_TRAIN;
    }
    if (b->set->split_by_row) {
        split_rows(b, order, test_wanted);
        vq_dataset_warn(
            b->set,
            "the prompts repeat so much that splitting by prompt leaves a side (nearly) empty; "
            "rows were split instead, so the same prompt can be in train and test");
    }
    return VQ_OK;
}

/* Excludes rows of the data file whose question is in the test file, unless hardly any rows would
 * remain. */
static enum vq_status split_by_file(struct vq_dataset_build *b)
{
    bool *in_test;
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, in_test, vq_questions_count(&b->questions)));
    uint32_t train = 0, shared = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        struct vq_data_row *row = &b->rows[i];
        row->split = row->file == 1 ? VQ_SPLIT_TEST : VQ_SPLIT_TRAIN;
        train += row->file == 0;
        if (row->file == 1) {
            in_test[row->question] = true;
        }
    }
    for (uint32_t i = 0; i < b->count; i++) {
        b->leaves[i] = b->rows[i].file == 0 && in_test[b->rows[i].question];
        shared += b->leaves[i];
    }
    if (shared == 0) {
        return VQ_OK;
    }
    const char *test_name = vq_dataset_file_name(b, 1);
    if ((double)(train - shared) < NEARLY_EMPTY_SHARE * train) {
        memset(b->leaves, 0, b->count * sizeof(*b->leaves));
        b->set->split_by_row = true;
        vq_dataset_warn(
            b->set,
            "%u of the %u training rows have a prompt that is also in %s; leaving them out would "
            "leave (nearly) none, so they stay: test accuracies are not of unseen prompts",
            shared, train, test_name);
    } else {
        vq_dataset_warn(
            b->set,
            "%u of the %u training rows have a prompt that is also in %s; they are left out",
            shared, train, test_name);
    }
    return VQ_OK;
}

enum vq_status vq_dataset_split(struct vq_dataset_build *b)
{
    if (b->set->tables[1] != NULL) {
        return split_by_file(b);
    }
    double share = b->settings->data->test_share;
    if (share <= 0) {
        return VQ_OK; /* all rows are VQ_SPLIT_TRAIN */
    }
    uint32_t wanted = (uint32_t)(share * b->count + 0.5);
    wanted = wanted == 0 ? 1 : wanted;
    wanted = wanted >= b->count ? b->count - 1 : wanted;
    return split_by_share(b, wanted);
}
