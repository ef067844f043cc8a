/* A time that a person gives: of day, or with a date. */
#ifndef VQ_TEXT_WHEN_H
#define VQ_TEXT_WHEN_H

#include "common/base/status.h"

#include <time.h>

/* "07:00": local time, the next one after `now`. "2026-11-29T07:00" (also with a blank for the T,
 * and with seconds): local time; with "Z" or "+01:00" behind it: of that zone. VQ_INVALID with a
 * sentence: no such time, or one that is not after `now`. */
enum vq_status vq_when_parse(const char *text, time_t now, time_t *ret_time,
                             struct vq_error *err) VQ_WARN_UNUSED;

#endif
