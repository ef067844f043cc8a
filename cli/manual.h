/* The manual page's commands and the shell completions, made from the tables of verbs and options,
 * so that they always agree with the program. The build calls it; the help does not show this
 * verb. */
#pragma once

#define VQ_MANUAL_VERB "__manual"

/* Writes to standard output. argv[0]: "man" (the COMMANDS of vibeq(1) as roff), "bash" or "zsh" (a
 * completion script). */
int vq_manual(int argc, char **argv);
