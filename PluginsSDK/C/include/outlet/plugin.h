/* outlet/plugin.h - the description of a plugin, and its life cycle.
 *
 *   create -> hooks -> (hooks and exports, any number) -> quiesce -> destroy
 *
 * The library is never unloaded; static destructors run when the process ends. */
#ifndef OUTLET_PLUGIN_H
#define OUTLET_PLUGIN_H

#include "base.h"
#include "export.h"
#include "hooks.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

/* Hooks of one instance may be called concurrently. */
#define OUTLET_F_CONCURRENT (1u << 0)
/* No hook blocks, and each returns within microseconds. The host may then call them on the thread
 * that needs the result: the transport's, which all transfers wait for, or one of the program's. */
#define OUTLET_F_NONBLOCKING (1u << 1)
/* The plugin starts its own threads. For information only: users see it, and the host treats the plugin
 * as any other. */
#define OUTLET_F_SPAWNS (1u << 2)
/* At most one instance per process. */
#define OUTLET_F_PER_PROCESS (1u << 3)

/* The order in which the hooks of several plugins are called. Plugins of the same order are called
 * in the order of loading. */
#define OUTLET_ORDER_FIRST (-1) /* before other plugins; for one that answers requests itself */
#define OUTLET_ORDER_NORMAL 0
#define OUTLET_ORDER_LAST 1 /* after other plugins; for one that signs the final request */

/* The configuration of an instance; borrowed until create or reconfigure returns. */
typedef struct outlet_config {
    uint32_t struct_size; /* sizeof(outlet_config) of the host */
    uint32_t reserved;    /* 0 */
    outlet_view json;     /* a JSON object; "{}" without a configuration */
    outlet_view data_dir; /* the path of a directory for files of the instance, which only the user
                             can enter and which is the same in the next run; empty if there is
                             none */
} outlet_config;

/* A plugin of a module. The descriptor and everything it points to must live as long as the
 * module. Its texts and those of its exports are one line without control characters, apart from
 * config_schema. */
typedef struct outlet_descriptor {
    uint32_t struct_size; /* sizeof(outlet_descriptor) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_F_* */

    outlet_view id;      /* Required. Unique: lower-case letters, digits and '-', with a '.' between
                            parts, such as "com.example.signer". */
    outlet_view version; /* Required, such as "1.0.0". */
    outlet_view name;    /* a display name; if empty, the id is used */
    outlet_view summary; /* one line that describes the plugin; may be empty */
    outlet_view vendor;  /* may be empty */
    outlet_view url;     /* may be empty */
    outlet_view config_schema; /* a JSON Schema (draft 4, 6 or 7), against which the host validates
                                  the configuration before create; may be empty */

    /* The permissions that the plugin needs, such as "net:api.example.com"; as in the manifest. */
    const outlet_view *OUTLET_OPTIONAL permissions;
    uint64_t permission_count;

    /* Functions that the program can call by name; pointers, so that outlet_export can grow. */
    const outlet_export *OUTLET_REQUIRED const *OUTLET_OPTIONAL exports;
    uint64_t export_count;

    /* For use by the plugin; the host ignores it. */
    void *OUTLET_OPTIONAL data;

    /* Makes an instance. Required.
     *
     * self: this descriptor, so that several descriptors can share one function.
     * host: the host's table for this instance, valid until destroy has returned.
     * out: receives the instance, which must not be null after OUTLET_OK. It is ignored after a
     * failure, and destroy is not called then. Pass the reason of a failure to host->fail.
     * Thread: [control]; several instances may be made concurrently. */
    outlet_status (*OUTLET_REQUIRED create)(const struct outlet_descriptor *self,
                                            const outlet_host *host, outlet_call call,
                                            const outlet_config *config,
                                            outlet_instance *OUTLET_OPTIONAL *OUTLET_NONNULL out);

    /* Returns the hooks of an instance; called once, right after create. Optional.
     *
     * The plugin owns the table, which must be valid until destroy has returned.
     * Thread: [control]. */
    const outlet_hooks *OUTLET_OPTIONAL (*OUTLET_OPTIONAL hooks)(outlet_instance *instance);

    /* Stops the instance's work: no hook is called after this. Optional.
     *
     * Finish or drop pending work and join the instance's threads, then return OUTLET_OK. Or return
     * OUTLET_PENDING and call host->quiesced later. An instance that does not finish in time is
     * abandoned: it is not destroyed and never called again. Thread: [control]. */
    outlet_status (*OUTLET_OPTIONAL quiesce)(outlet_instance *instance, outlet_call call);

    /* Frees the instance; the last call. Called once, never while one of the plugin's functions
     * runs. Required. Thread: [control]. */
    void (*OUTLET_REQUIRED destroy)(outlet_instance *instance);

    /* Returns a further table of the plugin by name and revision; null if there is none. Reserved:
     * hosts of version 1.0 do not call it. Optional. Thread: [control]. */
    const void *OUTLET_OPTIONAL (*OUTLET_OPTIONAL extension)(outlet_instance *instance,
                                                             outlet_view id);

    int32_t order;     /* OUTLET_ORDER_* */
    uint32_t reserved; /* 0 */

    /* The services that the plugin needs, such as "outlet.http/1". A host that lacks one of them
     * refuses the plugin before create. */
    const outlet_view *OUTLET_OPTIONAL required_services;
    uint64_t required_service_count;

    /* Replaces the configuration of an instance. Optional: without it, a plugin must be loaded
     * again to get another configuration.
     *
     * config: the complete new configuration, which matches config_schema. After a failure, the
     * earlier configuration stays in use; pass the reason to host->fail. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL reconfigure)(outlet_instance *instance, outlet_call call,
                                                 const outlet_config *config);
} outlet_descriptor;

/* Returns a descriptor in which only struct_size is set. For C++: before C++20 it has no designated
 * initialisers, and from then on compilers warn of fields that they leave out (-Wextra). */
static inline outlet_descriptor outlet_empty_descriptor(void) {
    outlet_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = sizeof descriptor;
    return descriptor;
}

OUTLET_END_DECLARATIONS

#endif
