/* Writes to files: its function to the file of its argument, and create to that of the setting "file", which is
 * "log" by default. It breaks no rule. With "slow", create does not return. */
#include "faulty.h"

#include <stdio.h>
#include <unistd.h>

static int32_t empty_file(const char *name) {
    FILE *file = fopen(name, "w");
    if (file == NULL) return 0;
    fclose(file);
    return 1;
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    char name[4096] = "log", slow[8] = "";
    setting(host, call, "file", name, sizeof name);
    setting(host, call, "slow", slow, sizeof slow);
    empty_file(name);
    while (slow[0] != 0) pause();
    return make(descriptor, host, call, config, out);
}

static int32_t save(outlet_view path) {
    char name[4096];
    if (path.len >= sizeof name) return 0;
    if (path.len > 0) memcpy(name, path.ptr, path.len);
    name[path.len] = 0;
    return empty_file(name);
}

static const outlet_export save_export = {sizeof(outlet_export), 0, OUTLET_TEXT("save"),
                                          OUTLET_TEXT("i(s)"), OUTLET_TEXT("Empties a file."),
                                          (outlet_function)save};
static const outlet_export *const exports[] = {&save_export};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.writes-files"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .exports = exports,
    .export_count = 1};
OUTLET_MODULE(descriptor)
