/* Puts control sequences for a terminal into all of its texts, and prints to standard output. The
 * program must escape them in a terminal, and the checker must report the texts of the descriptor
 * and the output.
 *
 * The sequences set a title (OSC) and a colour (CSI, as C0), clear the screen (CSI, as C1),
 * override the text direction and return the carriage. */
#include "faulty.h"
#include <stdio.h>

#define RAW "\x1b]0;owned\x07\x1b[31m\xc2\x9b" "2J\xe2\x80\xae\r"
#define RAW_IN_JSON "\\u001b]0;owned\\u0007\\u001b[31m\\u009b2J\\u202e\\r"

OUTLET_MANIFEST("faulty.raw-text", "1" RAW_IN_JSON, "\"env:" RAW_IN_JSON "\"");

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)completion;
    const outlet_host *host = self->host;
    outlet_view value;
    const outlet_field fact = {OUTLET_TEXT("fact" RAW), OUTLET_TEXT(RAW)};
    puts("printed by a plugin");
    host->log(host, call, OUTLET_LOG_WARNING, outlet_text("a log's " RAW), &fact, 1);
    host->request_set_header(host, request, outlet_text("X-Raw"), outlet_text("\xc2\x9b\xe2\x80\xae"));
    if (host->request_header(host, request, outlet_text("X-Fail"), 0, &value) != OUTLET_OK) {
        return OUTLET_OK;
    }
    host->fail(host, call, outlet_text(""), outlet_text("a failure's " RAW));
    return OUTLET_E_FAILED;
}

static outlet_status text(outlet_instance *self, outlet_sink sink) {
    return self->host->sink_write(self->host, sink, outlet_text("a result's " RAW "|\nline two"));
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("text"),
                                     OUTLET_TEXT("e(o)"), OUTLET_TEXT("an export's " RAW),
                                     (outlet_function)text};
static const outlet_export *const exports[] = {&export};

static const outlet_view permissions[] = {OUTLET_TEXT("env:" RAW)};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.raw-text"),
    .version = OUTLET_TEXT("1" RAW), .name = OUTLET_TEXT("a name's " RAW),
    .summary = OUTLET_TEXT("a summary's " RAW), .vendor = OUTLET_TEXT("a vendor's " RAW),
    .url = OUTLET_TEXT("a URL's " RAW), .config_schema = OUTLET_TEXT("{\"title\":\"" RAW_IN_JSON "\"}"),
    .permissions = permissions, .permission_count = 1, .create = make, .hooks = hooks,
    .destroy = unmake, .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)
