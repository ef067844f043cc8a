/* What a careful reader would ask about, near the top: the list of warnings.h, which results.json
 * and the terminal show too. */
#include "methods/report/warnings.h"

#include "methods/report/html/parts.h"

void vq_html_warnings(struct vq_html *h)
{
    struct vq_warnings *list = NULL;
    if (vq_warnings_create(h->r, &list) != VQ_OK) {
        h->out->status = VQ_NOMEM;
        return;
    }
    if (list->count > 0) {
        vq_html_puts(h, "<section id=\"warnings\"><h2>Before you quote this</h2>\n"
                        "<ul class=\"warnings\">\n");
        for (uint32_t i = 0; i < list->count; i++) {
            vq_html_puts(h, "<li>");
            vq_html_span(h, vq_span_str(list->at[i].text), VQ_WARNING_BYTES_MAX);
            vq_html_puts(h, "</li>\n");
        }
        vq_html_puts(h, "</ul></section>\n");
    }
    vq_warnings_destroy(&list);
}
