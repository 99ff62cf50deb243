#pragma once
/// Messages of 120 bytes over a WebSocket.

/// Runs `count` sockets of `messages` messages each, one socket after the other, and prints the line
/// of JSON; returns the exit status, 64 for a name that is no job.
int run_socket_job(const char *name, const char *url, long count, const char *messages);
