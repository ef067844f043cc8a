/* What only the page says of each vibe: the questions that it shows on, which results.json has of
 * discovered vibes alone. */
#include "methods/vibecheck/report/page_parts.h"

#include <stdio.h>

/* By the id of a vibe: what questions it shows on. */
void vq_vibes_page_vibes(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_vibecheck_method_result *m = p->story->method;
    if (m == NULL || m->question_types == NULL) {
        return;
    }
    vq_json_key(j, "question_types");
    vq_json_object(j);
    for (uint32_t v = 0; v < p->r->result->vibes; v++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "%u", v + 1);
        if (m->question_types[v] != NULL) {
            vq_json_put_str(j, id, m->question_types[v]);
        }
    }
    vq_json_object_end(j);
}
