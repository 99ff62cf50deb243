#define _GNU_SOURCE
#include "server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int write_all(int socket, const char *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t written = send(socket, bytes + done, size - done, MSG_NOSIGNAL);
        if (written < 0) return 0;
        done += (size_t)written;
    }
    return 1;
}

size_t read_head(int socket, char *head, size_t capacity) {
    for (size_t size = 0; size < capacity - 1;) {
        ssize_t count = recv(socket, head + size, capacity - 1 - size, 0);
        if (count <= 0) return 0;
        size += (size_t)count;
        head[size] = 0;
        if (strstr(head, "\r\n\r\n")) return size;
    }
    return 0;
}

static void (*serve_connection)(int);

static void *serve_thread(void *argument) {
    int socket = (int)(intptr_t)argument, one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    serve_connection(socket);
    close(socket);
    return NULL;
}

int serve(int port, void (*connection)(int)) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    serve_connection = connection;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 128) < 0) {
        perror("reference: server");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;
        if (client < 0) continue;
        if (pthread_create(&thread, NULL, serve_thread, (void *)(intptr_t)client)) close(client);
        else pthread_detach(thread);
    }
}
