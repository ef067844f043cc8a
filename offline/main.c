/* vibeq-offline: start and stop. Exit codes: 0 stopped by a signal, 1 internal error, 2 usage or
 * input error. */
#include "common/base/process.h"
#include "offline/options.h"
#include "offline/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/clock.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1,
    EXIT_USAGE = 2
};

static int exit_code_of(enum vq_status status)
{
    if (status == VQ_OK) {
        return EXIT_DONE;
    }
    return vq_status_class(status) == VQ_CLASS_REFUSE ? EXIT_USAGE : EXIT_INTERNAL;
}

/* Writes the whole file or nothing: a reader that waits for the file never reads a part of the
 * number. */
static enum vq_status write_port_file(const char *path, uint16_t port, struct vq_error *err)
{
    char part[4096];
    int bytes = snprintf(part, sizeof(part), "%s.part", path);
    if (bytes < 0 || (size_t)bytes >= sizeof(part)) {
        return vq_fail(err, VQ_INVALID, "--port-file: the path is too long");
    }
    FILE *file = fopen(part, "we");
    bool good = file != NULL && fprintf(file, "%u\n", port) > 0;
    good = (file == NULL || fclose(file) == 0) && good;
    if (!good || rename(part, path) != 0) {
        return vq_fail(err, VQ_INVALID, "cannot write the port file %s: %s", path, strerror(errno));
    }
    return VQ_OK;
}

/* The parent may have ended before this call: then another process is already the parent. */
static enum vq_status follow_parent(pid_t parent, struct vq_error *err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
        return vq_fail(err, VQ_IO, "cannot follow the parent process: %s", strerror(errno));
    }
    if (getppid() != parent) {
        return vq_fail(err, VQ_UNAVAILABLE, "the parent process has ended already");
    }
    return VQ_OK;
}

static enum vq_status serve(struct vq_options *options, struct vq_error *err)
{
    struct vq_service *service = NULL;
    struct vq_server *server = NULL;
    enum vq_status status = vq_service_create(&options->service, vq_clock_mono_ns(), &service, err);
    if (status == VQ_OK) {
        status = vq_server_create(service, options->address, options->port, &server, err);
    }
    if (status == VQ_OK && options->port_file != NULL) {
        status = write_port_file(options->port_file, vq_server_port(server), err);
    }
    if (status == VQ_OK) {
        bool is_v6 = strchr(options->address, ':') != NULL;
        (void)printf("listening on http://%s%s%s:%u/v1\n", is_v6 ? "[" : "", options->address,
                     is_v6 ? "]" : "", vq_server_port(server));
        (void)fflush(stdout); /* there may be no reader; the port file has the port, too */
        status = vq_server_run(server, err);
    }
    vq_server_destroy(&server);
    vq_service_destroy(&service);
    return status;
}

int main(int argc, char **argv)
{
    pid_t parent = getppid();
    vq_process_begin();
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL); /* the loop reads them as events */
    (void)signal(SIGPIPE, SIG_IGN);

    struct vq_options options;
    struct vq_error err = {0};
    enum vq_status status = vq_options_parse(argc, argv, &options, &err);
    if (status == VQ_OK && options.show_help) {
        vq_options_print_help();
    } else if (status == VQ_OK && options.show_version) {
        (void)printf("vibeq-offline %s\n", VIBEQ_VERSION);
    } else if (status == VQ_OK) {
        if (options.follow_parent) {
            status = follow_parent(parent, &err);
        }
        if (status == VQ_OK) {
            status = serve(&options, &err);
        }
    }
    vq_fault_rules_free(&options.service.rules);
    vq_pools_free(&options.service.pools);
    if (status != VQ_OK) {
        (void)fprintf(stderr, "vibeq-offline: %s\n",
                      err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
    return exit_code_of(status);
}
