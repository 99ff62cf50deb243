/* Has a summary of a negative length. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.huge-text"), .summary = {(const uint8_t *)"x", (uint64_t)-1}};
OUTLET_MODULE(descriptor)
