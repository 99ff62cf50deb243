#include "ccurl_share.h"

#include <pthread.h>
#include <stdlib.h>

struct ccurl_share {
    CURLSH *handle;
    pthread_mutex_t locks[CURL_LOCK_DATA_LAST];
};

static void lock(CURL *easy, curl_lock_data data, curl_lock_access access, void *client) {
    (void)easy;
    (void)access;
    ccurl_share *share = client;
    pthread_mutex_lock(&share->locks[data]);
}

static void unlock(CURL *easy, curl_lock_data data, void *client) {
    (void)easy;
    ccurl_share *share = client;
    pthread_mutex_unlock(&share->locks[data]);
}

ccurl_share *ccurl_share_create(void) {
    ccurl_share *share = calloc(1, sizeof *share);
    if (!share) return NULL;
    share->handle = curl_share_init();
    if (!share->handle) {
        free(share);
        return NULL;
    }
    for (int index = 0; index < CURL_LOCK_DATA_LAST; index++)
        pthread_mutex_init(&share->locks[index], NULL);
    curl_share_setopt(share->handle, CURLSHOPT_LOCKFUNC, lock);
    curl_share_setopt(share->handle, CURLSHOPT_UNLOCKFUNC, unlock);
    curl_share_setopt(share->handle, CURLSHOPT_USERDATA, share);
    curl_share_setopt(share->handle, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}

CURLSH *ccurl_share_handle(ccurl_share *share) { return share->handle; }

void ccurl_share_destroy(ccurl_share *share) {
    curl_share_cleanup(share->handle);
    for (int index = 0; index < CURL_LOCK_DATA_LAST; index++)
        pthread_mutex_destroy(&share->locks[index]);
    free(share);
}
