/* outlet/plugin.h - what a plugin says of itself, and how it lives.
 *
 *   create -> hooks -> (hooks and exports, any number) -> quiesce -> destroy
 *
 * The library stays mapped for good: static destructors run when the process ends. */
#ifndef OUTLET_PLUGIN_H
#define OUTLET_PLUGIN_H

#include "base.h"
#include "export.h"
#include "hooks.h"
#include "host.h"

OUTLET_BEGIN_DECLARATIONS

/* Hooks may overlap on one instance. */
#define OUTLET_F_CONCURRENT (1u << 0)
/* No hook ever blocks, each returns within microseconds: the host may call them inline. */
#define OUTLET_F_NONBLOCKING (1u << 1)
/* The plugin makes threads of its own. */
#define OUTLET_F_SPAWNS (1u << 2)
/* At most one instance per process. */
#define OUTLET_F_PER_PROCESS (1u << 3)

/* Where a plugin's hooks stand among those of others; within one, the order of loading counts. */
#define OUTLET_ORDER_FIRST (-1) /* before the others, such as one that answers in their place */
#define OUTLET_ORDER_NORMAL 0
#define OUTLET_ORDER_LAST 1 /* behind the others, such as one that signs what they made */

/* How an instance is to behave; borrowed until create, or reconfigure, returns. */
typedef struct outlet_config {
    uint32_t struct_size; /* sizeof(outlet_config) of the host */
    uint32_t reserved;    /* 0 */
    outlet_view json;     /* a JSON object; "{}" when nothing was configured */
    outlet_view data_dir; /* the path of a directory for what the instance keeps on disk, which only the
                             user can enter, the same in the next run; empty when the host gives none */
} outlet_config;

/* One plugin of a module. Everything here, and what it points to, lives as long as the module. */
typedef struct outlet_descriptor {
    uint32_t struct_size; /* sizeof(outlet_descriptor) the plugin was compiled with */
    uint32_t flags;       /* OUTLET_F_* */

    outlet_view id;      /* Required. Unique: lower-case letters, digits, '.', '-', such as
                            "com.example.signer". */
    outlet_view version; /* Required, such as "1.0.0". */
    outlet_view name;    /* for people; the id when empty */
    outlet_view summary; /* one line for people; may be empty */
    outlet_view vendor;  /* may be empty */
    outlet_view url;     /* may be empty */
    outlet_view config_schema; /* a JSON Schema (draft 4, 6, 7) of the configuration, which
                                  the host holds it against before create; may be empty */

    /* What the plugin needs, such as "net:api.example.com"; the same as in the manifest. */
    const outlet_view *OUTLET_OPTIONAL permissions;
    uint64_t permission_count;

    /* Functions to be called by name; pointers, so that outlet_export can grow. */
    const outlet_export *OUTLET_REQUIRED const *OUTLET_OPTIONAL exports;
    uint64_t export_count;

    /* For the plugin alone; the host never looks at it. */
    void *OUTLET_OPTIONAL data;

    /* Makes an instance. Required.
     *
     * self: this descriptor, for plugins that serve several with one function.
     * out: receives the instance; must not be null after OUTLET_OK, and is ignored after a
     * failure, whose reason goes to host->fail. An instance that was not made is never
     * destroyed.
     * Thread: [control]; several instances may be made at once. */
    outlet_status (*OUTLET_REQUIRED create)(const struct outlet_descriptor *self,
                                            const outlet_host *host, outlet_call call,
                                            const outlet_config *config,
                                            outlet_instance *OUTLET_OPTIONAL *OUTLET_NONNULL out);

    /* Which hooks the instance wants; asked once, right after create. Optional.
     *
     * The table is the plugin's and lives until destroy returned. Thread: [control]. */
    const outlet_hooks *OUTLET_OPTIONAL (*OUTLET_OPTIONAL hooks)(outlet_instance *instance);

    /* Ends the work: no hook starts after this. Optional.
     *
     * Finish or drop what is pending and join the instance's threads, then return OUTLET_OK; or
     * return OUTLET_PENDING and call host->quiesced later. An instance that does not answer in
     * time is abandoned: never destroyed, never called again. Thread: [control]. */
    outlet_status (*OUTLET_OPTIONAL quiesce)(outlet_instance *instance, outlet_call call);

    /* Frees the instance; nothing follows. Called once, never from inside one of the plugin's
     * own functions. Required. Thread: [control]. */
    void (*OUTLET_REQUIRED destroy)(outlet_instance *instance);

    /* A further contract of the plugin's by name and revision; null when it has none such.
     * Optional. Thread: [control]. */
    const void *OUTLET_OPTIONAL (*OUTLET_OPTIONAL extension)(outlet_instance *instance,
                                                             outlet_view id);

    int32_t order;     /* OUTLET_ORDER_* */
    uint32_t reserved; /* 0 */

    /* The services that the plugin cannot do without, such as "outlet.http/1": where one is not offered,
     * the plugin is refused before create. */
    const outlet_view *OUTLET_OPTIONAL required_services;
    uint64_t required_service_count;

    /* Takes another configuration, which the host has held against config_schema; all of it, not what
     * is new. On a failure the one before stays, and fail says why. Optional: without it, a plugin that
     * is to be told something else has to be loaded anew. Thread: [hook]. */
    outlet_status (*OUTLET_OPTIONAL reconfigure)(outlet_instance *instance, outlet_call call,
                                                 const outlet_config *config);
} outlet_descriptor;

/* A descriptor that says nothing but its size, to be filled in: for C++ before C++20, whose initialisers
 * name no fields. */
static inline outlet_descriptor outlet_empty_descriptor(void) {
    outlet_descriptor descriptor;
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.struct_size = (uint32_t)sizeof descriptor;
    return descriptor;
}

OUTLET_END_DECLARATIONS

#endif
