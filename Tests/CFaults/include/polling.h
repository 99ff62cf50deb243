#ifndef OUTLET_POLLING_H
#define OUTLET_POLLING_H

#include <stdbool.h>

/// Lets epoll_ctl() refuse, or no longer refuse, to add sockets that are connected to a port.
///
/// It then fails with ENOSPC, as when the user's limit of watched descriptors is reached. In a test
/// that links this library, its epoll_ctl() replaces the system's for the whole process. Any thread.
void refuse_polling(unsigned short port, bool is_refused);

/// Returns how often epoll_ctl() has refused to add a socket that is connected to a port. Any thread.
long refused_pollings(unsigned short port);

#endif
