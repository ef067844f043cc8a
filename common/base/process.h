/* What each of our programs does first. */
#ifndef VQ_BASE_PROCESS_H
#define VQ_BASE_PROCESS_H

/* No core dumps, no ptrace by others; and descriptors 0 to 2 are open: one that is closed becomes
 * /dev/null, since the next file that is opened would take its number, and what is printed would go
 * into that file. Ends the process where there is no /dev/null. */
void vq_process_begin(void);

#endif
