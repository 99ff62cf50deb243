/* Two of its exports have the same name. The host must refuse to load it. */
#include "faulty.h"

static void function(outlet_instance *self) { (void)self; }

static const outlet_export export = {sizeof(outlet_export), 0, OUTLET_TEXT("f"), OUTLET_TEXT("v()"),
                                     OUTLET_TEXT(""), (outlet_function)function};
static const outlet_export *const exports[] = {&export, &export};
static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.doubled-export"), .exports = exports, .export_count = 2};
OUTLET_MODULE(descriptor)
