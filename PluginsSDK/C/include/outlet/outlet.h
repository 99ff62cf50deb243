/* outlet/outlet.h - the complete plugin ABI. Start reading with base.h. */
#ifndef OUTLET_OUTLET_H
#define OUTLET_OUTLET_H

#include "base.h"
#include "entry.h"
#include "events.h"
#include "export.h"
#include "hooks.h"
#include "host.h"
#include "http.h"
#include "plugin.h"
#include "stream.h"
#include "timer.h"
#include "trust.h"
#include "version.h"

#endif
