/* The JSON of a page. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

/* The caller's. */
static inline json_t *page_data(const char *page)
{
    static const char open[] = "<script type=\"application/json\" id=\"data\">";
    const char *from = strstr(page, open);
    assert_non_null(from);
    from += strlen(open);
    const char *to = strstr(from, "</script>");
    assert_non_null(to);
    json_error_t bad;
    json_t *data = json_loadb(from, (size_t)(to - from), JSON_REJECT_DUPLICATES, &bad);
    assert_non_null(data);
    return data;
}

static inline const char *string_of(const json_t *of, const char *key)
{
    return json_string_value(json_object_get(of, key));
}

static inline json_int_t integer_of(const json_t *of, const char *key)
{
    return json_integer_value(json_object_get(of, key));
}
