/* Private to this folder: what a value says that the end of a cut answer may have touched. Under
 * such an ending a verdict or rating counts only if it is the last thing said and whole, or if the
 * answer begins with it and what follows does not take it back. */
#pragma once

#include "common/base/buf.h"

/* Whether the value ends as one that nothing follows: after its last word come at most a full stop,
 * quotes, brackets and markdown that close, all that it opens is closed, and it asks nothing. False
 * without a word. */
bool vq_cut_is_whole(struct vq_span value);
/* Whether the line may revoke a value stated above it: "but B", "Wait, ..". If this is unclear, the
 * result is true. */
bool vq_cut_takes_back(struct vq_span line);
