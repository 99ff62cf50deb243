#pragma once
#include <curl/curl.h>

/// `curl_global_init`, with memory that each thread keeps for itself where it can.
///
/// Called once.
///
/// Where libcurl was set up before, by somebody else in this process, what it has stays.
CURLcode ccurl_global_init(void);
