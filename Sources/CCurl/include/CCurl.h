#pragma once
/// What Swift cannot reach of libcurl and Linux by itself: mechanism only, no decisions.
#include "ccurl_head.h"
#include "ccurl_options.h"
#include "ccurl_poller.h"
#include "ccurl_share.h"
