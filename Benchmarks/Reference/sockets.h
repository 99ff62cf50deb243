#pragma once
/// Messages of 120 bytes over a WebSocket.

/// Runs `count` sockets of `messages` messages each, one socket after the other, and prints the
/// line of JSON.
///
/// Returns the exit status: 64 if there is no job of that name.
int run_socket_job(const char *name, const char *url, long count, const char *messages);
