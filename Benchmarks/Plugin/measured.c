/* measured.c - the plugin that Benchmarks/count measures.
 *
 * Its hooks do nothing, except that prepare reads a header field READS times and writes one WRITES
 * times. HOOKS is the number of hooks, from 1 to 6. FLAGS are the descriptor's flags, which define
 * how the hooks may be called. */
#include <outlet/outlet.h>

#ifndef HOOKS
#define HOOKS 1
#endif
#ifndef READS
#define READS 0
#endif
#ifndef WRITES
#define WRITES 0
#endif

#ifndef FLAGS
#define FLAGS (OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING)
#endif
#ifndef ID
#define ID "outlet.benchmark"
#endif

OUTLET_MANIFEST(ID, "1.0.0", "");

struct outlet_instance {
    const outlet_host *host;
};

static struct outlet_instance instance;

static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call;
    (void)completion;
    for (int read = 0; read < READS; ++read) {
        outlet_view value;
        outlet_status status = self->host->request_header(self->host, request,
                                                          outlet_text("Accept-Language"), 0, &value);
        if (status != OUTLET_OK) return status;
    }
    for (int write = 0; write < WRITES; ++write) {
        outlet_status status = self->host->request_set_header(
            self->host, request, outlet_text("X-Measured"), outlet_text("a value of a field"));
        if (status != OUTLET_OK) return status;
    }
    return OUTLET_OK;
}

static outlet_status pass(outlet_instance *self, outlet_call call, outlet_request request,
                          outlet_completion completion) {
    (void)self;
    (void)call;
    (void)request;
    (void)completion;
    return OUTLET_OK;
}

static void see_request(outlet_instance *self, outlet_call call, outlet_request request) {
    (void)self;
    (void)call;
    (void)request;
}

static void see_response(outlet_instance *self, outlet_call call, outlet_request request,
                         outlet_response response) {
    (void)self;
    (void)call;
    (void)request;
    (void)response;
}

static outlet_status process(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_response response, outlet_completion completion) {
    (void)response;
    return pass(self, call, request, completion);
}

static const outlet_hooks hooks = {
    .struct_size = sizeof(outlet_hooks),
    .prepare = prepare,
    .will_send = HOOKS > 1 ? see_request : 0,
    .did_receive = HOOKS > 2 ? see_response : 0,
    .process = HOOKS > 3 ? process : 0,
    .adapt = HOOKS > 4 ? pass : 0,
    .finalize = HOOKS > 5 ? pass : 0,
};

static outlet_status create(const outlet_descriptor *self, const outlet_host *host, outlet_call call,
                            const outlet_config *config, outlet_instance **out) {
    (void)self;
    (void)call;
    (void)config;
    instance.host = host;
    *out = &instance;
    return OUTLET_OK;
}

static const outlet_hooks *hooks_of(outlet_instance *self) {
    (void)self;
    return &hooks;
}

static void destroy(outlet_instance *self) { (void)self; }

/* Adds two numbers, to measure a typed call. */
static int64_t add(outlet_instance *self, int64_t a, int64_t b) {
    (void)self;
    return a + b;
}

static const outlet_export sum = {
    .struct_size = sizeof(outlet_export),
    .name = OUTLET_TEXT("add"),
    .signature = OUTLET_TEXT("l(ll)"),
    .function = (outlet_function)add,
};
static const outlet_export *const exports[] = {&sum};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = FLAGS | OUTLET_F_PER_PROCESS,
    .id = OUTLET_TEXT(ID),
    .version = OUTLET_TEXT("1.0.0"),
    .exports = exports,
    .export_count = 1,
    .create = create,
    .hooks = hooks_of,
    .destroy = destroy,
};
OUTLET_MODULE(descriptor)
