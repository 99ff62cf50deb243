#include "ccurl_options.h"

#include <stddef.h>
#include <stdlib.h>

const long ccurl_auth_password = (long)(CURLAUTH_DIGEST | CURLAUTH_NTLM | CURLAUTH_BASIC);
const long ccurl_auth_basic = (long)CURLAUTH_BASIC;
const long ccurl_auth_digest = (long)CURLAUTH_DIGEST;
const long ccurl_auth_negotiate = (long)CURLAUTH_NEGOTIATE;
const long ccurl_auth_ntlm = (long)CURLAUTH_NTLM;
const long ccurl_auth_bearer = (long)CURLAUTH_BEARER;
const long ccurl_auth_only = (long)CURLAUTH_ONLY;
const int ccurl_pause_all = CURLPAUSE_ALL;
const long ccurl_rtsp_receive = CURL_RTSPREQ_RECEIVE;

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return curl_easy_setopt(easy, option, (curl_off_t)value);
}

CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode ccurl_set_write(CURL *easy, CURLoption option, curl_write_callback call) {
    return curl_easy_setopt(easy, option, call);
}

CURLcode ccurl_set_read(CURL *easy, curl_read_callback call) {
    return curl_easy_setopt(easy, CURLOPT_READFUNCTION, call);
}

CURLcode ccurl_set_seek(CURL *easy, curl_seek_callback call) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, call);
}

CURLcode ccurl_set_progress(CURL *easy, curl_xferinfo_callback call) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, call);
}

CURLcode ccurl_set_prereq(CURL *easy, curl_prereq_callback call) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, call);
}

CURLcode ccurl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    if (!bytes) return curl_easy_setopt(easy, option, NULL);
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

CURLcode ccurl_set_ssl_context(CURL *easy, curl_ssl_ctx_callback call) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, call);
}

CURLcode ccurl_set_debug(CURL *easy, curl_debug_callback call) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, call);
}

int64_t ccurl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

long ccurl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

ccurl_measures ccurl_measure(CURL *easy, bool was_plainly_sent) {
    // A table and a loop that is not unrolled: fifteen calls in a row would each cost a
    // mispredicted branch at every request.
    static const struct {
        CURLINFO info;
        size_t offset;
    } table[] = {
        {CURLINFO_NUM_CONNECTS, offsetof(ccurl_measures, num_connects)},
        {CURLINFO_PRETRANSFER_TIME_T, offsetof(ccurl_measures, pretransfer_time_t)},
        {CURLINFO_STARTTRANSFER_TIME_T, offsetof(ccurl_measures, starttransfer_time_t)},
        {CURLINFO_TOTAL_TIME_T, offsetof(ccurl_measures, total_time_t)},
        {CURLINFO_SIZE_DOWNLOAD_T, offsetof(ccurl_measures, size_download_t)},
        {CURLINFO_REQUEST_SIZE, offsetof(ccurl_measures, request_size)},
        {CURLINFO_HEADER_SIZE, offsetof(ccurl_measures, header_size)},
        // Skipped without a body on a reused connection, see below.
        {CURLINFO_SIZE_UPLOAD_T, offsetof(ccurl_measures, size_upload_t)},
        {CURLINFO_NAMELOOKUP_TIME_T, offsetof(ccurl_measures, namelookup_time_t)},
        {CURLINFO_CONNECT_TIME_T, offsetof(ccurl_measures, connect_time_t)},
        {CURLINFO_APPCONNECT_TIME_T, offsetof(ccurl_measures, appconnect_time_t)},
        {CURLINFO_PRIMARY_PORT, offsetof(ccurl_measures, primary_port)},
        {CURLINFO_LOCAL_PORT, offsetof(ccurl_measures, local_port)},
        {CURLINFO_PRIMARY_IP, offsetof(ccurl_measures, primary_ip)},
        {CURLINFO_LOCAL_IP, offsetof(ccurl_measures, local_ip)},
    };
    ccurl_measures measures = {0};
#pragma clang loop unroll(disable)
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        if (table[index].info == CURLINFO_SIZE_UPLOAD_T && was_plainly_sent &&
            measures.num_connects == 0)
            break;
        curl_easy_getinfo(easy, table[index].info, (char *)&measures + table[index].offset);
    }
    return measures;
}

int ccurl_get_socket(CURL *easy) {
    curl_socket_t value = CURL_SOCKET_BAD;
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : -1;
}

void *ccurl_get_ssl(CURL *easy) {
    const struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session) return NULL;
    return session->backend == CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

int ccurl_get_begun_status(CURL *easy, bool was_sent_before) {
    static const char name[] = ":status";
    struct curl_header *field;
    CURLHcode code = curl_easy_header(easy, name, 0, CURLH_PSEUDO, 0, &field);
    if (code == CURLHE_NOHEADERS) return 0;
    // libcurl counts how often it sends the request, but does not tell the number.
    int request = 0;
    while (curl_easy_header(easy, name, 0, CURLH_PSEUDO, request + 1, &field) != CURLHE_NOREQUEST)
        request++;
    if (was_sent_before && --request < 0) return 0;
    if (curl_easy_header(easy, name, 0, CURLH_PSEUDO, request, &field) != CURLHE_OK) return 0;
    size_t last = field->amount - 1;
    curl_easy_header(easy, name, last, CURLH_PSEUDO, request, &field);
    return atoi(field->value);
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

void *ccurl_multi_next_done(CURLM *multi, CURLcode *result) {
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left))) {
        void *client = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &client);
        if (client) return client;
    }
    return NULL;
}
