/* The steps from records to samples, in this order:
 *   1. the sample of `limit` records per file;
 *   2. rows whose two outputs equal those of an earlier row are excluded;
 *   3. the split into train and test;
 *   4. rows with (nearly) identical outputs are excluded;
 *   5. seeded order, then caps;
 *   6. ties are excluded if the configuration asks for it.
 * With more than two models, records are split; then each becomes one row per pair, and step 2
 * follows. Invariants: every record read is a sample or counted under exactly one exclusion; each
 * step draws from its own stream, so that a setting of one step does not change the draws of
 * another. Ownership: the dataset owns its rows, the tables own all texts. Not its job: reading
 * files, printing. */
#include "methods/data/dataset.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/text/fmt.h"
#include "methods/data/parts.h"
#include "methods/data/similarity.h"

#include <stdio.h>

static const struct {
    const char *word;
    const char *text;
} exclusions[VQ_EXCLUSION__COUNT] = {
#define VQ_EXCLUSION(name, word, text) [VQ_EXCLUDED_##name] = {word, text},
#include "methods/data/exclusions.def"
#undef VQ_EXCLUSION
};

const char *vq_exclusion_word(enum vq_exclusion why)
{
    return exclusions[why].word;
}

const char *vq_exclusion_text(enum vq_exclusion why)
{
    return exclusions[why].text;
}

const char *vq_dataset_file_name(const struct vq_dataset_build *b, unsigned file)
{
    const char *name = file == 0 ? b->settings->data->path : b->settings->data->test_path;
    return name != NULL ? name : file == 0 ? "the data file" : "the test file";
}

void vq_dataset_warn(struct vq_dataset *set, const char *fmt, ...)
{
    if (set->warnings_count == VQ_DATASET_WARNINGS_MAX) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(set->warnings[set->warnings_count++], VQ_DATASET_NOTE_BYTES_MAX, fmt, args);
    va_end(args);
}

/* Records one step; text that does not fit is cut. */
VQ_PRINTF(5, 6)
static void note(struct vq_dataset *set, const char *name, uint32_t before, uint32_t after,
                 const char *fmt, ...)
{
    VQ_ASSERT(set->steps_count < VQ_DATASET_STEPS_MAX);
    struct vq_dataset_step *step = &set->steps[set->steps_count++];
    step->name = name;
    step->before = before;
    step->after = after;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(step->note, sizeof(step->note), fmt, args);
    va_end(args);
}

void vq_dataset_rng(const struct vq_dataset_build *b, enum vq_dataset_stream stream,
                    struct vq_rng *ret_rng)
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, "vq-dataset");
    vq_hasher_u64(&hasher, b->settings->seed);
    vq_hasher_u64(&hasher, stream);
    vq_hasher_final(&hasher, &hash);
    vq_rng_seed(ret_rng, vq_hash_u64(&hash));
}

/* Excludes the rows marked in b->leaves, all for one reason, and clears the marks. Returns the
 * number of excluded rows. */
static uint32_t take_out(struct vq_dataset_build *b, enum vq_exclusion why)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (!b->leaves[i]) {
            b->rows[kept++] = b->rows[i];
        }
        b->leaves[i] = false;
    }
    uint32_t left = b->count - kept;
    b->set->excluded[why] += left;
    b->count = kept;
    return left;
}

/* Marks all rows of the file except a seeded sample of `limit` rows. */
static enum vq_status mark_beyond_limit(struct vq_dataset_build *b, unsigned file,
                                        enum vq_dataset_stream stream)
{
    uint32_t limit = b->settings->data->limit;
    uint32_t *order;
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, order, b->count));
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->rows[i].file == file) {
            order[n++] = i;
        }
    }
    struct vq_rng rng;
    vq_dataset_rng(b, stream, &rng);
    vq_rng_shuffle_u32(&rng, order, n);
    for (uint32_t i = limit; i < n; i++) {
        b->leaves[order[i]] = true;
    }
    return VQ_OK;
}

static enum vq_status step_limit(struct vq_dataset_build *b)
{
    if (b->settings->data->limit == 0) {
        return VQ_OK;
    }
    uint32_t before = b->count;
    VQ_TRY(mark_beyond_limit(b, 0, VQ_STREAM_LIMIT));
    if (b->set->tables[1] != NULL) {
        VQ_TRY(mark_beyond_limit(b, 1, VQ_STREAM_LIMIT_TEST));
    }
    (void)take_out(b, VQ_EXCLUDED_NOT_SAMPLED);
    note(b->set, "sample", before, b->count, "at most %u records a file, drawn with seed %llu",
         b->settings->data->limit, (unsigned long long)b->settings->seed);
    return VQ_OK;
}

