/* outlet/trust.h - the identity of a server, for the hook trust. */
#ifndef OUTLET_TRUST_H
#define OUTLET_TRUST_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* The identity of a server or an HTTPS proxy from its TLS handshake; borrowed until trust
 * returns. */
typedef struct outlet_trust {
    uint32_t struct_size; /* sizeof(outlet_trust) of the host */
    uint32_t port;
    outlet_view host; /* in lower case; an IPv6 address without brackets */
    /* The verified certificate chain from the server's certificate to a CA, in DER. Compare pins
     * only with these: other certificates that the server sends are not verified. */
    const outlet_view *OUTLET_OPTIONAL certificates;
    uint64_t certificate_count;
    /* Why the program's certificate check failed; empty if it succeeded, or if the program does not
     * verify certificates. */
    outlet_view fault;
} outlet_trust;

OUTLET_END_DECLARATIONS

#endif
