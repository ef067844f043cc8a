/* What each of our programs does first. */
#pragma once

/* No core dumps, no ptrace by others; and descriptors 0 to 2 are open: one that is closed becomes
 * /dev/null, since the next file that is opened would take its number, and what is printed would go
 * into that file. Ends the process where there is no /dev/null. */
void vq_process_begin(void);
