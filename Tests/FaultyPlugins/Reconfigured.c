/* Accepts new configurations in reconfigure, and stores its data directory. The host must keep the
 * earlier configuration after a failure.
 *
 * The value of "word" selects a fault: "bad" is refused with a reason, which is allowed, as is
 * "stored" without a data directory, to which an instance with that word writes a file. An
 * instance with the word "silent" fails reconfigure without a reason, one with "pending" returns
 * OUTLET_PENDING, and one with "crash" crashes there; the checker must report all. */
#include "faulty.h"
#include <stdio.h>

struct reconfigured {
    outlet_instance base;
    char word[16];
    char directory[256];
};

/* Writes a file to the data directory; returns 0 if that is not possible. */
static int store(outlet_view directory) {
    char path[512];
    if (directory.len == 0 || directory.len > sizeof path - sizeof "/word") return 0;
    snprintf(path, sizeof path, "%.*s/word", (int)directory.len, (const char *)directory.ptr);
    FILE *const file = fopen(path, "w");
    return file != NULL && fclose(file) == 0;
}

static outlet_status configure(struct reconfigured *self, outlet_call call,
                               const outlet_config *config) {
    char word[16] = "none";
    const outlet_host *host = self->base.host;
    setting(host, call, "word", word, sizeof word);
    if (strcmp(word, "bad") == 0) {
        host->fail(host, call, outlet_text("bad-word"), outlet_text("not that word"));
        return OUTLET_E_FAILED;
    }
    if (strcmp(word, "stored") == 0 && !store(config->data_dir)) {
        host->fail(host, call, outlet_text("not-stored"), outlet_text("no file can be written"));
        return OUTLET_E_FAILED;
    }
    strcpy(self->word, word);
    if (config->data_dir.len < sizeof self->directory) {
        snprintf(self->directory, sizeof self->directory, "%.*s", (int)config->data_dir.len,
                 (const char *)config->data_dir.ptr);
    }
    return OUTLET_OK;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct reconfigured *self = calloc(1, sizeof *self);
    (void)descriptor;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    outlet_status status = configure(self, call, config);
    if (status == OUTLET_OK) {
        *out = &self->base;
    } else {
        free(self);
    }
    return status;
}

static outlet_status reconfigure(outlet_instance *instance, outlet_call call,
                                 const outlet_config *config) {
    struct reconfigured *self = (struct reconfigured *)instance;
    if (strcmp(self->word, "silent") == 0) return OUTLET_E_FAILED;
    if (strcmp(self->word, "pending") == 0) return OUTLET_PENDING;
    if (strcmp(self->word, "crash") == 0) abort();
    return configure(self, call, config);
}

static outlet_status word(outlet_instance *instance, outlet_sink sink) {
    return instance->host->sink_write(instance->host, sink,
                                      outlet_text(((struct reconfigured *)instance)->word));
}

static outlet_status directory(outlet_instance *instance, outlet_sink sink) {
    return instance->host->sink_write(instance->host, sink,
                                      outlet_text(((struct reconfigured *)instance)->directory));
}

static const outlet_export words = {.struct_size = sizeof(outlet_export),
                                    .name = OUTLET_TEXT("word"),
                                    .signature = OUTLET_TEXT("e(o)"),
                                    .function = (outlet_function)word};
static const outlet_export directories = {.struct_size = sizeof(outlet_export),
                                          .name = OUTLET_TEXT("directory"),
                                          .signature = OUTLET_TEXT("e(o)"),
                                          .function = (outlet_function)directory};
static const outlet_export *const exports[] = {&words, &directories};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .id = OUTLET_TEXT("faulty.reconfigured"),
    .version = OUTLET_TEXT("1.0.0"),
    .config_schema = OUTLET_TEXT("{\"properties\": {\"word\": {\"type\": \"string\"}},"
                                 "\"additionalProperties\": false}"),
    .exports = exports,
    .export_count = 2,
    .create = create,
    .destroy = unmake,
    .reconfigure = reconfigure,
};
OUTLET_MODULE(descriptor)
