/* A run's copies are found by position: the second criterion is the second copy, even if an
 * override gives it another name. So all keys that decide positions must be as they were at the
 * start. Not its job: reading the copies (methods/files/job.c), or keys that no copy depends on. */
#include "cli/copied_inputs.h"

#include <stdio.h>

#define KEY_BYTES 64

static bool same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static enum vq_status refuse(const char *key, const char *what, struct vq_error *err)
{
    return vq_fail(
        err, VQ_INVALID,
        "--set %s: a run is read again with the %s of its start, of which it has copies. "
        "For others start a new run: answers that are stored are not bought again",
        key, what);
}

struct file {
    const char *key, *was, *now;
};

static enum vq_status check_files(const struct file *files, size_t count, struct vq_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!same(files[i].was, files[i].now)) {
            return refuse(files[i].key, "files", err);
        }
    }
    return VQ_OK;
}

static enum vq_status check_criteria(const struct vq_config *was, const struct vq_config *now,
                                     struct vq_error *err)
{
    bool fewer = now->criteria_count < was->criteria_count;
    if (now->criteria_count > was->criteria_count ||
        (fewer && now->method == VQ_METHOD_PERSONA)) { /* the criteria of the probes follow them */
        return refuse("criteria", "criteria", err);
    }
    for (uint32_t i = 0; i < now->criteria_count; i++) {
        const struct vq_conf_criterion *a = &was->criteria[i], *b = &now->criteria[i];
        char key[KEY_BYTES];
        (void)snprintf(key, sizeof(key), "criteria[%u]", i);
        bool copied = a->rubric == NULL && same(a->name, b->name) && same(a->file, b->file);
        if (b->rubric == NULL && !copied) {
            return refuse(key, "criteria", err);
        }
    }
    return VQ_OK;
}

static enum vq_status check_probes(const struct vq_config *was, const struct vq_config *now,
                                   struct vq_error *err)
{
    if (was->probes_count != now->probes_count) {
        return refuse("probes", "probes", err);
    }
    for (uint32_t i = 0; i < now->probes_count; i++) {
        const struct vq_conf_probe *a = &was->probes[i], *b = &now->probes[i];
        char key[KEY_BYTES];
        (void)snprintf(key, sizeof(key), "probes[%u]", i);
        if (!same(a->file, b->file) || !same(a->criterion, b->criterion)) {
            return refuse(key, "probes", err);
        }
    }
    return VQ_OK;
}

enum vq_status vq_copied_inputs_check(const struct vq_config *was, const struct vq_config *now,
                                      struct vq_error *err)
{
    static const struct vq_conf_dialogues none;
    const struct vq_conf_dialogues *a = was->dialogues == NULL ? &none : was->dialogues;
    const struct vq_conf_dialogues *b = now->dialogues == NULL ? &none : now->dialogues;
    const struct file files[] = {
        {"data.path", was->data.path_abs, now->data.path_abs},
        {"data.test_path", was->data.test_path_abs, now->data.test_path_abs},
        {"prompts.dir", was->prompts_dir, now->prompts_dir},
        {"dialogues.personas", a->personas, b->personas},
        {"dialogues.labels", a->labels, b->labels},
        {"dialogues.directed", a->directed, b->directed},
        {"dialogues.goal", a->goal, b->goal},
        {"dialogues.measured", a->measured, b->measured},
        {"dialogues.human", a->human, b->human},
    };
    VQ_TRY(check_files(files, VQ_COUNT(files), err));
    VQ_TRY(check_criteria(was, now, err));
    return check_probes(was, now, err);
}
