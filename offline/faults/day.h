/* When a daily quota is renewed. Pure: the wall time is an argument. */
#pragma once

#include "common/base/status.h"

/* The end of the day of `unix_ms`: the next multiple of day_ms; if day_ms is 0, the next midnight,
 * of US Pacific time (with its summer time since 2007) or of UTC. */
int64_t vq_day_end_ms(int64_t unix_ms, int64_t day_ms, bool pacific);
