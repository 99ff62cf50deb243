/* The signature of its export says that the argument is a number, but the function takes a
 * pointer. The host cannot detect that; the checker must report the crash. */
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
