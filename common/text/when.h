/* Parses a time that a person wrote: a time of day, or a date with a time. */
#pragma once

#include "common/base/status.h"

#include <time.h>

/* "07:00": the next such local time after `now`. "2026-11-29T07:00" (a blank instead of the T and
 * seconds are allowed): local time, also in the past; "Z" or "+01:00" at the end names another
 * zone. VQ_INVALID: not a time. */
enum vq_status vq_when_parse(const char *text, time_t now, time_t *ret_time,
                             struct vq_error *err) VQ_WARN_UNUSED;
/* The same, but a time that is not after `now` is VQ_INVALID too. */
enum vq_status vq_when_parse_ahead(const char *text, time_t now, time_t *ret_time,
                                   struct vq_error *err) VQ_WARN_UNUSED;

#define VQ_WHEN_BYTES 32
/* "2026-11-29T06:00:00Z", which vq_when_parse reads as the same time. */
const char *vq_when_write(time_t time, char ret_text[VQ_WHEN_BYTES]);
