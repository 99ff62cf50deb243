#pragma once
/// Servers on 127.0.0.1 with one thread per connection.
#include <stddef.h>

/// Serves connections until the process is killed; prints "ready" once it listens.
///
/// Calls `connection` on a new thread for each connection, and closes the socket when it returns.
int serve(int port, void (*connection)(int socket));

/// Reads until an empty line has arrived, and adds a NUL after the bytes read.
///
/// Returns the number of bytes, which may include some after the empty line; 0 if the connection
/// ended before or the head is too long.
size_t read_head(int socket, char *head, size_t capacity);

/// Writes all bytes; returns 0 on an error.
int write_all(int socket, const char *bytes, size_t size);

/// Serves uploads: reads each body, then responds with 200.
int serve_sink(int port);

/// Serves WebSockets: `/receive/N` sends N messages, `/send/N` replies to the Nth, `/echo` to all.
int serve_sockets(int port);

/// Serves requests, and responds when `count` of them have arrived.
int serve_holding(int port, int count);
