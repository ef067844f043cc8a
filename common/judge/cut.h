/* Private to this folder: whether a value in a cut answer is complete. In a cut answer, a verdict
 * or rating counts only if it is complete and at the end, or if the answer begins with it and the
 * rest does not revoke it. */
#pragma once

#include "common/base/buf.h"

/* Whether the value is complete. After its last word it has only a full stop and closing quotes,
 * brackets or markdown; all that it opens is closed; it is not a question. False if it has no
 * word. */
bool vq_cut_is_whole(struct vq_span value);
/* Whether the line may revoke a value stated above it: "but B", "Wait, ..". If this is unclear, the
 * result is true. */
bool vq_cut_takes_back(struct vq_span line);
