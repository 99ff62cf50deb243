/* outlet/trust.h - a server that is to be trusted, or not. */
#ifndef OUTLET_TRUST_H
#define OUTLET_TRUST_H

#include "base.h"

OUTLET_BEGIN_DECLARATIONS

/* What a server, or an https proxy, has shown in its handshake; borrowed until trust returns. */
typedef struct outlet_trust {
    uint32_t struct_size; /* sizeof(outlet_trust) of the host */
    uint32_t port;
    outlet_view host; /* in lower case, without brackets */
    /* The way from the server's own certificate to an authority, DER. Compare pins with these: what
     * else a server sends proves nothing. */
    const outlet_view *OUTLET_OPTIONAL certificates;
    uint64_t certificate_count;
    /* What is wrong with them by the program's authorities; empty when nothing is, or the program does
     * not verify certificates. */
    outlet_view fault;
} outlet_trust;

OUTLET_END_DECLARATIONS

#endif
