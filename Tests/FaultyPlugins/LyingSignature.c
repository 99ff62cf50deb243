/* Says that its function takes a number, which the function takes for an address. */
#include "faulty.h"

static int64_t length(outlet_instance *self, const char *text) {
    (void)self;
    return (int64_t)strlen(text);
}

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("length"),
                                     OUTLET_TEXT("l(L)"), OUTLET_TEXT(""),
                                     (outlet_function)length};
static const outlet_export *const exports[] = {&export};
static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.lying-signature"), .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)
