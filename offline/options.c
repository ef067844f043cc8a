/* One table of options defines the parser and the help. */
#include "offline/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum option_id {
    OPTION_PORT = 256,
    OPTION_PORT_FILE,
    OPTION_BIND,
    OPTION_SEED,
    OPTION_LOG,
    OPTION_ORACLE,
    OPTION_FAULTS,
    OPTION_FAULT,
    OPTION_LATENCY,
    OPTION_LIMITS,
    OPTION_BATCH,
    OPTION_MODEL,
    OPTION_SUBJECT,
    OPTION_REQUIRE_KEY,
    OPTION_PARENT_DEATH,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct {
    const char *name;
    enum option_id id;
    int argument; /* of getopt_long */
    const char *shown;
    const char *help;
} table[] = {
    {"port", OPTION_PORT, required_argument, "N",
     "port to listen on; 0 (default) takes a free one"},
    {"port-file", OPTION_PORT_FILE, required_argument, "FILE",
     "the file for the port; written as soon as the port is open"},
    {"bind", OPTION_BIND, required_argument, "ADDR", "loopback address, default 127.0.0.1"},
    {"seed", OPTION_SEED, required_argument, "N", "seed of noise and chances, default 0"},
    {"log", OPTION_LOG, required_argument, "FILE",
     "append one JSON line per request and one per answer"},
    {"oracle", OPTION_ORACLE, required_argument, "FILE",
     "answer from a file of truths, not by counting words"},
    {"faults", OPTION_FAULTS, required_argument, "FILE",
     "script of faults, one JSON object per line"},
    {"fault", OPTION_FAULT, required_argument, "NAME=P[,..]",
     "one fault with its chance; may be repeated"},
    {"latency", OPTION_LATENCY, required_argument, "[MODEL=]DIST",
     "20ms, uniform:5ms:50ms or lognormal:200ms:0.5; default 0"},
    {"limits", OPTION_LIMITS, required_argument, "LIST",
     "[POOL:keys=..,models=..,]rpm=60,tpm=90000,..; may be repeated"},
    {"batch", OPTION_BATCH, required_argument, "[MODEL:]LIST",
     "how batches go: duration=2s,errored=0.1,..; may be repeated"},
    {"model", OPTION_MODEL, required_argument, "NAME",
     "an additional model name, answers like offline-a; may be repeated"},
    {"subject", OPTION_SUBJECT, required_argument, "NAME[,..]",
     "a model that plays personas: fade=,goal_fade=,floor=,slip=,..; may be repeated"},
    {"require-key", OPTION_REQUIRE_KEY, optional_argument, "=PRINT,..",
     "401 without a key (or without one of these fingerprints)"},
    {"parent-death", OPTION_PARENT_DEATH, no_argument, "", "stop when the parent process ends"},
    {"help", OPTION_HELP, no_argument, "", "print this text"},
    {"version", OPTION_VERSION, no_argument, "", "print the version"},
};

void vq_options_print_help(void)
{
    (void)printf(
        "vibeq-offline: an OpenAI-compatible server on the loopback that needs no model.\n"
        "Its judge counts words; its answers test the pipeline and say nothing about models.\n\n"
        "usage: vibeq-offline [options]\n\n");
    for (size_t i = 0; i < VQ_COUNT(table); i++) {
        char left[48];
        (void)snprintf(left, sizeof(left), "--%s%s%s", table[i].name,
                       table[i].argument == required_argument ? " " : "", table[i].shown);
        (void)printf("  %-26s %s\n", left, table[i].help);
    }
    (void)printf(
        "\nModels: offline-a, offline-b (chat), offline-embed (embeddings).\n"
        "The first line on stdout is: listening on http://127.0.0.1:PORT/v1\n"
        "Exit codes: 0 stopped by SIGTERM or SIGINT, 1 internal error, 2 usage or input error.\n\n"
        "Faults:\n");
    for (int i = 1; i < VQ_FAULT__COUNT; i++) {
        const struct vq_fault_info *info = vq_fault_info((enum vq_fault)i);
        (void)printf("  %-20s %s\n", info->name, info->text);
    }
}

static enum vq_status parse_u64(const char *name, const char *text, uint64_t max, uint64_t *ret,
                                struct vq_error *err)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || text[0] == '-' || value > max) {
        return vq_fail(err, VQ_INVALID, "--%s %s: want a number from 0 to %llu", name, text,
                       (unsigned long long)max);
    }
    *ret = value;
    return VQ_OK;
}

static enum vq_status add_latency(struct vq_service_config *config, char *text,
                                  struct vq_error *err)
{
    if (config->latencies_n == VQ_SERVICE_MODELS_MAX) {
        return vq_fail(err, VQ_LIMIT, "--latency: at most %d", VQ_SERVICE_MODELS_MAX);
    }
    struct vq_model_latency *row = &config->latencies[config->latencies_n];
    char *equals = strchr(text, '=');
    row->model = NULL;
    if (equals != NULL) {
        *equals = '\0';
        row->model = text;
        text = equals + 1;
    }
    enum vq_status status = vq_latency_parse(text, &row->latency, err);
    if (status != VQ_OK) {
        vq_error_prefix(err, "--latency");
        return status;
    }
    config->latencies_n++;
    return VQ_OK;
}

