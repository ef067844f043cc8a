/* Private to this folder: answers without a usable text, and how answers ended. Includes jansson:
 * for .c files only. */
#pragma once

#include "worker/provider/read.h"

/* How the answer ended, as one line: a text, a number, or the member `type`, `reason` or `name` of
 * an object. Nothing if the member is null or missing; any other value is shown by its JSON name
 * ("object", "true"). */
void vq_answer_ending(const json_t *object, const char *key, char *ret_line, size_t cap);

/* Whether the content is blanks only. */
bool vq_answer_is_blank(const struct vq_reply *reply);
/* The content is empty: error_message reports that, and the field of the message that has the text.
 * `readable`: `answer_field` can name this field. */
void vq_answer_elsewhere(const json_t *message, bool readable, struct vq_reply *reply);
/* Of an answer: sets error_message if it cannot be a verdict, because of its ending or because it
 * has no text. */
void vq_answer_explain(struct vq_reply *reply);
