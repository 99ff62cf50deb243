/* Does not check all that its schema allows. "what" says where the fault is: in an element of a list, in the last
 * of many settings, in a member of an object, or in one that a reference describes. The checker must report all. */
#include "faulty.h"

static int is_negative(const outlet_host *host, outlet_call call, const char *key) {
    outlet_view value;
    return host->config_value(host, call, outlet_text(key), &value) == OUTLET_OK && value.len > 0
           && value.ptr[0] == '-';
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    char what[16] = "";
    outlet_view list;
    setting(host, call, "what", what, sizeof what);
    if (strcmp(what, "element") == 0
        && host->config_value(host, call, outlet_text("hosts"), &list) == OUTLET_OK && list.len > 2)
        abort();
    if (strcmp(what, "last") == 0 && is_negative(host, call, "k9")) abort();
    if (strcmp(what, "member") == 0 && is_negative(host, call, "limits.rate")) return OUTLET_E_FAILED;
    if (strcmp(what, "referred") == 0 && is_negative(host, call, "other.deep.rate")) return OUTLET_E_FAILED;
    return make(descriptor, host, call, config, out);
}

#define LIMITS "{\"type\": \"object\", \"required\": [\"rate\"], \"properties\": {\"rate\": {\"type\": \"integer\"}}}"
#define NUMBER(name) "\"" name "\": {\"type\": \"integer\"}, "

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor), .id = OUTLET_TEXT("faulty.trusts-parts"),
    .version = OUTLET_TEXT("1.0.0"),
    .config_schema = OUTLET_TEXT(
        "{\"definitions\": {\"limits\": " LIMITS "}, \"properties\": {\"what\": {\"type\": \"string\"}, "
        NUMBER("k1") NUMBER("k2") NUMBER("k3") NUMBER("k4") NUMBER("k5") NUMBER("k6") NUMBER("k7")
        NUMBER("k8") NUMBER("k9")
        "\"hosts\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"limits\": " LIMITS ", "
        "\"other\": {\"type\": \"object\", \"required\": [\"deep\"], \"properties\": "
        "{\"deep\": {\"$ref\": \"#/definitions/limits\"}}}}, \"additionalProperties\": false}"),
    .create = create, .destroy = unmake};
OUTLET_MODULE(descriptor)
