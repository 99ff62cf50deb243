/* Does not check its configuration: it crashes if "name" is too long, and fails without a reason
 * if "count" is not above 0. The checker must report both. */
#include "faulty.h"

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    outlet_view value;
    char digits[32] = "1";
    (void)config;
    /* Stands for the crash of a copy into a buffer of 64 bytes. */
    if (host->config_value(host, call, outlet_text("name"), &value) == OUTLET_OK && value.len > 64) abort();
    setting(host, call, "count", digits, sizeof digits);
    if (strtol(digits, NULL, 10) <= 0) return OUTLET_E_ARGUMENT;
    return make(descriptor, host, call, config, out);
}

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.trusts-configuration"),
    .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake};
OUTLET_MODULE(descriptor)
