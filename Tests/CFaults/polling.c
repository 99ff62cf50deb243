#define _GNU_SOURCE
#include "polling.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool refused[65536];
static atomic_long counts[65536];

void refuse_polling(unsigned short port, bool is_refused) { atomic_store(&refused[port], is_refused); }

long refused_pollings(unsigned short port) { return atomic_load(&counts[port]); }

/// Returns the port of a socket's IPv4 peer; 0 for none.
static unsigned short port_of_peer(int fd) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &size) || address.sin_family != AF_INET) return 0;
    return ntohs(address.sin_port);
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    if (operation == EPOLL_CTL_ADD) {
        unsigned short port = port_of_peer(fd);
        if (atomic_load(&refused[port])) {
            atomic_fetch_add(&counts[port], 1);
            errno = ENOSPC;
            return -1;
        }
    }
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}
