/* Uses a view after its end: with "what" a view of the setting "name" ("setting"; "handled", then it fails if the
 * host refuses the field), the whole configuration ("json"), or the URL of an earlier hook: as a field ("field"),
 * a body ("body"), a line of the log ("log") or the reason of a failure ("reason"). With "copy", it copies the
 * setting, as it should. */
#include "faulty.h"

static char what[16], copied[64];
static outlet_view kept;

static int is(const char *word) { return strcmp(what, word) == 0; }

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "what", what, sizeof what);
    setting(host, call, "name", copied, sizeof copied);
    kept = outlet_text("X-Kept");
    if (is("setting") || is("handled")) host->config_value(host, call, outlet_text("name"), &kept);
    if (is("json")) kept = config->json;
    if (is("copy")) kept = outlet_text(copied);
    return make(descriptor, host, call, config, out);
}

static outlet_status adapt(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_completion completion) {
    (void)call, (void)completion;
    if (is("field") || is("body") || is("log") || is("reason"))
        self->host->request_url(self->host, request, &kept);
    return OUTLET_OK;
}

PREPARE {
    const outlet_host *host = self->host;
    (void)completion;
    if (is("body")) {
        host->request_set_body(host, request, kept);
    } else if (is("log")) {
        host->log(host, call, 1, kept, NULL, 0);
    } else if (is("reason")) {
        host->fail(host, call, outlet_text("kept"), kept);
        return OUTLET_E_FAILED;
    } else if (is("field")) {
        host->request_set_header(host, request, outlet_text("X-Kept"), kept);
    } else if (host->request_set_header(host, request, is("json") ? outlet_text("X") : kept,
                                        is("json") ? kept : outlet_text("1"))
                   != OUTLET_OK
               && is("handled")) {
        host->fail(host, call, outlet_text("refused"), outlet_text("the field cannot be set"));
        return OUTLET_E_FAILED;
    }
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks), .adapt = adapt,
                                   .prepare = prepare};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.keeps-views"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks};
OUTLET_MODULE(descriptor)
