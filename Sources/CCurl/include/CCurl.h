#pragma once
/// The parts of libcurl and Linux that Swift cannot call directly: mechanism only, no policy.
#include "ccurl_head.h"
#include "ccurl_options.h"
#include "ccurl_poller.h"
#include "ccurl_share.h"
