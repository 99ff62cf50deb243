#pragma once
#include <curl/curl.h>

/// `curl_global_init`, with blocks from the C library's per-thread cache only.
///
/// Where libcurl was set up before, by somebody else in this process, what it has stays.
CURLcode ccurl_global_init(void);
