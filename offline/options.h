/* The command line of vibeq-offline. */
#pragma once

#include "offline/service.h"

struct vq_options {
    /* borrows from argv; rules and pools are owned until the service takes them */
    struct vq_service_config service;
    const char *address;
    uint16_t port;
    const char *port_file;
    bool follow_parent;
    bool show_help;
    bool show_version;
};

/* VQ_INVALID with a sentence. `rules` and `pools` may be filled in even after a failure: free them
 * with vq_fault_rules_free and vq_pools_free. */
enum vq_status vq_options_parse(int argc, char **argv, struct vq_options *ret_options,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_options_print_help(void);