/* Two rows are the same pair if these are equal: both outputs, and the file (a test row never
 * excludes a training row). */
struct pair_key {
    uint32_t a;
    uint32_t b;
    uint32_t file;
    /* the pair of models, of more than two: the outputs of another pair may be the same by
     * chance */
    uint32_t models;
    /* with an image: question + 1, because the outputs for two pictures may be the same by
     * chance */
    uint32_t asked;
};

static enum vq_status mark_repeated(struct vq_dataset_build *b, struct pair_key *keys,
                                    struct vq_intern *texts, struct vq_intern *pairs)
{
    for (uint32_t i = 0; i < b->count; i++) {
        keys[i].file = b->rows[i].file;
        keys[i].models = (uint32_t)b->rows[i].model[0] << 8 | b->rows[i].model[1];
        keys[i].asked = b->rows[i].image.bytes > 0 ? b->rows[i].question + 1 : 0;
        VQ_TRY(vq_intern_add(texts, b->rows[i].a, &keys[i].a));
        VQ_TRY(vq_intern_add(texts, b->rows[i].b, &keys[i].b));
        uint32_t before = pairs->count, id;
        VQ_TRY(vq_intern_add(pairs, vq_span((const char *)&keys[i], sizeof(keys[i])), &id));
        b->leaves[i] = pairs->count == before;
    }
    return VQ_OK;
}

static enum vq_status step_repeated_pairs(struct vq_dataset_build *b)
{
    uint32_t before = b->count;
    struct vq_intern texts, pairs;
    vq_intern_init(&texts);
    vq_intern_init(&pairs);
    struct pair_key *keys;
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, keys, b->count));
    enum vq_status status = mark_repeated(b, keys, &texts, &pairs);
    vq_intern_free(&texts);
    vq_intern_free(&pairs);
    VQ_TRY(status);
    (void)take_out(b, VQ_EXCLUDED_REPEATED_PAIR);
    note(b->set, "repeated pairs", before, b->count,
         "rows whose two outputs equal those of an earlier row");
    return VQ_OK;
}

static uint32_t count_split(const struct vq_dataset_build *b, enum vq_data_split split)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        n += b->rows[i].split == split;
    }
    return n;
}

static enum vq_status step_split(struct vq_dataset_build *b)
{
    uint32_t before = b->count;
    VQ_TRY(vq_dataset_split(b));
    (void)take_out(b, VQ_EXCLUDED_QUESTION_IN_TEST);
    uint32_t test = count_split(b, VQ_SPLIT_TEST);
    const char *how = b->set->tables[1] != NULL ? "test file"
                      : b->set->split_by_row    ? "by row"
                                                : "by prompt";
    if (test == 0) {
        note(b->set, "split", before, b->count,
             "none: all rows train, and test results are in-sample");
    } else {
        note(b->set, "split", before, b->count, "train %u, test %u (%s; %u prompts)",
             b->count - test, test, how, vq_questions_count(&b->questions));
    }
    return VQ_OK;
}

static enum vq_status step_pairs(struct vq_dataset_build *b)
{
    uint32_t before = b->count;
    VQ_TRY(vq_dataset_expand(b));
    note(b->set, "pairs", before, b->count, "%u pairs of %u models: %u comparisons of %u records",
         b->set->pairs->count, b->set->models_count, b->count, before);
    return VQ_OK;
}

static enum vq_status mark_near_identical(struct vq_dataset_build *b, struct vq_similarity *work,
                                          uint32_t *ret_too_long)
{
    uint32_t too_long = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        bool alike = false;
        enum vq_status status = vq_similarity_at_least(work, b->rows[i].a, b->rows[i].b,
                                                       b->settings->data->near_duplicate, &alike);
        if (status == VQ_LIMIT) {
            too_long++; /* compared for equality only, which the step before did */
        } else if (status != VQ_OK) {
            return status;
        }
        b->leaves[i] = alike;
    }
    *ret_too_long = too_long;
    return VQ_OK;
}

static enum vq_status step_near_identical(struct vq_dataset_build *b)
{
    uint32_t before = b->count;
    for (uint32_t i = 0; i < b->count; i++) {
        b->leaves[i] = vq_span_eq(b->rows[i].a, b->rows[i].b);
    }
    uint32_t identical = take_out(b, VQ_EXCLUDED_IDENTICAL);
    uint32_t percent = b->settings->data->near_duplicate;
    if (percent == 0) {
        note(b->set, "alike outputs", before, b->count, "%u identical; near_duplicate is off",
             identical);
        return VQ_OK;
    }
    uint32_t too_long = 0;
    struct vq_similarity work = {0};
    enum vq_status status = mark_near_identical(b, &work, &too_long);
    vq_similarity_free(&work);
    VQ_TRY(status);
    uint32_t near = take_out(b, VQ_EXCLUDED_NEAR_IDENTICAL);
    note(b->set, "alike outputs", before, b->count, "%u identical, %u at least %u %% alike%s",
         identical, near, percent, too_long > 0 ? "; very long texts were not compared" : "");
    return VQ_OK;
}

