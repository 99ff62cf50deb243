/* outlet/version.h - the version of the plugin ABI that these headers describe. */
#ifndef OUTLET_VERSION_H
#define OUTLET_VERSION_H

/* Part of the entry symbol's name (outlet_module_v1): a library can support two major versions. */
#define OUTLET_ABI_MAJOR 1

/* Increases when something is appended. Existing fields never move or change their meaning. */
#define OUTLET_ABI_MINOR 0

/* 0: not frozen. Until the first release, a minor version may still change incompatibly. */
#define OUTLET_ABI_FROZEN 0

#endif
