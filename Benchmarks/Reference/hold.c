// A server that responds to a number of requests only when all of them have arrived.
//
// It listens on every loopback address (127.0.0.0/8), so that each measurement can use another one.
// The client ports of closed connections stay in TIME_WAIT for a minute, and to search a free port
// among them takes longer than the whole measurement.
#define _GNU_SOURCE
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int answer(const int *sockets, int count) {
    char response[2048];
    int head = snprintf(
        response, sizeof response,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n");
    memset(response + head, 'x', 1024);
    for (int index = 0; index < count; index++)
        if (write(sockets[index], response, (size_t)head + 1024) < 0) perror("hold: write");
    return 0;
}

int serve_holding(int port, int count) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)port),
        .sin_addr.s_addr = htonl(INADDR_ANY),
    };
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    // Other machines cannot connect.
    if (setsockopt(listener, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo") < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 65535) < 0) {
        perror("hold");
        return 1;
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    int *pending = calloc((size_t)count, sizeof *pending), waiting = 0;
    puts("ready");
    fflush(stdout);
    for (;;) {
        int ready = epoll_wait(epoll, events, 256, -1);
        if (ready < 0 && errno != EINTR) return 1;
        for (int index = 0; index < ready; index++) {
            int fd = events[index].data.fd;
            if (fd == listener) {
                event.data.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (event.data.fd >= 0) epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            char request[4096];
            ssize_t size = read(fd, request, sizeof request);
            if (size <= 0) {
                close(fd);
                continue;
            }
            pending[waiting++] = fd;
            if (waiting == count) {
                answer(pending, waiting);
                waiting = 0;
            }
        }
    }
}