/* Writes one side's rows in seeded order to `into`, at most `cap` of them (0: all). Returns their
 * number. */
static uint32_t put_in_order(struct vq_dataset_build *b, enum vq_data_split split, uint32_t cap,
                             uint32_t *order, struct vq_data_row *into)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->rows[i].split == split) {
            order[n++] = i;
        }
    }
    struct vq_rng rng;
    vq_dataset_rng(b, split == VQ_SPLIT_TRAIN ? VQ_STREAM_TRAIN_ORDER : VQ_STREAM_TEST_ORDER, &rng);
    vq_rng_shuffle_u32(&rng, order, n);
    uint32_t kept = cap > 0 && cap < n ? cap : n;
    for (uint32_t i = 0; i < kept; i++) {
        into[i] = b->rows[order[i]];
    }
    b->set->excluded[split == VQ_SPLIT_TRAIN ? VQ_EXCLUDED_OVER_TRAIN_CAP
                                             : VQ_EXCLUDED_OVER_TEST_CAP] += n - kept;
    return kept;
}

static enum vq_status step_order_and_caps(struct vq_dataset_build *b)
{
    const struct vq_conf_data *data = b->settings->data;
    uint32_t before = b->count;
    uint32_t *order;
    struct vq_data_row *rows;
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, order, b->count));
    VQ_TRY(VQ_ALLOC(rows, b->count));
    uint32_t train = put_in_order(b, VQ_SPLIT_TRAIN, data->num_train_max, order, rows);
    uint32_t test = put_in_order(b, VQ_SPLIT_TEST, data->num_test_max, order, rows + train);
    vq_free(b->rows);
    b->rows = rows;
    b->count = train + test;
    if (data->num_train_max > 0 || data->num_test_max > 0) {
        note(b->set, "caps", before, b->count, "train %u, test %u", train, test);
    }
    return VQ_OK;
}

static void step_ties(struct vq_dataset_build *b)
{
    uint32_t before = b->count, ties = 0;
    bool drop = b->settings->data->ties == VQ_TIES_DROP_ALL;
    for (uint32_t i = 0; i < b->count; i++) {
        bool tie = b->rows[i].preference == VQ_PREFER_TIE;
        ties += tie;
        b->leaves[i] = drop && tie;
    }
    (void)take_out(b, VQ_EXCLUDED_TIE);
    if (b->set->has_preference) {
        note(b->set, "ties", before, b->count, "%u ties %s", ties,
             drop ? "left out" : "kept, except for preference prediction");
    }
}

/* Numbers the questions of the remaining rows again, without gaps, in record order. */
static enum vq_status renumber_questions(struct vq_dataset_build *b)
{
    uint32_t records = b->set->records_read[0] + b->set->records_read[1];
    uint32_t *first;     /* number + 1 */
    uint32_t *by_record; /* question + 1 */
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, first, vq_questions_count(&b->questions)));
    VQ_TRY(VQ_ARENA_ALLOC(&b->memory, by_record, records));
    for (uint32_t i = 0; i < b->count; i++) {
        const struct vq_data_row *row = &b->rows[i];
        by_record[(row->file == 1 ? b->set->records_read[0] : 0) + row->record - 1] =
            row->question + 1;
    }
    for (uint32_t k = 0; k < records; k++) {
        if (by_record[k] == 0) {
            continue;
        }
        uint32_t question = by_record[k] - 1;
        if (first[question] == 0) {
            first[question] = ++b->set->questions_count;
        }
    }
    for (uint32_t i = 0; i < b->count; i++) {
        b->rows[i].question = first[b->rows[i].question] - 1;
    }
    return VQ_OK;
}

