/* The options of `vibeq run` and `vibeq resume`, and the configuration made from them. */
#pragma once

#include "cli/verbs.h"
#include "common/text/when.h"
#include "coordinator/run/run.h"

#define VQ_OVERRIDE_BYTES 32

struct vq_run_words {
    struct vq_opt_list set;
    struct vq_opt_list models;
    struct vq_opt_list judges;
    struct vq_opt_list criteria;
    struct vq_opt_list http_hosts;
    const char *prompt, *preference, *proposer, *base_url, *key, *runs, *name, *listen, *class;
    const char *advertise, *cert, *deadline;
    const char *http, *http_token_file;
    struct vq_opt_count limit, workers;
    bool discover, yes, dry_run, json, quiet, retry_failed, ui, or_resume;
    char made[2][VQ_OVERRIDE_BYTES]; /* --limit and --workers as overrides, which check them */
    char made_deadline[VQ_OVERRIDE_BYTES + VQ_WHEN_BYTES]; /* --deadline likewise */
};

/* --http and related options; borrowed from `words`. */
struct vq_run_http vq_run_words_http(const struct vq_run_words *words);

/* Reads options by `opts` and counts the other words. VQ_EXIT_DONE, or an exit code after a
 * message. */
int vq_run_words_parse(const char *verb, const struct vq_opt *opts, int argc, char **argv,
                       struct vq_run_words *ret_words, int *ret_count);

/* The configuration: from the file `word` (.yaml, .yml), or from the data file `word` and the
 * options. A sentence names the option that caused the error. The caller owns *ret_config. */
enum vq_status vq_run_words_config(const struct vq_run_words *words, const char *word,
                                   struct vq_config **ret_config,
                                   struct vq_error *err) VQ_WARN_UNUSED;
/* The configuration of a run's folder, with the allowed overrides. ret_unanswered->text: why the
 * overrides are refused if the run has an answer; empty: it may have answers. */
enum vq_status vq_run_words_reload(const struct vq_run_words *words, const char *run_yaml,
                                   struct vq_config **ret_config, struct vq_error *ret_unanswered,
                                   struct vq_error *err) VQ_WARN_UNUSED;
