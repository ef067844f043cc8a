/* Private to bench-dispatch: the three processes that one program is. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define BENCH_VIBES        10 /* the presets */
#define BENCH_JUDGES       2
#define BENCH_SAMPLE_TASKS (BENCH_VIBES * BENCH_JUDGES * 2)
#define BENCH_ANSWER_BYTES 200
#define BENCH_RUN          "bench"

/* dispatch_run.c: carries out the run in `dir`/runs over `dir`/data.csv, local workers none; prints
 * what it cost as one line "name=value ...". `store` false: answers are kept nowhere, to see what
 * the store costs. Returns the exit code. */
int bench_coordinator(const char *dir, int store);

/* dispatch_worker.c: joins with the certificate and answers every call at once, until the
 * coordinator says goodbye. */
int bench_worker(const char *cert_path);
