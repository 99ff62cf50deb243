/* Refuses requests whose URL contains a configured text ("refused"), in finalize or in redirect
 * ("hook"); that is allowed. The host must call these hooks for redirects as well, so that no
 * redirect bypasses them.
 *
 * The hook also changes URLs that end in /old to end in /new. will_send logs the URL. */
#include "faulty.h"

struct guard {
    outlet_instance base;
    char refused[64];
    int in_redirect;
};

static int holds(outlet_view text, const char *part) {
    size_t count = strlen(part);
    for (uint64_t i = 0; count > 0 && i + count <= text.len; i++) {
        if (memcmp(text.ptr + i, part, count) == 0) return 1;
    }
    return 0;
}

static outlet_status judge(outlet_instance *self, outlet_call call, outlet_request request) {
    const outlet_host *host = self->host;
    outlet_view url;
    char moved[256];
    if (host->request_url(host, request, &url) != OUTLET_OK) return OUTLET_E_FAILED;
    if (holds(url, ((struct guard *)self)->refused)) {
        host->fail(host, call, outlet_text(""), outlet_text("the address is refused"));
        return OUTLET_E_DENIED;
    }
    if (url.len > 4 && url.len < sizeof moved && memcmp(url.ptr + url.len - 4, "/old", 4) == 0) {
        memcpy(moved, url.ptr, url.len);
        memcpy(moved + url.len - 3, "new", 4);
        moved[url.len] = 0;
        return host->request_set_url(host, request, outlet_text(moved));
    }
    return OUTLET_OK;
}

static outlet_status finalize(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_completion completion) {
    (void)completion;
    return ((struct guard *)self)->in_redirect ? OUTLET_OK : judge(self, call, request);
}

static outlet_status redirect(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    (void)completion, (void)request, (void)response;
    return ((struct guard *)self)->in_redirect ? judge(self, call, next) : OUTLET_OK;
}

static void will_send(outlet_instance *self, outlet_call call, outlet_request request) {
    outlet_view url;
    (void)call;
    if (self->host->request_url(self->host, request, &url) == OUTLET_OK) {
        self->host->log(self->host, call, OUTLET_LOG_INFO, url, NULL, 0);
    }
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config,
                            outlet_instance **out) {
    outlet_view value;
    struct guard *self = calloc(1, sizeof *self);
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    if (host->config_value(host, call, outlet_text("refused"), &value) == OUTLET_OK &&
        value.len < sizeof self->refused) {
        memcpy(self->refused, value.ptr, value.len);
    }
    self->in_redirect = host->config_value(host, call, outlet_text("hook"), &value) == OUTLET_OK &&
                        value.len == 8 && memcmp(value.ptr, "redirect", 8) == 0;
    *out = &self->base;
    return OUTLET_OK;
}

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .will_send = will_send,
                                   .finalize = finalize,
                                   .redirect = redirect};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &table;
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.guards-address"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .hooks = hooks, .destroy = unmake};
OUTLET_MODULE(descriptor)
