/* The manual page's commands and the shell completions, written from the tables of verbs and
 * options, so that they cannot disagree with the program. The build calls it; it is no verb of the
 * help. */
#pragma once

#define VQ_MANUAL_VERB "__manual"

/* argv[0]: "man" (the COMMANDS of vibeq(1) as roff), "bash" or "zsh" (a completion script). On
 * standard output. */
int vq_manual(int argc, char **argv);
