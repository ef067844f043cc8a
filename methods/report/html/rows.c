/* The frame of the row browser. What it shows is rendered by the script out of the data block;
 * without one, this says so. */
#include "methods/report/html/parts.h"

void vq_html_rows(struct vq_html *h)
{
    vq_html_puts(
        h, "<section id=\"rows\"><h2>Rows</h2>\n"
           "<p class=\"sub\">Prompts with both outputs, the vibes that fire on them, and what the "
           "judges "
           "wrote in both orders.</p>\n<noscript><p>Looking at rows needs scripts; the tables do "
           "not.</p></noscript>\n"
           "<div class=\"controls\" id=\"controls\" hidden>\n"
           "<label>Search <input id=\"search\" type=\"search\" placeholder=\"words in prompts, "
           "outputs, "
           "analyses\" autocomplete=\"off\"></label>\n"
           "<label>Vibe <select id=\"vibe\"></select></label>\n"
           "<label>Show <select id=\"kind\"></select></label>\n</div>\n"
           "<p id=\"found\" class=\"sub\" aria-live=\"polite\"></p>\n<div id=\"list\"></div>\n"
           "<p><button id=\"more\" type=\"button\" hidden>Show more</button></p>\n</section>\n");
    vq_html_data(h);
}
