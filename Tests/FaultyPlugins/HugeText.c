/* Its summary has a length of 2^64 - 1. The host must refuse to load it without reading the
 * text. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.huge-text"), .summary = {(const uint8_t *)"x", (uint64_t)-1}};
OUTLET_MODULE(descriptor)
