/* When a day quota begins again. Pure: the wall time is given. */
#pragma once

#include "common/base/status.h"

/* The end of the day that holds `unix_ms`: the next multiple of day_ms; with day_ms 0 the next
 * midnight, of US Pacific time (with its summer time since 2007) or of UTC. */
int64_t vq_day_end_ms(int64_t unix_ms, int64_t day_ms, bool pacific);
