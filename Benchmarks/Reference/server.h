#pragma once
/// Servers with a thread for each connection, at the loopback address.
#include <stddef.h>

/// Serves connections until the process is killed; prints "ready" once it listens.
int serve(int port, void (*connection)(int socket));

/// Reads until there is an empty line, and ends the text behind what has come; 0 at the end.
size_t read_head(int socket, char *head, size_t capacity);

/// Whether all was written.
int write_all(int socket, const char *bytes, size_t size);

/// Takes what is uploaded, and answers.
int serve_sink(int port);

/// Serves WebSockets: `/receive/N` sends N messages, `/send/N` answers the last of N, `/echo` each.
int serve_sockets(int port);

/// Answers when `count` requests have come.
int serve_holding(int port, int count);
