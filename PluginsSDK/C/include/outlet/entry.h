/* outlet/entry.h - how the host finds the plugins of a shared library. */
#ifndef OUTLET_ENTRY_H
#define OUTLET_ENTRY_H

#include "plugin.h"

OUTLET_BEGIN_DECLARATIONS

/* The contents of a library; it and everything it points to must be static. */
typedef struct outlet_module {
    uint32_t struct_size;    /* sizeof(outlet_module) the plugin was compiled with */
    uint32_t abi_minor;      /* OUTLET_ABI_MINOR the plugin was compiled with */
    uint32_t min_host_minor; /* the minimum OUTLET_ABI_MINOR of a host */
    uint32_t descriptor_count;
    /* Pointers, so that outlet_descriptor can grow. */
    const outlet_descriptor *OUTLET_REQUIRED const *OUTLET_REQUIRED descriptors;
} outlet_module;

/* The only symbol that a plugin must export. Its name contains the major version of the ABI.
 *
 * host_minor: OUTLET_ABI_MINOR of the host.
 * Returns the module, or null to refuse this host. It may be called more than once, and must always
 * return the same. It must start no threads and return quickly, because a host may scan many
 * plugins.
 * Thread: [control]. */
OUTLET_EXPORT const outlet_module *OUTLET_OPTIONAL outlet_module_v1(uint32_t host_minor);

/* The section with the manifest: for each plugin of the library a JSON object with "id", "version",
 * "abi" and "permissions", separated by NULs; at most 64 KiB. The host reads it without running
 * code of the library, and refuses values that no descriptor may have, another major version, and
 * permissions that do not exist in its "abi". It refuses a library whose module has other plugins
 * than the manifest, or descriptors that differ from it. Without a manifest, plugins still load,
 * unless the host requires manifests. */
#define OUTLET_MANIFEST_SECTION ".outlet.manifest"

#define OUTLET_STRINGIFY_(x) #x
#define OUTLET_STRINGIFY(x) OUTLET_STRINGIFY_(x)

#if defined(__has_attribute)
#if __has_attribute(retain)
#define OUTLET_RETAIN_ , retain /* otherwise --gc-sections removes it */
#endif
#endif
#ifndef OUTLET_RETAIN_
#define OUTLET_RETAIN_
#endif

#define OUTLET_JOIN_(a, b) a##b
#define OUTLET_JOIN(a, b) OUTLET_JOIN_(a, b)

/* Adds a plugin to the library's manifest. Use it at file scope, once for each plugin, on a
 * separate line:
 *
 *   OUTLET_MANIFEST("com.example.signer", "1.0.0", "\"net:api.example.com\"");
 *
 * All arguments are string literals; permissions are the elements of a JSON array, "" for none. */
#define OUTLET_MANIFEST(id, version, permissions)                                            \
    __attribute__((section(OUTLET_MANIFEST_SECTION), used OUTLET_RETAIN_)) static const char \
        OUTLET_JOIN(outlet_manifest_, __LINE__)[] =                                          \
            "{\"id\":\"" id "\",\"version\":\"" version "\",\"abi\":\""                       \
            OUTLET_STRINGIFY(OUTLET_ABI_MAJOR) "." OUTLET_STRINGIFY(OUTLET_ABI_MINOR)        \
            "\",\"permissions\":[" permissions "]}"

/* Defines outlet_module_v1 for a library with one plugin. Use it at file scope:
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
