/* The first step of each vibeq program. */
#pragma once

/* Disables core dumps and ptrace by other processes. Opens /dev/null for each closed descriptor
 * from 0 to 2: otherwise the next opened file gets that number, and output goes into that file.
 * Ends the process if there is no /dev/null. */
void vq_process_begin(void);
