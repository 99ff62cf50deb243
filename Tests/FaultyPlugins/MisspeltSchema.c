/* Its schema has keywords that are none, of which the checker must warn. */
#include "faulty.h"

static const outlet_descriptor descriptor = {
    DESCRIPTOR("faulty.misspelt-schema"),
    .config_schema = OUTLET_TEXT("{\"propeties\": {}, \"x-order\": 1, \"properties\": {\"Type\": "
                                 "{\"maxlength\": 3, \"hint\": {\"a\": 1}}}}")};
OUTLET_MODULE(descriptor)
