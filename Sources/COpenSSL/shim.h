#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

// Macros that Swift cannot import.

/// Flags that print names in one line as in RFC 2253, with unescaped UTF-8.
static const unsigned long copenssl_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;

/// The bits of the first argument of an info callback for a received alert.
static const int copenssl_read_alert = SSL_CB_READ_ALERT;

/// `SSL_CTX_set_tlsext_status_type` and `SSL_CTX_set_tlsext_status_cb`: requests a stapled OCSP
/// response, and sets `came` to be called in the handshake, with or without a response. Returns
/// whether both succeeded.
static inline bool copenssl_ask_for_staple(SSL_CTX *context, int (*came)(SSL *, void *)) {
    return SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp) == 1 &&
           SSL_CTX_set_tlsext_status_cb(context, came) == 1;
}

/// `SSL_get_tlsext_status_ocsp_resp`: the stapled response as DER; returns its length, or -1 if
/// there is none.
static inline long copenssl_staple(SSL *connection, const unsigned char **bytes) {
    return SSL_get_tlsext_status_ocsp_resp(connection, bytes);
}
