/* Private to bench-dispatch: the three processes of this one program. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define BENCH_VIBES        10 /* the presets */
#define BENCH_JUDGES       2
#define BENCH_SAMPLE_TASKS (BENCH_VIBES * BENCH_JUDGES * 2)
#define BENCH_ANSWER_BYTES 200
#define BENCH_RUN          "bench"

/* dispatch_run.c: carries out the run in `dir`/runs over `dir`/data.csv, without local workers;
 * prints its figures as one line "name=value ...". `store` false: answers are not stored, to show
 * the cost of the store. Returns the exit code. */
int bench_coordinator(const char *dir, int store);

/* dispatch_worker.c: joins with the certificate and answers every call at once, until the
 * coordinator sends BYE. */
int bench_worker(const char *cert_path);
