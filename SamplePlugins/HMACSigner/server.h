/* server.h - servers in canonical form, to compare requests with the setting "hosts"; no host, no key. */
#ifndef HMAC_SIGNER_SERVER_H
#define HMAC_SIGNER_SERVER_H

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_CAPACITY = 254 };

struct server {
    char name[SERVER_CAPACITY]; /* lower case, no dot at the end, addresses as inet_ntop writes them */
    unsigned port;              /* 0 if none is given */
};

/* Whether the last label of a name is a number, so that it is an IPv4 address. */
static int ends_with_number(const char *name) {
    const char *dot = strrchr(name, '.');
    const char *label = dot == NULL ? name : dot + 1;
    if (label[0] == '0' && label[1] == 'x')
        return label[2 + strspn(label + 2, "0123456789abcdef")] == 0;
    return label[strspn(label, "0123456789")] == 0;
}

/* The byte at `index`, in lower case and percent-decoded; `length` receives its encoded length. */
static int server_byte(const char *text, size_t count, size_t index, size_t *length) {
    int c = (unsigned char)text[index];
    *length = 1;
    if (c == '%') {
        char digits[3] = "", *end;
        if (count - index < 3) return -1;
        memcpy(digits, text + index + 1, 2);
        if (strspn(digits, "0123456789abcdefABCDEF") != 2) return -1;
        c = (int)strtol(digits, &end, 16);
        *length = 3;
    }
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static const char *read_ipv6(const char *text, size_t length, char *out) {
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const char *zone = memchr(text, '%', length);
    /* A zone selects a network interface of this machine, not a server. */
    if (zone != NULL) length = (size_t)(zone - text);
    if (length >= sizeof copy) return "its host is not an IPv6 address";
    memcpy(copy, text, length);
    copy[length] = 0;
    if (inet_pton(AF_INET6, copy, &address) != 1) return "its host is not an IPv6 address";
    inet_ntop(AF_INET6, &address, out, SERVER_CAPACITY);
    return NULL;
}

static const char *read_name(const char *text, size_t length, char *out) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct in_addr address;
    size_t count = 0, step;
    for (size_t i = 0; i < length; i += step) {
        const int c = server_byte(text, length, i, &step);
        if (c <= 0 || strchr(allowed, c) == NULL)
            return "its host has a character that hosts do not have";
        if (count + 1 == SERVER_CAPACITY) return "its host is too long";
        out[count++] = (char)c;
    }
    if (count > 0 && out[count - 1] == '.') count--;
    out[count] = 0;
    if (count == 0 || out[0] == '.' || out[count - 1] == '.' || strstr(out, "..") != NULL)
        return "its host has an empty label";
    if (!ends_with_number(out)) return NULL;
    if (inet_aton(out, &address) == 0) return "its host is not an IPv4 address";
    inet_ntop(AF_INET, &address, out, SERVER_CAPACITY);
    return NULL;
}

/* Parses "host[:port]"; returns null, or what is wrong with it. */
static const char *read_server(const char *text, size_t length, struct server *out) {
    const int is_ipv6 = length > 0 && text[0] == '[';
    const char *end = length == 0 ? NULL : memchr(text, is_ipv6 ? ']' : ':', length);
    size_t host = end == NULL ? length : (size_t)(end - text);
    size_t next = host + (is_ipv6 ? 1 : 0);
    if (is_ipv6 && end == NULL) return "its host has one bracket";
    out->port = 0;
    if (next < length && text[next] != ':') return "something follows its host";
    for (size_t i = next + 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return "its port is not a number";
        out->port = out->port * 10 + (unsigned)(text[i] - '0');
        if (out->port > 65535) return "its port is above 65535";
    }
    if (next + 1 < length && out->port == 0) return "its port is 0";
    return is_ipv6 ? read_ipv6(text + 1, host - 1, out->name) : read_name(text, host, out->name);
}

#endif
