/* outlet/entry.h - how the host finds the plugins of a shared library. */
#ifndef OUTLET_ENTRY_H
#define OUTLET_ENTRY_H

#include "plugin.h"

OUTLET_BEGIN_DECLARATIONS

/* What a library holds; static, as everything it points to. */
typedef struct outlet_module {
    uint32_t struct_size;    /* sizeof(outlet_module) the plugin was compiled with */
    uint32_t abi_minor;      /* OUTLET_ABI_MINOR the plugin was compiled with */
    uint32_t min_host_minor; /* the oldest host it works with */
    uint32_t descriptor_count;
    /* Pointers, so that outlet_descriptor can grow. */
    const outlet_descriptor *OUTLET_REQUIRED const *OUTLET_REQUIRED descriptors;
} outlet_module;

/* The one symbol a plugin must export. Its name holds the ABI's major.
 *
 * host_minor: OUTLET_ABI_MINOR of the host.
 * Returns the module, or null to refuse this host. May be called more than once, and answers
 * the same. Starts no threads, and is fast: the host counts what a scan of plugins costs.
 * Thread: [control]. */
OUTLET_EXPORT const outlet_module *OUTLET_OPTIONAL outlet_module_v1(uint32_t host_minor);

/* The section that holds the manifest: for each plugin of the library a JSON object with "id",
 * "version", "abi" and "permissions", NULs between them. The host reads it without running any
 * code of the library's, and refuses a module that has other plugins, or whose descriptors
 * disagree. It has 64 KiB at most. Without one the plugins still load, unless the host asks for
 * manifests. */
#define OUTLET_MANIFEST_SECTION ".outlet.manifest"

#define OUTLET_STRINGIFY_(x) #x
#define OUTLET_STRINGIFY(x) OUTLET_STRINGIFY_(x)

#if defined(__has_attribute)
#if __has_attribute(retain)
#define OUTLET_RETAIN_ , retain /* or --gc-sections would take it for unused */
#endif
#endif
#ifndef OUTLET_RETAIN_
#define OUTLET_RETAIN_
#endif

#define OUTLET_JOIN_(a, b) a##b
#define OUTLET_JOIN(a, b) OUTLET_JOIN_(a, b)

/* Puts a plugin into the library's manifest, at file scope, once for each plugin, on a line of its
 * own:
 *
 *   OUTLET_MANIFEST("com.example.signer", "1.0.0", "\"net:api.example.com\"");
 *
 * All three are string literals; permissions is the inside of a JSON array, "" for none. */
#define OUTLET_MANIFEST(id, version, permissions)                                            \
    __attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char \
        OUTLET_JOIN(outlet_manifest_, __LINE__)[] =                                          \
            "{\"id\":\"" id "\",\"version\":\"" version "\",\"abi\":\""                       \
            OUTLET_STRINGIFY(OUTLET_ABI_MAJOR) "." OUTLET_STRINGIFY(OUTLET_ABI_MINOR)        \
            "\",\"permissions\":[" permissions "]}"

/* Defines the entry of a library with one plugin, at file scope:
 *
 *   static const outlet_descriptor descriptor = { ... };
 *   OUTLET_MODULE(descriptor)
 */
#define OUTLET_MODULE(descriptor_)                                                    \
    const outlet_module *outlet_module_v1(uint32_t host_minor) {                      \
        static const outlet_descriptor *const outlet_descriptors_[] = {&descriptor_}; \
        static const outlet_module outlet_module_ = {                                 \
            sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 1, outlet_descriptors_};      \
        (void)host_minor;                                                             \
        return &outlet_module_;                                                       \
    }

OUTLET_END_DECLARATIONS

#endif
