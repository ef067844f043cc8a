/* Paths of requests. Invariant: an accepted name is one part of a path and stays inside the runs
 * folder; any other path is refused. */
#include "cli/ui/path.h"

static bool is_rest(const char *rest)
{
    size_t word = 0;
    for (const char *at = rest; *at != '\0'; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-';
        if (!letter && (*at != '/' || word == 0)) {
            return false;
        }
        word = letter ? word + 1 : 0;
    }
    return word > 0 || rest[0] == '\0';
}

bool vq_ui_path_parse(const char *prefix, const char *path, struct vq_ui_path *ret_path)
{
    size_t skipped = strlen(prefix);
    if (strncmp(path, prefix, skipped) != 0) {
        return false;
    }
    const char *name = path + skipped;
    size_t bytes = strcspn(name, "/");
    const char *rest = name[bytes] == '/' ? name + bytes + 1 : "";
    struct vq_ui_path parsed;
    if (bytes > VQ_RUN_NAME_BYTES_MAX || strlen(rest) > VQ_UI_REST_BYTES_MAX || !is_rest(rest)) {
        return false;
    }
    memcpy(parsed.name, name, bytes);
    parsed.name[bytes] = '\0';
    memcpy(parsed.rest, rest, strlen(rest) + 1);
    if (vq_run_name_check(parsed.name, NULL) != VQ_OK) {
        return false;
    }
    *ret_path = parsed;
    return true;
}
