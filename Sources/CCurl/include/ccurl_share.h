#pragma once
/// A libcurl share for all handles of a transport, with its own locks.
#include <curl/curl.h>

typedef struct ccurl_share ccurl_share;

/// Makes a share for TLS sessions (`CURL_LOCK_DATA_SSL_SESSION`); NULL if memory cannot be
/// allocated.
ccurl_share *_Nullable ccurl_share_create(void);
/// Returns the handle for `CURLOPT_SHARE`.
CURLSH *_Nonnull ccurl_share_handle(ccurl_share *_Nonnull share);
/// Frees the share. No handle may use it afterwards.
void ccurl_share_destroy(ccurl_share *_Nonnull share);
