/* outlet/version.h - which revision of the plugin ABI these headers describe. */
#ifndef OUTLET_VERSION_H
#define OUTLET_VERSION_H

/* Part of the entry symbol's name (outlet_module_v1): two majors can live in one library. */
#define OUTLET_ABI_MAJOR 1

/* Grows when something is appended; what exists never moves and never changes its meaning. */
#define OUTLET_ABI_MINOR 0

/* Not frozen yet: until the first release a minor may still change under a plugin. */
#define OUTLET_ABI_FROZEN 0

#endif
