/* Converts JSON for the parser of YAML. Not its job: the meaning of a tree. */
#include "common/conf/json_tree.h"

#include "common/conf/resolve.h"
#include "common/text/json_mend.h"

#include <stdio.h>

#define REWRITTEN_BYTES_MAX ((size_t)1 << 30)

static bool is_json(struct vq_span text)
{
    size_t at = text.bytes >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < text.bytes && text.at[at] != '\0' && strchr(" \t\r\n", text.at[at]) != NULL) {
        at++;
    }
    return at < text.bytes && (text.at[at] == '{' || text.at[at] == '[');
}

static void rewrite(struct vq_span text, struct vq_buf *out)
{
    size_t from = 0;
    for (size_t at = 0; at < text.bytes; at++) {
        if (text.at[at] != '\\') {
            continue;
        }
        int32_t high = vq_json_code_unit(text, at);
        int32_t low = vq_json_code_unit(text, at + 6);
        if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            int32_t point = 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
            vq_buf_append(out, text.at + from, at - from);
            vq_buf_printf(out, "\\U%08x", (unsigned)point);
            from = at + 12;
        }
        /* skips the character after a backslash */
        at += high >= 0xd800 && from == at + 12 ? 11 : 1;
    }
    vq_buf_append(out, text.at + from, text.bytes - from);
}

enum vq_status vq_tree_parse(struct vq_span text, const char *name, struct vq_node **ret_root,
                             struct vq_error *err)
{
    if (!is_json(text)) {
        return vq_yaml_parse(text, name, ret_root, err);
    }
    struct vq_buf rewritten;
    vq_buf_init(&rewritten, REWRITTEN_BYTES_MAX);
    rewrite(text, &rewritten);
    enum vq_status status = rewritten.status;
    if (status == VQ_OK) {
        status = vq_yaml_parse(vq_buf_span(&rewritten), name, ret_root, err);
    } else if (status == VQ_LIMIT) {
        (void)vq_fail(err, status, "%s is too large for a file of texts", name);
    }
    vq_buf_free(&rewritten);
    return status;
}

enum vq_status vq_tree_wrong(const struct vq_node *node, const char *name, const char *path,
                             struct vq_error *err, const char *fmt, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
    }
    vq_conf_prefix_node(node, name, path, err);
    return VQ_INVALID;
}
