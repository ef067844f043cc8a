/* Private to this folder: numbers, durations and dates in the forms of providers. -1: not readable.
 * No clock. */
#pragma once

#include "common/base/buf.h"

#define VQ_SCAN_NUMBER_MAX                                                                         \
    INT64_C(1000000000000000) /* larger numbers become this: sums of several do not overflow */

#define VQ_SCAN_CAP_MAX 1000000u /* a larger value limits nothing */

bool vq_scan_is(struct vq_span text, const char *word); /* in any case of letters */
/* Reads digits with or without a fraction at the front of *text, in thousandths, and moves *text to
 * the first byte after them. */
int64_t vq_scan_thousandths(struct vq_span *text);
int64_t vq_scan_number(struct vq_span text); /* a whole number that fills the text */
/* A number that fills the text except for blanks around it: "12", "0.5", "1.2e-05". Negative: there
 * is none, or it is not finite. */
double vq_scan_real(struct vq_span text);
/* "12ms", "1.5s", "6m0s", "1h2m", "1d", or a plain number of seconds. */
int64_t vq_scan_duration_ms(struct vq_span text);

/* The N of "limit of N" in a sentence about concurrent calls; 0: there is none, or N is above
 * VQ_SCAN_CAP_MAX. */
uint32_t vq_scan_cap(const char *text);

/* A date in any of the three forms of HTTP (RFC 9110, 5.6.7), in seconds since 1970. */
int64_t vq_scan_http_date_unix_s(struct vq_span text);
/* "2026-03-01T08:49:37Z", with or without a fraction (cut off), with "+01:00" instead of Z (RFC
 * 3339). */
int64_t vq_scan_rfc3339_unix_s(struct vq_span text);
