/* The signature of its export has an unknown letter. The host must refuse to load it and name
 * the letter. */
#include "faulty.h"

static void function(void) {}

static const outlet_export export = {
    sizeof(outlet_export), 0, OUTLET_TEXT("f"), OUTLET_TEXT("q(s)"), OUTLET_TEXT(""), function};
static const outlet_export *const exports[] = {&export};
static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.bad-signature"), .exports = exports, .export_count = 1};
OUTLET_MODULE(descriptor)
