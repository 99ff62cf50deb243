#pragma once
/// What all handles of a transport have in common, behind locks of its own.
#include <curl/curl.h>

typedef struct ccurl_share ccurl_share;

/// Makes a share of TLS sessions (`CURL_LOCK_DATA_SSL_SESSION`); NULL when memory is short.
ccurl_share *_Nullable ccurl_share_create(void);
/// The handle for `CURLOPT_SHARE`.
CURLSH *_Nonnull ccurl_share_handle(ccurl_share *_Nonnull share);
/// Frees the share. No handle may use it any more.
void ccurl_share_destroy(ccurl_share *_Nonnull share);
