/* For the tests of the numbers room: reading the fixtures of tests/data/stats and comparing within
 * their tolerances. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "methods/stats/stats.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline json_t *fixture_json(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/stats/%s", VQ_TEST_DATA, name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL) {
        fail_msg("%s: %s (line %d)", path, error.text, error.line);
    }
    return root;
}

/* NaN for null and for what is not there. */
static inline double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline double number(const json_t *object, const char *key)
{
    return number_of(json_object_get(object, key));
}

static inline const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value == NULL ? "" : value;
}

/* An array of numbers, null as NaN; arrays of arrays are flattened. The caller frees. */
static inline void flatten(const json_t *value, double *out, size_t *at)
{
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            flatten(json_array_get(value, i), out, at);
        }
        return;
    }
    if (out != NULL) {
        out[*at] = number_of(value);
    }
    (*at)++;
}

static inline double *numbers(const json_t *value, size_t *ret_n)
{
    size_t n = 0;
    flatten(value, NULL, &n);
    double *out = vq_alloc(n, sizeof(*out));
    assert_non_null(out);
    size_t at = 0;
    flatten(value, out, &at);
    *ret_n = n;
    return out;
}

struct table {
    double *at; /* row-major */
    size_t rows;
    size_t cols;
    char header[1024];
};

/* A CSV of numbers under one header line. */
static inline struct table fixture_table(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/stats/%s", VQ_TEST_DATA, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    struct table table = {0};
    assert_non_null(fgets(table.header, sizeof(table.header), file));
    table.cols = 1;
    for (const char *c = table.header; *c != '\0'; c++) {
        table.cols += *c == ',' ? 1 : 0;
    }
    char line[4096];
    size_t cap = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        void *block = table.at;
        size_t items = (table.rows + 1) * table.cols;
        assert_int_equal(vq_grow(&block, &cap, items, sizeof(double), 1 << 24), VQ_OK);
        table.at = block;
        char *cursor = line;
        for (size_t col = 0; col < table.cols; col++) {
            table.at[table.rows * table.cols + col] = strtod(cursor, &cursor);
            cursor += *cursor == ',' ? 1 : 0;
        }
        table.rows++;
    }
    (void)fclose(file);
    return table;
}

/* Both NaN, or within `relative` of the size of `want` or `absolute`. */
static inline void near_at(double got, double want, double relative, double absolute,
                           const char *what, const char *file, int line)
{
    if (isnan(got) && isnan(want)) {
        return;
    }
    double allowed = fmax(relative * fabs(want), absolute);
    if (!(fabs(got - want) <= allowed)) {
        print_error("%s: got %.17g, want %.17g (off by %.3g, allowed %.3g)\n", what, got, want,
                    fabs(got - want), allowed);
        _fail(file, line);
    }
}

#define assert_near(got, want, relative, absolute)                                                 \
    near_at((got), (want), (relative), (absolute), #got, __FILE__, __LINE__)

/* For fields that a fixture may leave out or null: those are not tested. */
#define assert_near_if(got, want, relative, absolute)                                              \
    do {                                                                                           \
        if (!isnan(want)) {                                                                        \
            assert_near(got, want, relative, absolute);                                            \
        }                                                                                          \
    } while (0)

#define REL_COEF  1e-7
#define ABS_COEF  1e-9
#define REL_P     1e-6
#define ABS_P     1e-300
#define ABS_AGREE 1e-10
