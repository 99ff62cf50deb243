/* Its functions crash for one value of a parameter, or for one pair of values: "first" reads the first byte of
 * an empty text whose pointer is null, "both" takes a certain text before another one. The checker must find
 * both, whatever its seed. */
#include "faulty.h"

static char chosen[8];

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    setting(host, call, "what", chosen, sizeof chosen);
    return make(descriptor, host, call, config, out);
}

static int32_t first(outlet_instance *self, outlet_view text) {
    (void)self;
    if (strcmp(chosen, "first") != 0 || (text.len == 0 && text.ptr != NULL)) return 0;
    return *(const volatile uint8_t *)text.ptr;
}

static int is(outlet_view text, const char *word) {
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

static int32_t both(outlet_instance *self, outlet_view one, outlet_view other) {
    (void)self;
    if (strcmp(chosen, "both") == 0 && is(one, "%n%s%x") && is(other, "check")) abort();
    return 0;
}

static const outlet_export first_export = {sizeof(outlet_export), 0, OUTLET_TEXT("first"),
                                           OUTLET_TEXT("i(s)"), OUTLET_TEXT("The first byte."),
                                           (outlet_function)first};
static const outlet_export both_export = {sizeof(outlet_export), 0, OUTLET_TEXT("both"),
                                          OUTLET_TEXT("i(ss)"), OUTLET_TEXT("Takes two texts."),
                                          (outlet_function)both};
static const outlet_export *const exports[] = {&first_export, &both_export};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.trusts-values"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .exports = exports,
    .export_count = 2};
OUTLET_MODULE(descriptor)
