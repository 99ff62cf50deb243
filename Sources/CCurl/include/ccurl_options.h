#pragma once
/// Typed wrappers of libcurl's variadic functions, which Swift cannot call.
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl 7.87.0 or later is needed (Debian 12: libcurl4-openssl-dev)"
#endif

// curl_easy_setopt, one wrapper per type of its third argument.

CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value);
CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, int64_t value);
/// libcurl copies the string; `NULL` unsets the option.
CURLcode ccurl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value);
/// libcurl stores the pointer, which must stay valid: lists, parsed URLs, shares, buffers, callback
/// data.
CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, const void *_Nullable value);
/// `CURLOPT_WRITEFUNCTION`, `CURLOPT_HEADERFUNCTION`.
CURLcode ccurl_set_write(CURL *_Nonnull easy, CURLoption option, curl_write_callback _Nullable call);
/// `CURLOPT_READFUNCTION`.
CURLcode ccurl_set_read(CURL *_Nonnull easy, curl_read_callback _Nullable call);
/// `CURLOPT_SEEKFUNCTION`.
CURLcode ccurl_set_seek(CURL *_Nonnull easy, curl_seek_callback _Nullable call);
/// `CURLOPT_XFERINFOFUNCTION`.
CURLcode ccurl_set_progress(CURL *_Nonnull easy, curl_xferinfo_callback _Nullable call);
/// `CURLOPT_PREREQFUNCTION`.
CURLcode ccurl_set_prereq(CURL *_Nonnull easy, curl_prereq_callback _Nullable call);
/// libcurl copies the bytes; `NULL` unsets the option.
CURLcode ccurl_set_blob(
    CURL *_Nonnull easy, CURLoption option, const void *_Nullable bytes, size_t count);
/// `CURLOPT_SSL_CTX_FUNCTION`.
CURLcode ccurl_set_ssl_context(CURL *_Nonnull easy, curl_ssl_ctx_callback _Nullable call);
/// `CURLOPT_DEBUGFUNCTION`.
CURLcode ccurl_set_debug(CURL *_Nonnull easy, curl_debug_callback _Nullable call);

// curl_easy_getinfo; 0 or NULL if libcurl has no value.

int64_t ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info);
long ccurl_get_long(CURL *_Nonnull easy, CURLINFO info);
/// The measurements of a transfer: the values of the `CURLINFO_` constants of the same names. 0 or
/// NULL if libcurl has no value, or if the value was not queried.
typedef struct ccurl_measures {
    int64_t namelookup_time_t, connect_time_t, appconnect_time_t, pretransfer_time_t,
        starttransfer_time_t, total_time_t;
    int64_t size_upload_t, size_download_t;
    long request_size, header_size;
    long num_connects, primary_port, local_port;
    /// Owned by libcurl; valid until the handle's next transfer.
    const char *_Nullable primary_ip, *_Nullable local_ip;
} ccurl_measures;

/// Reads the measurements of a handle.
///
/// - `was_plainly_sent`: whether a request without a body was sent. If its connection was reused,
///   the upload size and the times and addresses of the connection are then not queried.
ccurl_measures ccurl_measure(CURL *_Nonnull easy, bool was_plainly_sent);
/// `CURLINFO_ACTIVESOCKET`; -1 if there is no connection.
int ccurl_get_socket(CURL *_Nonnull easy);
/// `CURLINFO_TLS_SSL_PTR`: the connection's `SSL *`; NULL without TLS or with another library than
/// OpenSSL.
void *_Nullable ccurl_get_ssl(CURL *_Nonnull easy);
/// The status code of the last head over HTTP/2 that libcurl has received for the request as it was
/// last sent, delivered or not; 0 if there is none. With `was_sent_before`, libcurl is about to send it
/// again.
int ccurl_get_begun_status(CURL *_Nonnull easy, bool was_sent_before);

// Constants whose macros Swift cannot import.

/// `CURLAUTH_DIGEST`, `_NTLM` and `_BASIC`: the schemes that need a user name and a password.
extern const long ccurl_auth_password;
/// `CURLAUTH_BASIC` and so on.
extern const long ccurl_auth_basic, ccurl_auth_digest, ccurl_auth_negotiate, ccurl_auth_ntlm,
    ccurl_auth_bearer;
/// `CURLAUTH_ONLY`: combined with a scheme, sends no credentials until the server asks for them.
extern const long ccurl_auth_only;
/// `CURLPAUSE_ALL`.
extern const int ccurl_pause_all;
/// `CURL_RTSPREQ_RECEIVE`.
extern const long ccurl_rtsp_receive;

// curl_multi_setopt.

CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value);

/// Returns the `CURLOPT_PRIVATE` pointer of the next finished handle, and its result; NULL if there
/// is none (`curl_multi_info_read`).
void *_Nullable ccurl_multi_next_done(CURLM *_Nonnull multi, CURLcode *_Nonnull result);