static enum vq_status check_something_left(const struct vq_dataset_build *b)
{
    const struct vq_dataset *set = b->set;
    bool wants_test = set->tables[1] != NULL || b->settings->data->test_share > 0;
    if (set->train_count > 0 && (set->test_count > 0 || !wants_test)) {
        return VQ_OK;
    }
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (int why = 0; why < VQ_EXCLUSION__COUNT; why++) {
        if (set->excluded[why] > 0) {
            vq_buf_printf(&list, "%s%u %s (%s)", list.bytes == 0 ? "" : ", ", set->excluded[why],
                          exclusions[why].word, exclusions[why].text);
        }
    }
    uint32_t read = set->records_read[0] + set->records_read[1];
    enum vq_status status =
        vq_fail(b->err, VQ_INVALID, "%s: no %s rows remain of %u records read; left out: %s",
                vq_dataset_file_name(b, 0), set->train_count == 0 ? "training" : "test", read,
                list.at == NULL ? "none" : list.at);
    vq_buf_free(&list);
    return status;
}

static enum vq_status finish(struct vq_dataset_build *b)
{
    struct vq_dataset *set = b->set;
    VQ_TRY(renumber_questions(b));
    uint32_t labelled = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct vq_data_row *row = &b->rows[i];
        set->preferred[row->split][row->preference + 1]++;
        labelled += row->preference == VQ_PREFER_A || row->preference == VQ_PREFER_B;
    }
    set->test_count = count_split(b, VQ_SPLIT_TEST);
    set->train_count = b->count - set->test_count;
    VQ_TRY(check_something_left(b));
    if (set->has_preference && labelled == 0) {
        vq_dataset_warn(set, "no row names a preferred model: preference is not predicted");
    }
    set->samples = b->rows;
    b->rows = NULL;
    /* ownership moves to the set; the slots are freed with the builder */
    set->groups = b->groups.keys;
    set->groups_count = b->groups.count;
    b->groups.keys = NULL;
    return VQ_OK;
}

static enum vq_status run_steps(struct vq_dataset_build *b)
{
    struct vq_dataset *set = b->set;
    unsigned files = set->tables[1] == NULL ? 1 : 2;
    size_t records = 0;
    for (unsigned file = 0; file < files; file++) {
        VQ_TRY(vq_dataset_find_columns(b, file));
        records += set->tables[file]->rows_count;
    }
    if (files == 1 && records < 2) {
        return vq_fail(
            b->err, VQ_INVALID,
            "%s has only one record; at least two are needed, one to train and one to test",
            vq_dataset_file_name(b, 0));
    }
    VQ_TRY(VQ_ALLOC(b->rows, records));
    VQ_TRY(VQ_ALLOC(b->leaves, records));
    VQ_TRY(vq_questions_init(&b->questions, records));
    for (unsigned file = 0; file < files; file++) {
        VQ_TRY(vq_dataset_read_rows(b, file));
    }
    char test_note[VQ_FMT_BYTES * 2] = "";
    if (files == 2) {
        (void)snprintf(test_note, sizeof(test_note), ", test file %u", set->records_read[1]);
    }
    note(set, "read", b->count, b->count, "data file %u%s", set->records_read[0], test_note);
    VQ_TRY(step_limit(b));
    if (set->models_count > 2) {
        VQ_TRY(step_split(b));
        VQ_TRY(step_pairs(b));
        VQ_TRY(step_repeated_pairs(b));
    } else {
        VQ_TRY(step_repeated_pairs(b));
        VQ_TRY(step_split(b));
    }
    VQ_TRY(step_near_identical(b));
    VQ_TRY(step_order_and_caps(b));
    step_ties(b);
    return finish(b);
}

enum vq_status vq_dataset_build(const struct vq_dataset_settings *settings,
                                const struct vq_table *table, const struct vq_table *test,
                                struct vq_dataset **ret_dataset, struct vq_error *err)
{
    struct vq_dataset *set;
    if (VQ_ALLOC(set, 1) != VQ_OK) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    while (set->models_count < VQ_MODELS_MAX && settings->models[set->models_count] != NULL) {
        set->models_count++;
    }
    set->tables[0] = table;
    set->tables[1] = test;
    struct vq_dataset_build build = {.settings = settings, .set = set, .err = err};
    enum vq_status status = run_steps(&build);
    vq_questions_free(&build.questions);
    vq_intern_free(&build.groups);
    vq_arena_clear(&build.memory);
    vq_free(build.rows);
    vq_free(build.leaves);
    if (status != VQ_OK) {
        vq_dataset_destroy(&set);
        return status == VQ_NOMEM ? vq_fail(err, status, "out of memory") : status;
    }
    *ret_dataset = set;
    return VQ_OK;
}

void vq_dataset_destroy(struct vq_dataset **dataset)
{
    if (*dataset == NULL) {
        return;
    }
    vq_free((*dataset)->samples);
    vq_free((*dataset)->groups);
    vq_free((*dataset)->pairs);
    vq_free(*dataset);
    *dataset = NULL;
}
