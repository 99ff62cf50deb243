#define _GNU_SOURCE
#include "sockets.h"

#include "measure.h"
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

enum { MESSAGE = 120, UNDER_WAY = 64, FRAMES = 256 };

// MARK: Server

static int accept_handshake(int socket, const char *head) {
    static const char field[] = "\r\nSec-WebSocket-Key: ";
    const char *key = strcasestr(head, field);
    if (!key) return 0;
    char text[128];
    snprintf(
        text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + sizeof field - 1);
    unsigned char digest[EVP_MAX_MD_SIZE], accept[64];
    EVP_Digest(text, strlen(text), digest, NULL, EVP_sha1(), NULL);
    EVP_EncodeBlock(accept, digest, 20);
    char answer[256];
    int size = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n\r\n",
        accept);
    return write_all(socket, answer, (size_t)size);
}

/// Fills `frames` with `count` encoded text messages of the server.
static void fill(char *frames, int count) {
    for (int index = 0; index < count; index++, frames += MESSAGE + 2) {
        frames[0] = (char)0x81, frames[1] = MESSAGE;
        memset(frames + 2, 'x', MESSAGE);
    }
}

static void send_messages(int socket, long count) {
    char frames[FRAMES * (MESSAGE + 2)];
    fill(frames, FRAMES);
    for (; count > 0; count -= FRAMES) {
        size_t now = (size_t)(count < FRAMES ? count : FRAMES);
        if (!write_all(socket, frames, now * (MESSAGE + 2))) return;
    }
}

/// Reads messages until the client closes; replies to each one, or only to message `last` if that
/// is not 0.
static void take_messages(int socket, long last) {
    char input[1 << 16], answer[FRAMES * (MESSAGE + 2)];
    fill(answer, FRAMES);
    size_t size = 0;
    for (long count = 0;;) {
        ssize_t more = recv(socket, input + size, sizeof input - size, 0);
        if (more <= 0) return;
        size += (size_t)more;
        size_t done = 0, length, answers = 0;
        // All frames of the client are masked and shorter than 126 bytes.
        for (; size - done >= 6; done += length) {
            length = 6 + (size_t)(input[done + 1] & 0x7f);
            if (size - done < length) break;
            if ((input[done] & 0x0f) == 8) {
                (void)write_all(socket, "\x88\x02\x03\xe8", 4);
                return;
            }
            count++;
            if (last && count != last) continue;
            if (++answers < FRAMES) continue;
            if (!write_all(socket, answer, answers * (MESSAGE + 2))) return;
            answers = 0;
        }
        memmove(input, input + done, size - done);
        size -= done;
        if (answers && !write_all(socket, answer, answers * (MESSAGE + 2))) return;
    }
}

static void serve_socket(int socket) {
    char head[4096];
    if (!read_head(socket, head, sizeof head) || !accept_handshake(socket, head)) return;
    long receive = 0, last = 0;
    if (sscanf(head, "GET /receive/%ld", &receive) == 1) send_messages(socket, receive);
    (void)sscanf(head, "GET /send/%ld", &last);
    take_messages(socket, last);
}

int serve_sockets(int port) { return serve(port, serve_socket); }

// MARK: Client

struct client {
    int socket;
    wslay_event_context_ptr context;
    /// The number of messages to send, the number received, and the limit of messages in flight.
    long to_send, received, under_way;
};

static ssize_t on_receive(
    wslay_event_context_ptr context, uint8_t *bytes, size_t size, int flags, void *user) {
    (void)flags;
    struct client *client = user;
    ssize_t count = recv(client->socket, bytes, size, MSG_DONTWAIT);
    if (count > 0) return count;
    int has_to_wait = count < 0 && (errno == EAGAIN || errno == EINTR);
    wslay_event_set_error(context, has_to_wait ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t on_send(
    wslay_event_context_ptr context, const uint8_t *bytes, size_t size, int flags, void *user) {
    (void)flags;
    struct client *client = user;
    ssize_t count = send(client->socket, bytes, size, MSG_NOSIGNAL);
    if (count < 0) wslay_event_set_error(context, WSLAY_ERR_CALLBACK_FAILURE);
    return count;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *bytes, size_t size, void *user) {
    (void)context, (void)user;
    static uint32_t mask = 0x9e3779b9;
    mask = mask * 1664525 + 1013904223;
    memcpy(bytes, &mask, size < sizeof mask ? size : sizeof mask);
    return 0;
}

static void on_message(
    wslay_event_context_ptr context, const struct wslay_event_on_msg_recv_arg *message, void *user) {
    (void)context;
    if (message->opcode == WSLAY_TEXT_FRAME) ((struct client *)user)->received++;
}

static int open_socket(struct client *client, const char *url) {
    char host[64], path[128] = "/", head[4096];
    int port = 80;
    if (sscanf(url, "ws://%63[^:]:%d%127s", host, &port, path) < 2) return 0;
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)port),
        .sin_addr.s_addr = inet_addr(host),
    };
    int one = 1;
    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(client->socket, (struct sockaddr *)&address, sizeof address) < 0) return 0;
    int size = snprintf(
        head, sizeof head,
        "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        path, host, port);
    if (!write_all(client->socket, head, (size_t)size)) return 0;
    // Byte by byte, because messages may follow the head immediately and wslay must read them.
    for (size_t length = 0; length < sizeof head - 1;) {
        if (recv(client->socket, head + length, 1, 0) != 1) return 0;
        head[++length] = 0;
        if (length >= 4 && !memcmp(head + length - 4, "\r\n\r\n", 4)) break;
    }
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_receive,
        .send_callback = on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = on_message,
    };
    return wslay_event_context_client_init(&client->context, &callbacks, client) == 0;
}

/// Sends messages up to the limit in flight, and receives, until `expected` messages have arrived.
static int exchange(struct client *client, long expected) {
    static const uint8_t text[MESSAGE] = "a message of so many bytes";
    struct wslay_event_msg message = {WSLAY_TEXT_FRAME, text, sizeof text};
    long sent = 0;
    while (client->received < expected) {
        while (sent < client->to_send && sent - client->received < client->under_way) {
            for (int index = 0; index < UNDER_WAY && sent < client->to_send &&
                                sent - client->received < client->under_way;
                 index++, sent++)
                if (wslay_event_queue_msg(client->context, &message)) return 0;
            if (wslay_event_send(client->context)) return 0;
        }
        struct pollfd ready = {.fd = client->socket, .events = POLLIN};
        if (poll(&ready, 1, 10000) != 1 || wslay_event_recv(client->context)) return 0;
    }
    return 1;
}

int run_socket_job(const char *name, const char *url, long count, const char *messages) {
    long number = atol(messages);
    int receives = !strcmp(name, "socket-receive"), sends = !strcmp(name, "socket-send");
    if (!receives && !sends && strcmp(name, "socket-echo")) return 64;
    struct measure measure = measure_begin();
    for (long index = 0; index < count; index++) {
        struct client client = {
            .to_send = receives ? 0 : number,
            .under_way = sends ? number : UNDER_WAY,
        };
        if (!open_socket(&client, url) || !exchange(&client, sends ? 1 : number)) {
            perror("reference: WebSocket");
            return 1;
        }
        wslay_event_context_free(client.context);
        close(client.socket);
    }
    measure_end(&measure, name, 1, count, NULL);
    return 0;
}
