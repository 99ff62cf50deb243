/* Passes texts that are not UTF-8 to the host. The host must refuse each, and the checker must
 * report it.
 *
 * "to" says where: "fail", with which prepare fails, "fail-later", with which it has given another
 * reason before, "done", "retry_done", "redirect_done", "log", "fact", "url", "attribute", "error"
 * (response_replace_error), or "caller", a function of the caller that the export gets. "create"
 * fails with one in create. Aborts if the host accepts one. */
#include "faulty.h"

#define BAD outlet_text("bad \xff text")

struct bad_text {
    outlet_instance base;
    char to[16];
};

static int is(outlet_instance *self, const char *to) {
    return strcmp(((struct bad_text *)self)->to, to) == 0;
}

static void refused(outlet_status status) {
    if (status != OUTLET_E_ARGUMENT) abort();
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    struct bad_text *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    setting(host, call, "to", self->to, sizeof self->to);
    if (is(&self->base, "create")) {
        refused(host->fail(host, call, outlet_text(""), BAD));
        free(self);
        return OUTLET_E_FAILED;
    }
    *out = &self->base;
    return OUTLET_OK;
}

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    const outlet_host *host = self->host;
    const outlet_view none = outlet_text("");
    const outlet_field fact = {outlet_text("name"), BAD};
    if (is(self, "fail-later")) {
        host->fail(host, call, outlet_text("first"), outlet_text("the first reason"));
    }
    if (is(self, "fail") || is(self, "fail-later")) {
        refused(host->fail(host, call, outlet_text("code"), BAD));
        return OUTLET_E_FAILED;
    }
    if (is(self, "done")) {
        host->done(host, completion, OUTLET_E_FAILED, none, BAD);
        return OUTLET_PENDING;
    }
    if (is(self, "log")) refused(host->log(host, call, OUTLET_LOG_INFO, BAD, NULL, 0));
    if (is(self, "fact")) {
        refused(host->log(host, call, OUTLET_LOG_INFO, outlet_text("x"), &fact, 1));
    }
    if (is(self, "url")) refused(host->request_set_url(host, request, BAD));
    if (is(self, "attribute")) {
        refused(host->request_set_attr(host, request, outlet_text("key"), BAD));
    }
    return OUTLET_OK;
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)call, (void)request, (void)completion;
    if (is(self, "error")) {
        refused(self->host->response_replace_error(self->host, response, outlet_text(""), BAD));
    }
    return OUTLET_OK;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)attempt;
    if (!is(self, "retry_done")) return OUTLET_OK;
    self->host->retry_done(self->host, completion, OUTLET_RETRY_FAIL_WITH, 0, outlet_text(""), BAD);
    return OUTLET_PENDING;
}

static outlet_status redirect(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    (void)call, (void)request, (void)response, (void)next;
    if (!is(self, "redirect_done")) return OUTLET_OK;
    self->host->redirect_done(self->host, completion, OUTLET_REDIRECT_FAIL, outlet_text(""), BAD);
    return OUTLET_PENDING;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .process = process,
                                   .retry = retry,
                                   .redirect = redirect};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

/* Returns 7 if the caller's function has not been called, or has returned 0. */
static int32_t call_back(outlet_instance *self, uint8_t (*function)(outlet_view)) {
    return is(self, "caller") && function(BAD) != 0 ? 0 : 7;
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("call_back"),
                                     OUTLET_TEXT("i(f{b(s)})"), OUTLET_TEXT(""),
                                     (outlet_function)call_back};
static const outlet_export *const exports[] = {&export};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.bad-text"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake,
    .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)
