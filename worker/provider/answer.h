/* Private to this folder: answers that say nothing, and how answers ended. Includes jansson: for .c
 * files only. */
#pragma once

#include "worker/provider/read.h"

/* How the answer ended, as a line: a text, a number, or of an object its member `type`, `reason` or
 * `name`. Nothing for null and for no such member; what is none of these is shown as JSON names it
 * ("object", "true"). */
void vq_answer_ending(const json_t *object, const char *key, char *ret_line, size_t cap);

/* Whether the content is blanks only. */
bool vq_answer_is_blank(const struct vq_reply *reply);
/* The content is empty: says so in error_message, and in which field of the message the text is.
 * `readable`: `answer_field` can name it. */
void vq_answer_elsewhere(const json_t *message, bool readable, struct vq_reply *reply);
/* Of an answer: an error_message where it cannot be a verdict, for its ending or for want of
 * text. */
void vq_answer_explain(struct vq_reply *reply);