static enum vq_status add_keys(struct vq_service_config *config, char *list, struct vq_error *err)
{
    config->require_key = true;
    char *rest = NULL;
    for (char *print = list == NULL ? NULL : strtok_r(list, ",", &rest); print != NULL;
         print = strtok_r(NULL, ",", &rest)) {
        uint8_t bytes[VQ_FINGERPRINT_BYTES];
        if (config->keys_n == VQ_SERVICE_KEYS_MAX ||
            vq_unhex(vq_span_str(print), bytes, sizeof(bytes)) != VQ_OK) {
            /* The value may be a key, given by mistake, so the message does not repeat it. */
            return vq_fail(err, VQ_INVALID,
                           "--require-key: want fingerprints of %d hex digits, at most %d of them",
                           2 * VQ_FINGERPRINT_BYTES, VQ_SERVICE_KEYS_MAX);
        }
        config->keys[config->keys_n++] = print;
    }
    return VQ_OK;
}

static enum vq_status add_model(struct vq_service_config *config, const char *name,
                                struct vq_error *err)
{
    if (config->models_n == VQ_SERVICE_MODELS_MAX || name[0] == '\0' ||
        strlen(name) >= VQ_CHAT_MODEL_BYTES) {
        return vq_fail(err, VQ_INVALID, "--model: at most %d names of under %d bytes",
                       VQ_SERVICE_MODELS_MAX, VQ_CHAT_MODEL_BYTES);
    }
    config->models[config->models_n++] = name;
    return VQ_OK;
}

static enum vq_status add_subject(struct vq_service_config *config, const char *text,
                                  struct vq_error *err)
{
    if (config->subjects_n == VQ_SERVICE_SUBJECTS_MAX) {
        return vq_fail(err, VQ_LIMIT, "--subject: at most %d", VQ_SERVICE_SUBJECTS_MAX);
    }
    enum vq_status status = vq_subject_parse(text, &config->subjects[config->subjects_n], err);
    if (status != VQ_OK) {
        vq_error_prefix(err, "--subject");
        return status;
    }
    config->subjects_n++;
    return VQ_OK;
}

static enum vq_status set_limits(struct vq_service_config *config, const char *text,
                                 struct vq_error *err)
{
    enum vq_status status = vq_pools_add(&config->pools, text, err);
    if (status != VQ_OK) {
        vq_error_prefix(err, "--limits");
    }
    return status;
}

static enum vq_status set_option(struct vq_options *options, int id, char *value,
                                 struct vq_error *err)
{
    uint64_t number = 0;
    struct vq_service_config *service = &options->service;
    switch (id) {
    case OPTION_PORT:
        VQ_TRY(parse_u64("port", value, UINT16_MAX, &number, err));
        options->port = (uint16_t)number;
        return VQ_OK;
    case OPTION_PORT_FILE: options->port_file = value; return VQ_OK;
    case OPTION_BIND: options->address = value; return VQ_OK;
    case OPTION_SEED: return parse_u64("seed", value, UINT64_MAX, &service->seed, err);
    case OPTION_LOG: service->log_path = value; return VQ_OK;
    case OPTION_ORACLE: service->oracle_path = value; return VQ_OK;
    case OPTION_FAULTS: service->faults_path = value; return VQ_OK;
    case OPTION_FAULT: return vq_fault_rules_add(&service->rules, value, err);
    case OPTION_LATENCY: return add_latency(service, value, err);
    case OPTION_LIMITS: return set_limits(service, value, err);
    case OPTION_BATCH: return vq_offline_batch_rules_add(&service->batches, value, err);
    case OPTION_MODEL: return add_model(service, value, err);
    case OPTION_SUBJECT: return add_subject(service, value, err);
    case OPTION_REQUIRE_KEY: return add_keys(service, value, err);
    case OPTION_PARENT_DEATH: options->follow_parent = true; return VQ_OK;
    case OPTION_HELP: options->show_help = true; return VQ_OK;
    case OPTION_VERSION: options->show_version = true; return VQ_OK;
    default: break;
    }
    return vq_fail(err, VQ_INVALID, "try vibeq-offline --help");
}

enum vq_status vq_options_parse(int argc, char **argv, struct vq_options *ret_options,
                                struct vq_error *err)
{
    struct option list[VQ_COUNT(table) + 1] = {{0}};
    for (size_t i = 0; i < VQ_COUNT(table); i++) {
        list[i] = (struct option){table[i].name, table[i].argument, NULL, (int)table[i].id};
    }
    *ret_options = (struct vq_options){.address = "127.0.0.1"};
    int id = 0;
    while ((id = getopt_long(argc, argv, "", list, NULL)) != -1) {
        VQ_TRY(set_option(ret_options, id, optarg, err));
    }
    if (optind < argc) {
        return vq_fail(err, VQ_INVALID, "what is \"%s\"? try vibeq-offline --help", argv[optind]);
    }
    return VQ_OK;
}
