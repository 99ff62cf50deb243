/* signature_base.h - what HTTP Message Signatures sign (RFC 9421 2.5), as text; no host, no key. */
#ifndef HMAC_SIGNER_SIGNATURE_BASE_H
#define HMAC_SIGNER_SIGNATURE_BASE_H

#include <outlet/outlet.h>
#include <stdio.h>
#include <stdlib.h>

/* A text that grows; empty when all is 0. What does not fit into memory leaves `has_failed`. */
struct text {
    char *bytes;
    size_t length, capacity;
    int has_failed;
};

static void text_add(struct text *text, const void *bytes, size_t length) {
    if (text->has_failed || length == 0) return;
    if (length > text->capacity - text->length) {
        size_t capacity = 2 * text->capacity + length + 256;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) {
            text->has_failed = 1;
            return;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static void text_add_string(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

static void text_free(struct text *text) {
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

static char lower_case(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static void text_add_lower(struct text *text, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const char c = lower_case(bytes[i]);
        text_add(text, &c, 1);
    }
}

static int is_same_name(outlet_view name, const char *lower) {
    if (name.len != strlen(lower)) return 0;
    for (uint64_t i = 0; i < name.len; i++) {
        if (lower_case((char)name.ptr[i]) != lower[i]) return 0;
    }
    return 1;
}

/* A request as it goes on the wire. */
struct message {
    outlet_view method;
    outlet_view url;       /* absolute */
    struct text authority; /* lower case, without the scheme's own port */
    const outlet_field *fields;
    uint64_t field_count;
};

/* Where the parts of an address begin: "scheme://authority/path?query#fragment". */
struct address {
    size_t scheme_end, path, query, end; /* `query` is `end` without one, else where its '?' is */
    int is_secure;
};

static struct address read_address(outlet_view url) {
    const char *bytes = (const char *)url.ptr;
    struct address address = {0, 0, 0, (size_t)url.len, 0};
    while (address.scheme_end < address.end && bytes[address.scheme_end] != ':')
        address.scheme_end++;
    /* wss and https end in the same letter. */
    address.is_secure = address.scheme_end > 0 &&
                        lower_case(bytes[address.scheme_end - 1]) == 's' && address.scheme_end != 2;
    address.path = address.scheme_end + 3 < address.end ? address.scheme_end + 3 : address.end;
    while (address.path < address.end && memchr("/?#", bytes[address.path], 3) == NULL)
        address.path++;
    address.query = address.path;
    while (address.query < address.end && memchr("?#", bytes[address.query], 2) == NULL)
        address.query++;
    if (address.query < address.end && bytes[address.query] == '#') address.end = address.query;
    for (size_t i = address.query; i < address.end; i++) {
        if (bytes[i] == '#') address.end = i;
    }
    return address;
}

/* How many dots a segment of a path is, as '.' or "%2e"; 0 when it is not one or two. */
static int dot_count(const char *bytes, size_t length) {
    int count = 0;
    while (length > 0) {
        size_t step = bytes[0] == '.' ? 1 : 3;
        if (step == 3 &&
            (length < 3 || bytes[0] != '%' || bytes[1] != '2' || lower_case(bytes[2]) != 'e'))
            return 0;
        if (++count > 2) return 0;
        bytes += step;
        length -= step;
    }
    return count;
}

/* Adds a path as it goes on the wire: without dot segments, '/' for none (RFC 3986 5.2.4). */
static void text_add_path(struct text *text, const char *path, size_t length) {
    const size_t start = text->length;
    for (size_t i = 0; i < length;) {
        size_t end = ++i;
        while (end < length && path[end] != '/') end++;
        int dots = dot_count(path + i, end - i);
        if (dots == 0) {
            text_add_string(text, "/");
            text_add(text, path + i, end - i);
        }
        if (dots == 2) {
            while (text->length > start && text->bytes[--text->length] != '/') {}
        }
        if (dots > 0 && end == length) text_add_string(text, "/");
        i = end;
    }
    if (text->length == start) text_add_string(text, "/");
}

static const char *scheme_of(const struct address *address) {
    return address->is_secure ? "https" : "http";
}

/* Sets the authority of a message from its field Host. */
static void read_authority(struct message *message, outlet_view host) {
    const struct address address = read_address(message->url);
    const char *usual = address.is_secure ? ":443" : ":80";
    size_t length = (size_t)host.len, port = strlen(usual);
    if (length > port && memcmp(host.ptr + length - port, usual, port) == 0) length -= port;
    message->authority.length = 0;
    text_add_lower(&message->authority, (const char *)host.ptr, length);
}

/* Adds the values of a field, joined (RFC 9421 2.1). 1; 0 without the field; -1 when one is not ASCII. */
static int add_field(struct text *text, const struct message *message, const char *name) {
    int count = 0;
    for (uint64_t i = 0; i < message->field_count; i++) {
        if (!is_same_name(message->fields[i].name, name)) continue;
        const char *value = (const char *)message->fields[i].value.ptr;
        size_t length = (size_t)message->fields[i].value.len;
        while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) length--;
        while (length > 0 && (*value == ' ' || *value == '\t')) value++, length--;
        for (size_t j = 0; j < length; j++) {
            if ((unsigned char)value[j] >= 0x7F || value[j] == '\r' || value[j] == '\n') return -1;
        }
        if (count++ > 0) text_add_string(text, ", ");
        text_add(text, value, length);
    }
    return count > 0;
}

/* Whether a dictionary (RFC 8941 3.2) has a member `key`. */
static int has_member(outlet_view dictionary, const char *key) {
    const char *bytes = (const char *)dictionary.ptr;
    const size_t end = (size_t)dictionary.len, length = strlen(key);
    for (size_t i = 0; i < end; i++) {
        while (i < end && (bytes[i] == ' ' || bytes[i] == '\t')) i++;
        if (end - i >= length && memcmp(bytes + i, key, length) == 0 &&
            (end - i == length || strchr("=;, \t", bytes[i + length]) != NULL)) {
            return 1;
        }
        for (int is_quoted = 0; i < end && (is_quoted || bytes[i] != ','); i++) {
            if (bytes[i] == '"') is_quoted = !is_quoted;
            if (is_quoted && bytes[i] == '\\') i++;
        }
    }
    return 0;
}

/* Whether a message has a signature with a label. Labels must be unique (RFC 9421 4). */
static int has_signature(const struct message *message, const char *label) {
    for (uint64_t i = 0; i < message->field_count; i++) {
        const outlet_field *field = &message->fields[i];
        if ((is_same_name(field->name, "signature-input") ||
             is_same_name(field->name, "signature")) &&
            has_member(field->value, label)) {
            return 1;
        }
    }
    return 0;
}

/* Adds the value of a component; as add_field. */
static int add_value(struct text *text, const struct message *message, const char *name) {
    const struct address address = read_address(message->url);
    const char *bytes = (const char *)message->url.ptr;
    const size_t query_length = address.end - address.query;
    if (name[0] != '@') return add_field(text, message, name);
    if (strcmp(name, "@method") == 0)
        text_add(text, message->method.ptr, (size_t)message->method.len);
    if (strcmp(name, "@authority") == 0)
        text_add(text, message->authority.bytes, message->authority.length);
    if (strcmp(name, "@scheme") == 0) text_add_string(text, scheme_of(&address));
    if (strcmp(name, "@target-uri") == 0) {
        text_add_string(text, scheme_of(&address));
        text_add_string(text, "://");
        text_add(text, message->authority.bytes, message->authority.length);
    }
    if (strcmp(name, "@path") == 0 || strcmp(name, "@target-uri") == 0) {
        text_add_path(text, bytes + address.path, address.query - address.path);
    }
    if (strcmp(name, "@query") == 0 && query_length == 0) text_add_string(text, "?");
    if (strcmp(name, "@query") == 0 || strcmp(name, "@target-uri") == 0) {
        text_add(text, bytes + address.query, query_length);
    }
    return 1;
}

/* Adds a structured string (RFC 8941 3.3.3); `string` is printable ASCII. */
static void add_quoted(struct text *text, const char *string) {
    text_add_string(text, "\"");
    for (; *string != 0; string++) {
        if (*string == '"' || *string == '\\') text_add_string(text, "\\");
        text_add(text, string, 1);
    }
    text_add_string(text, "\"");
}

/* Makes the signature base, and the parameters that Signature-Input names.
 *
 * components: lower case, each once; fields that the request lacks are left out. algorithm: may be null.
 * Returns null, or the component that is not ASCII. */
static const char *make_signature_base(const struct message *message, const char *const *components,
                                       size_t count, int64_t created, const char *key_id,
                                       const char *algorithm, struct text *base,
                                       struct text *parameters) {
    char number[32];
    text_add_string(parameters, "(");
    for (size_t i = 0; i < count; i++) {
        struct text value = {0};
        int found = add_value(&value, message, components[i]);
        if (found > 0) {
            add_quoted(base, components[i]);
            text_add_string(base, ": ");
            text_add(base, value.bytes, value.length);
            text_add_string(base, "\n");
            if (parameters->length > 1) text_add_string(parameters, " ");
            add_quoted(parameters, components[i]);
        }
        if (value.has_failed) base->has_failed = 1;
        text_free(&value);
        if (found < 0) return components[i];
    }
    snprintf(number, sizeof number, ");created=%lld", (long long)created);
    text_add_string(parameters, number);
    text_add_string(parameters, ";keyid=");
    add_quoted(parameters, key_id);
    if (algorithm != NULL) {
        text_add_string(parameters, ";alg=");
        add_quoted(parameters, algorithm);
    }
    text_add_string(base, "\"@signature-params\": ");
    text_add(base, parameters->bytes, parameters->length);
    if (parameters->has_failed || message->authority.has_failed) base->has_failed = 1;
    return NULL;
}

#endif
