// Its will_send starts a thread that throws an exception, and waits for the thread. The checker must report the
// crash, and the program name the plugin.
#include <outlet/outlet.h>
#include <stdexcept>
#include <thread>

namespace {
outlet_status create(const outlet_descriptor *, const outlet_host *, outlet_call, const outlet_config *,
                     outlet_instance **out) {
    static char instance;
    *out = reinterpret_cast<outlet_instance *>(&instance);
    return OUTLET_OK;
}

void will_send(outlet_instance *, outlet_call, outlet_request) {
    std::thread([] { throw std::runtime_error("out of a thread"); }).join();
}

const outlet_hooks *hooks(outlet_instance *) {
    static outlet_hooks table = {};
    table.struct_size = sizeof table;
    table.will_send = will_send;
    return &table;
}

void destroy(outlet_instance *) {}

const outlet_descriptor *describe() {
    static outlet_descriptor descriptor = {};
    descriptor.struct_size = sizeof descriptor;
    descriptor.id = outlet_text("faulty.throws-in-thread");
    descriptor.version = outlet_text("1.0.0");
    descriptor.create = create;
    descriptor.hooks = hooks;
    descriptor.destroy = destroy;
    return &descriptor;
}
}  // namespace

extern "C" const outlet_module *outlet_module_v1(uint32_t) {
    static const outlet_descriptor *const descriptors[] = {describe()};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 1, descriptors};
    return &module;
}
