#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros that Swift cannot read.

/// One-line names as RFC 2253 writes them, UTF-8 unescaped.
static const unsigned long copenssl_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
