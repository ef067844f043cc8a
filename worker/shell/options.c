/* Reads and checks the command line. Not its job: opening anything that it names. */
#include "worker/shell/options.h"

#include "worker/core/limits.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: vibeq-worker --join FILE [options]\n"
    "\n"
    "Joins a vibeq run, makes judge calls and returns the answers. You can start and stop it at "
    "any time.\n"
    "\n"
    "  --join FILE          the certificate (runs/ID/join.cert): address and keys; a private file, "
    "or env:NAME\n"
    "                       for the text of an environment variable\n"
    "  --stay               wait for the next run when a run is over, until a signal comes. In "
    "this "
    "case --join\n"
    "                       is repeatable and may be a folder of certificates, which is watched: "
    "one process\n"
    "                       for each certificate\n"
    "  --spool DIR          store sent calls and their answers in DIR until they are committed; "
    "survives a kill\n"
    "                       (default: $XDG_STATE_HOME or ~/.local/state, vibeq/spool/RUN/K)\n"
    "  --no-spool           store nothing: after a kill, answers that were not returned are lost\n"
    "  --key NAME=REF       an API key of the pool NAME, or of every pool of the judge NAME; "
    "env:NAME or\n"
    "                       file:PATH; repeatable, also for several keys of one pool\n"
    "  --allow-env NAME     use the environment variable NAME if the run names it as a key; "
    "repeatable. A local\n"
    "                       worker uses every variable and file that the run names\n"
    "  --concurrency N      at most N calls in flight, of all pools together\n"
    "  --name NAME          the worker's name in the run's status (default: host and process)\n"
    "  --local K            this is local worker K of a coordinator on this machine\n"
    "  --orphan SECONDS     stop if the coordinator is silent for this time (default: the run's "
    "setting)\n"
    "  --drain-s SECONDS    after SIGTERM, stop at once when this time is over (default: no "
    "limit)\n"
    "  --parent-death       stop when the process that started this one ends\n"
    "  --log FILE           write the log to FILE instead of standard error\n"
    "  --check FILE         make one call per judge, print the results, and stop; `vibeq check` "
    "writes FILE\n"
    "  --version, --help    print the version, or this text\n"
    "\n"
    "SIGTERM or SIGINT finishes the calls in flight and gives the rest back; a second signal stops "
    "at once.\n"
    "\n"
    "exit codes: 0 the run is finished, or the worker left with nothing open; 1 internal error, or "
    "the spool\n"
    "            cannot be written; 2 usage, join file, another version or run; 4 stopped or "
    "orphaned, and\n"
    "            the spool can have answers\n";

const char *vq_worker_options_help(void)
{
    return help;
}

static enum vq_status number(const char *name, const char *text, uint64_t min, uint64_t max,
                             uint64_t *ret_value, struct vq_error *err)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || strlen(text) > 18 || value < min ||
        value > max) {
        return vq_fail(err, VQ_INVALID, "%s wants a number from %llu to %llu, not \"%s\"", name,
                       (unsigned long long)min, (unsigned long long)max, text);
    }
    *ret_value = value;
    return VQ_OK;
}

static enum vq_status add_key(struct vq_worker_options *options, const char *text,
                              struct vq_error *err)
{
    const char *equals = strstr(text, "=env:");
    if (equals == NULL) {
        equals = strstr(text, "=file:");
    }
    if (equals == NULL || equals == text || equals - text > VQ_WORKER_NAME_BYTES_MAX) {
        return vq_fail(err, VQ_INVALID,
                       "--key wants POOL=env:NAME or POOL=file:PATH, never the key itself");
    }
    if (options->keys_count == VQ_WORKER_KEYS_MAX) {
        return vq_fail(err, VQ_INVALID, "more than %d --key options", VQ_WORKER_KEYS_MAX);
    }
    struct vq_worker_key_option *key = &options->keys[options->keys_count++];
    memcpy(key->name, text, (size_t)(equals - text));
    key->reference = equals + 1;
    return VQ_OK;
}

static enum vq_status add_allowed(struct vq_worker_options *options, const char *name,
                                  struct vq_error *err)
{
    if (name[0] == '\0' || strpbrk(name, "=:") != NULL) {
        return vq_fail(err, VQ_INVALID,
                       "--allow-env wants the name of an environment variable, for example "
                       "OPENAI_API_KEY");
    }
    if (options->allowed_count == VQ_WORKER_ALLOWED_MAX) {
        return vq_fail(err, VQ_INVALID, "more than %d --allow-env options", VQ_WORKER_ALLOWED_MAX);
    }
    options->allowed[options->allowed_count++] = name;
    return VQ_OK;
}

static enum vq_status add_join(struct vq_worker_options *options, const char *path,
                               struct vq_error *err)
{
    if (options->joins_count == VQ_WORKER_JOINS_MAX) {
        return vq_fail(err, VQ_INVALID, "more than %d --join options", VQ_WORKER_JOINS_MAX);
    }
    options->joins[options->joins_count++] = path;
    options->join = options->joins[0];
    return VQ_OK;
}

enum {
    OPT_JOIN = 256,
    OPT_SPOOL,
    OPT_NO_SPOOL,
    OPT_CHECK,
    OPT_LOCAL,
    OPT_KEY,
    OPT_ALLOW_ENV,
    OPT_CONCURRENCY,
    OPT_NAME,
    OPT_PARENT,
    OPT_LOG,
    OPT_ORPHAN,
    OPT_STAY,
    OPT_DRAIN_S,
    OPT_VERSION,
    OPT_HELP
};

/* The name of an option, stored after its dashes. */
#define LONG(name)  (&("--" name)[2])
#define DASHED(opt) ((opt)->name - 2)

