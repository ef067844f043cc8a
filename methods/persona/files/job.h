/* The data of a job of method: persona, complete before anything is sent: personas, queries, items,
 * criteria, and their plan. Private to this folder. */
#pragma once

#include "methods/files/results.h"
#include "methods/persona/human.h"
#include "methods/persona/persona.h"
#include "methods/rubric/files/job.h"

#define VQ_PERSONA_INPUTS_MAX (6u + VQ_PROBES_MAX)

struct vq_persona_source { /* a file that the configuration names */
    char copy[32];         /* its file name among the run's copies */
    const char *path;      /* borrowed */
    struct vq_buf text;
};

struct vq_persona_job {
    struct vq_persona_source sources[VQ_PERSONA_INPUTS_MAX];
    uint32_t sources_count;
    struct vq_personas_file personas;
    struct vq_queries_file queries[VQ_PERSONA_KINDS]; /* by script; cut to the number of rounds */
    struct vq_items_file items[VQ_PROBES_MAX];
    struct vq_persona_bound bound[VQ_PROBES_MAX];
    struct vq_persona_set sets[VQ_PROBES_MAX];
    struct vq_persona_probe probes[VQ_PROBES_MAX];
    /* The configuration with the criteria that are used, including built-in ones. Everything except
     * this list is borrowed from the configuration */
    struct vq_config asked;
    /* number of the list's criteria that the configuration itself defines */
    uint32_t given_criteria;
    struct vq_rubric_job criteria;
    struct vq_persona_rubric *rubrics;
    uint32_t rubrics_count, turn_rubrics;
    struct vq_persona_plan *plan; /* NULL: the job has another method */
    const char **model_names, **persona_names, **set_names;
    struct vq_persona_labels *labels; /* one per persona */
    struct vq_persona_subject *subjects;
    struct vq_persona_measured *measured;
    size_t measured_count, measured_passed_over;
    struct vq_persona_human *human;
    size_t human_count, human_passed_over;
    struct vq_arena memory; /* of the lists here but `measured` and `human` */
};

/* As vq_rubric_job_load. Messages name file, line and what to do. The caller frees *job also after
 * a failure. */
enum vq_status vq_persona_job_load(struct vq_persona_job *job, const struct vq_config *config,
                                   const struct vq_run_dir *run,
                                   struct vq_error *err) VQ_WARN_UNUSED;
/* Writes copies of all files and of the criteria into the run's folder. */
enum vq_status vq_persona_job_keep(const struct vq_persona_job *job, const struct vq_run_dir *run,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_job_free(struct vq_persona_job *job);

/* The persona borrows from job, configuration and template. */
enum vq_status vq_persona_job_make(const struct vq_persona_job *job, const struct vq_config *config,
                                   const struct vq_template *template, uint32_t judges,
                                   struct vq_persona **ret_persona,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* results.c */
enum vq_status vq_persona_results_write(const struct vq_results *results, bool *ret_missing,
                                        struct vq_error *err) VQ_WARN_UNUSED;

/* method.c */
extern const struct vq_method_type vq_persona_method;
/* NULL: the job has another method. */
const struct vq_persona_job *vq_persona_job_of(const struct vq_job *job);