static const struct option table[] = {
    {LONG("join"), required_argument, NULL, OPT_JOIN},
    {LONG("spool"), required_argument, NULL, OPT_SPOOL},
    {LONG("no-spool"), no_argument, NULL, OPT_NO_SPOOL},
    {LONG("local"), required_argument, NULL, OPT_LOCAL},
    {LONG("check"), required_argument, NULL, OPT_CHECK},
    {LONG("key"), required_argument, NULL, OPT_KEY},
    {LONG("allow-env"), required_argument, NULL, OPT_ALLOW_ENV},
    {LONG("concurrency"), required_argument, NULL, OPT_CONCURRENCY},
    {LONG("name"), required_argument, NULL, OPT_NAME},
    {LONG("parent-death"), no_argument, NULL, OPT_PARENT},
    {LONG("log"), required_argument, NULL, OPT_LOG},
    {LONG("orphan"), required_argument, NULL, OPT_ORPHAN},
    {LONG("stay"), no_argument, NULL, OPT_STAY},
    {LONG("drain-s"), required_argument, NULL, OPT_DRAIN_S},
    {LONG("version"), no_argument, NULL, OPT_VERSION},
    {LONG("help"), no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0}};

static enum vq_status take(struct vq_worker_options *options, int opt, const char *arg,
                           struct vq_error *err)
{
    uint64_t value = 0;
    switch (opt) {
    case OPT_JOIN: return add_join(options, arg, err);
    case OPT_STAY: options->stay = true; break;
    case OPT_SPOOL: options->spool = arg; break;
    case OPT_NO_SPOOL: options->no_spool = true; break;
    case OPT_CHECK: options->check = arg; break;
    case OPT_LOCAL:
        VQ_TRY(number("--local", arg, 0, 65535, &value, err));
        options->local = (int64_t)value;
        break;
    case OPT_KEY: return add_key(options, arg, err);
    case OPT_ALLOW_ENV: return add_allowed(options, arg, err);
    case OPT_CONCURRENCY:
        VQ_TRY(number("--concurrency", arg, 1, VQ_WORK_CONCURRENCY_MAX, &value, err));
        options->concurrency = (uint32_t)value;
        break;
    case OPT_NAME:
        if (strlen(arg) > VQ_WORKER_NAME_BYTES_MAX || arg[0] == '\0') {
            return vq_fail(err, VQ_INVALID, "--name wants 1 to %d bytes", VQ_WORKER_NAME_BYTES_MAX);
        }
        options->name = arg;
        break;
    case OPT_PARENT: options->parent_death = true; break;
    case OPT_LOG: options->log = arg; break;
    case OPT_ORPHAN:
        VQ_TRY(number("--orphan", arg, 1, 7 * 24 * 3600, &value, err));
        options->orphan_s = (uint32_t)value;
        break;
    case OPT_DRAIN_S:
        VQ_TRY(number("--drain-s", arg, 1, 7 * 24 * 3600, &value, err));
        options->drain_s = (uint32_t)value;
        break;
    case OPT_VERSION: options->version = true; break;
    case OPT_HELP: options->help = true; break;
    default:
        return vq_fail(err, VQ_INVALID,
                       "unknown option, or one without its value; see vibeq-worker --help");
    }
    return VQ_OK;
}

enum vq_status vq_worker_options_read(int argc, char **argv, struct vq_worker_options *ret_options,
                                      struct vq_error *err)
{
    struct vq_worker_options options = {.local = -1};
    optind = 0;
    opterr = 0;
    int opt;
    while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
        VQ_TRY(take(&options, opt, optarg, err));
    }
    if (!options.help && !options.version) {
        if (optind < argc) {
            return vq_fail(err, VQ_INVALID, "unexpected argument \"%s\"; see vibeq-worker --help",
                           argv[optind]);
        }
        if (options.spool != NULL && options.no_spool) {
            return vq_fail(err, VQ_INVALID, "--spool and --no-spool exclude each other");
        }
        if (options.joins_count > 1 && !options.stay) {
            return vq_fail(err, VQ_INVALID, "several --join options need --stay");
        }
        if (options.stay && (options.spool != NULL || options.local >= 0)) {
            return vq_fail(err, VQ_INVALID,
                           "--stay and %s exclude each other: each run has a spool of its own, "
                           "below $XDG_STATE_HOME or ~/.local/state",
                           options.spool != NULL ? "--spool" : "--local");
        }
        if (options.join == NULL && options.check == NULL) {
            return vq_fail(err, VQ_INVALID, "--join FILE is missing; see vibeq-worker --help");
        }
    }
    *ret_options = options;
    return VQ_OK;
}

enum vq_status vq_worker_options_of_child(int argc, char **argv, const char *join,
                                          const char *ret_argv[VQ_WORKER_CHILD_ARGS_MAX],
                                          struct vq_error *err)
{
    size_t count = 0;
    int opt, index = 0;
    optind = 0;
    opterr = 0;
    ret_argv[count++] = "vibeq-worker";
    while ((opt = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (opt == OPT_JOIN || opt == OPT_STAY || opt == OPT_PARENT) {
            continue;
        }
        if (count + 5 > VQ_WORKER_CHILD_ARGS_MAX) {
            return vq_fail(err, VQ_LIMIT, "more than %d arguments", VQ_WORKER_CHILD_ARGS_MAX);
        }
        ret_argv[count++] = DASHED(&table[index]);
        if (table[index].has_arg == required_argument) {
            ret_argv[count++] = optarg;
        }
    }
    ret_argv[count++] = DASHED(&table[0]);
    ret_argv[count++] = join;
    ret_argv[count] = NULL;
    return VQ_OK;
}
