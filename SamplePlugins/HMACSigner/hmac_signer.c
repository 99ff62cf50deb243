/* HMACSigner: signs every request with an HTTP Message Signature (RFC 9421, HMAC-SHA-256).
 *
 * Configuration:
 *
 *   key_id           the name of the key, for the server; printable ASCII (required)
 *   secret_file      the absolute path of the key's file: a regular file that belongs to the user or root
 *                    and that others cannot read; a line break at its end is not part of the key
 *   secret           the key itself; either this or secret_file is required
 *   secret_encoding  "text" or "base64" ("text")
 *   components       the signed components: names of fields, @method, @target-uri, @authority, @scheme,
 *                    @path, @query (["@method", "@target-uri", "content-type", "content-digest"])
 *   label            the name of the signature in Signature and Signature-Input ("sig1")
 *   hosts            the servers whose requests are signed, such as ["api.example.com", "[::1]:8080"]; without
 *                    a port, the default port of the scheme; empty for all ([])
 *
 * With "hosts", both the URL of a request and its Host field must name a listed server. Names are compared
 * in canonical form: lower case, no dot at the end, IP addresses as numbers.
 *
 * Fields that a request does not have are left out. For "content-digest", the plugin sets Content-Digest
 * (RFC 9530), the SHA-256 hash of the body, which it reads in pieces from memory, a file or a stream. It
 * runs after all other plugins and signs each request that is sent, so each attempt has its own time. */
#define _DEFAULT_SOURCE
#include "server.h"
#include "signature_base.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PLUGIN_ID "dev.outlet.hmac-signer"
#define PLUGIN_VERSION "1.0.0"

OUTLET_MANIFEST(PLUGIN_ID, PLUGIN_VERSION, "");

enum {
    NAME_CAPACITY = 256,
    COMPONENT_LIMIT = 32,
    HOST_LIMIT = 64,
    SECRET_CAPACITY = 4096,
    PIECE_SIZE = 16384,
    DIGEST_SIZE = 32,
    ENCODED_SIZE = 45 /* of a digest in base64, with NUL */
};

/* A list of names, in order. */
struct names {
    size_t count;
    const char *list[HOST_LIMIT];
    char texts[HOST_LIMIT][NAME_CAPACITY];
};

struct outlet_instance {
    const outlet_host *host;
    char key_id[NAME_CAPACITY], label[NAME_CAPACITY];
    struct names components;
    struct server hosts[HOST_LIMIT];
    size_t host_count;
    int has_digest;
    size_t secret_length;
    unsigned char secret[SECRET_CAPACITY];
};

/* ---- signing ------------------------------------------------------------------------------ */

static outlet_status fail(const outlet_instance *self, outlet_call call, const char *code,
                          const char *reason) {
    self->host->fail(self->host, call, outlet_text(code), outlet_text(reason));
    return OUTLET_E_FAILED;
}

/* Sets Content-Digest to the SHA-256 hash of the body. */
static outlet_status set_digest(const outlet_instance *self, outlet_call call,
                                outlet_request request) {
    const outlet_host *host = self->host;
    uint8_t piece[PIECE_SIZE];
    unsigned char digest[EVP_MAX_MD_SIZE];
    char field[80] = "sha-256=:";
    uint64_t offset = 0, count = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_well = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    outlet_status status = OUTLET_OK;
    while (is_well) {
        status = host->request_body_read(host, request, offset, piece, sizeof piece, &count);
        if (status != OUTLET_OK || count == 0) break;
        is_well = EVP_DigestUpdate(context, piece, (size_t)count) == 1;
        offset += count;
    }
    is_well = is_well && EVP_DigestFinal_ex(context, digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    if (status != OUTLET_OK)
        return fail(self, call, "body-unreadable", "the body cannot be read to be signed");
    if (!is_well) return fail(self, call, "no-digest", "the SHA-256 of the body cannot be made");
    size_t length = strlen(field);
    length += (size_t)EVP_EncodeBlock((unsigned char *)field + length, digest, DIGEST_SIZE);
    memcpy(field + length, ":", 2);
    if (host->request_set_header(host, request, outlet_text("Content-Digest"),
                                 outlet_text(field)) != OUTLET_OK) {
        return fail(self, call, "no-field", "Content-Digest cannot be set");
    }
    return OUTLET_OK;
}

/* Adds Signature-Input and Signature. */
static outlet_status add_signature(const outlet_instance *self, outlet_call call,
                                   outlet_request request, const struct text *base,
                                   const struct text *parameters) {
    const outlet_host *host = self->host;
    unsigned char mac[EVP_MAX_MD_SIZE], encoded[ENCODED_SIZE];
    unsigned length = 0;
    struct text input = {0}, signature = {0};
    if (HMAC(EVP_sha256(), self->secret, (int)self->secret_length,
             (const unsigned char *)base->bytes, base->length, mac, &length) == NULL) {
        return fail(self, call, "no-signature", "HMAC-SHA-256 cannot be made");
    }
    EVP_EncodeBlock(encoded, mac, DIGEST_SIZE);
    text_add_string(&input, self->label);
    text_add_string(&input, "=");
    text_add(&input, parameters->bytes, parameters->length);
    text_add_string(&signature, self->label);
    text_add_string(&signature, "=:");
    text_add_string(&signature, (const char *)encoded);
    text_add_string(&signature, ":");
    outlet_view views[] = {{(const uint8_t *)input.bytes, input.length},
                           {(const uint8_t *)signature.bytes, signature.length}};
    int is_added =
        !input.has_failed && !signature.has_failed &&
        host->request_add_header(host, request, outlet_text("Signature-Input"), views[0]) ==
            OUTLET_OK &&
        host->request_add_header(host, request, outlet_text("Signature"), views[1]) == OUTLET_OK;
    text_free(&input);
    text_free(&signature);
    if (!is_added) return fail(self, call, "no-field", "Signature cannot be added");
    return OUTLET_OK;
}

/* Whether "hosts" lists a server. */
static int is_listed(const outlet_instance *self, const struct server *server, int is_secure) {
    const unsigned usual = is_secure ? 443 : 80;
    const unsigned port = server->port == 0 ? usual : server->port;
    for (size_t i = 0; i < self->host_count; i++) {
        const unsigned listed = self->hosts[i].port == 0 ? usual : self->hosts[i].port;
        if (listed == port && strcmp(self->hosts[i].name, server->name) == 0) return 1;
    }
    return 0;
}

/* Whether a request to `url` with this Host field is to be signed; -1 if the URL names no server that can
 * be compared. */
static int signs_for(const outlet_instance *self, outlet_view url, outlet_view host) {
    const struct address address = read_address(url);
    struct server server;
    if (self->host_count == 0) return 1;
    if (read_server((const char *)host.ptr, (size_t)host.len, &server) != NULL ||
        !is_listed(self, &server, address.is_secure)) {
        return 0;
    }
    size_t start = address.scheme_end + 3, length = address.path > start ? address.path - start : 0;
    const char *authority = (const char *)url.ptr + start;
    const char *at = length == 0 ? NULL : memchr(authority, '@', length);
    /* Some parsers end the host there, others do not. */
    if (length > 0 && memchr(authority, '\\', length) != NULL) return -1;
    if (at != NULL) {
        length -= (size_t)(at + 1 - authority);
        authority = at + 1;
    }
    if (read_server(authority, length, &server) != NULL) return -1;
    return is_listed(self, &server, address.is_secure);
}

static outlet_status sign(const outlet_instance *self, outlet_call call, outlet_request request,
                          struct message *message) {
    const outlet_host *host = self->host;
    outlet_request_snapshot head = {.struct_size = sizeof head};
    outlet_view named;
    if (host->request_url(host, request, &message->url) != OUTLET_OK ||
        host->request_header(host, request, outlet_text("Host"), 0, &named) != OUTLET_OK) {
        return fail(self, call, "no-host", "the request has no host");
    }
    read_authority(message, named);
    const int is_signed = signs_for(self, message->url, named);
    if (is_signed < 0)
        return fail(self, call, "host-unclear", "the URL's host cannot be compared with \"hosts\"");
    if (!is_signed) return OUTLET_OK;
    if (self->has_digest) {
        outlet_status status = set_digest(self, call, request);
        if (status != OUTLET_OK) return status;
    }
    if (host->request_snapshot(host, request, &head) != OUTLET_OK) {
        return fail(self, call, "no-request", "the request cannot be read");
    }
    message->method = head.method;
    message->url = head.url;
    message->fields = head.fields;
    message->field_count = head.field_count;
    if (has_signature(message, self->label)) {
        char reason[NAME_CAPACITY + 96];
        snprintf(reason, sizeof reason,
                 "the request has a signature \"%s\" already; set another \"label\"", self->label);
        return fail(self, call, "label-exists", reason);
    }

    struct text base = {0}, parameters = {0};
    const char *odd =
        make_signature_base(message, self->components.list, self->components.count, time(NULL),
                            self->key_id, "hmac-sha256", &base, &parameters);
    outlet_status status;
    if (odd != NULL) {
        char reason[NAME_CAPACITY + 64];
        snprintf(reason, sizeof reason, "the field %s cannot be signed: it is not ASCII", odd);
        status = fail(self, call, "not-ascii", reason);
    } else if (base.has_failed) {
        status = fail(self, call, "out-of-memory", "out of memory");
    } else {
        status = add_signature(self, call, request, &base, &parameters);
    }
    text_free(&base);
    text_free(&parameters);
    return status;
}

static outlet_status finalize(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_completion completion) {
    (void)completion;
    struct message message = {0};
    outlet_status status = sign(self, call, request, &message);
    text_free(&message.authority);
    return status;
}

/* ---- configuration ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static outlet_status refuse(const outlet_host *host,
                                                                  outlet_call call,
                                                                  const char *format, ...) {
    char text[512] = "configuration: ";
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    host->fail(host, call, outlet_text("bad-configuration"), outlet_text(text));
    return OUTLET_E_ARGUMENT;
}

/* Copies a text setting; leaves `out` unchanged if it is not set. */
static outlet_status read_text(const outlet_host *host, outlet_call call, const char *name,
                               char *out, size_t capacity) {
    outlet_view value;
    if (host->config_value(host, call, outlet_text(name), &value) != OUTLET_OK) return OUTLET_OK;
    if (value.len >= capacity)
        return refuse(host, call, "\"%s\": longer than %zu bytes", name, capacity - 1);
    if (value.len > 0) {
        if (memchr(value.ptr, 0, value.len) != NULL)
            return refuse(host, call, "\"%s\": it has a zero byte", name);
        memcpy(out, value.ptr, value.len);
    }
    out[value.len] = 0;
    return OUTLET_OK;
}

/* Reads an array of ASCII texts, converted to lower case. */
static outlet_status read_names(const outlet_host *host, outlet_call call, const char *name,
                                size_t limit, struct names *names) {
    outlet_view json;
    if (host->config_value(host, call, outlet_text(name), &json) != OUTLET_OK) return OUTLET_OK;
    names->count = 0;
    for (uint64_t i = 0; i < json.len; i++) {
        if (json.ptr[i] != '"') continue;
        if (names->count == limit)
            return refuse(host, call, "\"%s\": more than %zu elements", name, limit);
        char *text = names->texts[names->count];
        size_t length = 0;
        for (i++; i < json.len && json.ptr[i] != '"' && length + 1 < NAME_CAPACITY; i++) {
            text[length++] = lower_case((char)json.ptr[i]);
        }
        text[length] = 0;
        if (i >= json.len || json.ptr[i] != '"') {
            return refuse(host, call, "\"%s\": element %zu is too long", name, names->count + 1);
        }
        for (size_t j = 0; j < names->count; j++) {
            if (strcmp(names->list[j], text) == 0) {
                return refuse(host, call, "\"%s\": element %zu is there twice", name,
                              names->count + 1);
            }
        }
        names->list[names->count++] = text;
    }
    return OUTLET_OK;
}

static outlet_status read_hosts(outlet_instance *self, const outlet_host *host, outlet_call call) {
    struct names *names = calloc(1, sizeof *names);
    if (names == NULL) return refuse(host, call, "out of memory");
    outlet_status status = read_names(host, call, "hosts", HOST_LIMIT, names);
    for (size_t i = 0; status == OUTLET_OK && i < names->count; i++) {
        const char *text = names->list[i];
        const char *problem = read_server(text, strlen(text), &self->hosts[i]);
        if (problem != NULL)
            status = refuse(host, call, "\"hosts\": element %zu (%s): %s", i + 1, text, problem);
    }
    self->host_count = names->count;
    free(names);
    return status;
}

/* Reads the file of the key; returns null, or what is wrong with it. */
static const char *read_secret_file(const char *path, unsigned char *out, size_t *length) {
    /* With O_NONBLOCK, because opening a FIFO would wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return errno == ENOENT ? "there is no such file" : "the file cannot be opened";
    struct stat status;
    const char *problem = NULL;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        problem = "not a regular file";
    } else if (status.st_uid != 0 && status.st_uid != geteuid()) {
        problem = "the file belongs to another user";
    } else if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        problem = "the file is open to other users: chmod 600 closes it";
    } else if (status.st_size > SECRET_CAPACITY - 1) {
        problem = "the file is too long for a key";
    }
    *length = 0;
    while (problem == NULL && *length < SECRET_CAPACITY) {
        ssize_t count = read(file, out + *length, SECRET_CAPACITY - *length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) problem = "the file cannot be read";
        if (count <= 0) break;
        *length += (size_t)count;
    }
    close(file);
    if (*length > 0 && out[*length - 1] == '\n') --*length;
    if (*length > 0 && out[*length - 1] == '\r') --*length;
    return problem;
}

/* Decodes base64 in place; returns 0 if it is malformed. */
static int decode_base64(unsigned char *bytes, size_t *length) {
    unsigned char decoded[SECRET_CAPACITY];
    int padding = 0, count = -1;
    if (*length > 0 && *length % 4 == 0) {
        padding = (bytes[*length - 1] == '=') + (bytes[*length - 2] == '=');
        count = EVP_DecodeBlock(decoded, bytes, (int)*length);
    }
    if (count > padding) {
        *length = (size_t)(count - padding);
        memcpy(bytes, decoded, *length);
    }
    OPENSSL_cleanse(decoded, sizeof decoded);
    return count > padding;
}

static outlet_status read_secret(outlet_instance *self, const outlet_host *host, outlet_call call) {
    char path[4096] = "", encoding[NAME_CAPACITY] = "text";
    outlet_view given;
    outlet_status status = read_text(host, call, "secret_file", path, sizeof path);
    if (status == OUTLET_OK)
        status = read_text(host, call, "secret_encoding", encoding, sizeof encoding);
    if (status != OUTLET_OK) return status;
    const char *source = path[0] == 0 ? "secret" : "secret_file";
    int is_given = host->config_value(host, call, outlet_text("secret"), &given) == OUTLET_OK;
    if (is_given == (path[0] != 0)) {
        return refuse(host, call,
                      "\"secret\", \"secret_file\": one of both is needed, and one only");
    }
    if (is_given) {
        if (given.len >= SECRET_CAPACITY)
            return refuse(host, call, "\"secret\": too long for a key");
        if (given.len > 0) memcpy(self->secret, given.ptr, given.len);
        self->secret_length = (size_t)given.len;
    } else {
        const char *problem = read_secret_file(path, self->secret, &self->secret_length);
        if (problem != NULL) return refuse(host, call, "\"secret_file\": %s", problem);
    }
    if (strcmp(encoding, "base64") == 0 && !decode_base64(self->secret, &self->secret_length)) {
        return refuse(host, call, "\"%s\": not base64", source);
    }
    if (self->secret_length == 0) return refuse(host, call, "\"%s\": the key is empty", source);
    return OUTLET_OK;
}

/* The host has validated the configuration by the schema. */
static outlet_status configure(outlet_instance *self, const outlet_host *host, outlet_call call) {
    static const char *const components[] = {"@method", "@target-uri", "content-type",
                                             "content-digest"};
    memcpy(self->label, "sig1", 5);
    memcpy(self->components.list, components, sizeof components);
    self->components.count = sizeof components / sizeof components[0];
    outlet_status status = read_text(host, call, "key_id", self->key_id, sizeof self->key_id);
    if (status == OUTLET_OK)
        status = read_text(host, call, "label", self->label, sizeof self->label);
    if (status == OUTLET_OK)
        status = read_names(host, call, "components", COMPONENT_LIMIT, &self->components);
    if (status == OUTLET_OK) status = read_hosts(self, host, call);
    if (status != OUTLET_OK) return status;
    for (size_t i = 0; i < self->components.count; i++) {
        if (strcmp(self->components.list[i], "content-digest") == 0) self->has_digest = 1;
    }
    return read_secret(self, host, call);
}

static void destroy(outlet_instance *self) {
    OPENSSL_cleanse(self->secret, sizeof self->secret);
    free(self);
}

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    (void)descriptor, (void)config;
    outlet_instance *self = calloc(1, sizeof *self);
    if (self == NULL) {
        host->fail(host, call, outlet_text("out-of-memory"), outlet_text("out of memory"));
        return OUTLET_E_FAILED;
    }
    self->host = host;
    outlet_status status = configure(self, host, call);
    if (status != OUTLET_OK) {
        destroy(self);
        return status;
    }
    *out = self;
    return OUTLET_OK;
}

static const outlet_hooks hook_table = {.struct_size = sizeof(outlet_hooks), .finalize = finalize};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &hook_table;
}

#define TEXTS_SCHEMA(pattern_, minimum_, limit_)                                                   \
    "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":255,\"pattern\":\"" pattern_ \
    "\"},\"minItems\":" minimum_ ",\"maxItems\":" limit_ "}"

#define COMPONENT_PATTERN \
    "^(@(method|target-uri|authority|scheme|path|query)|[A-Za-z0-9!#$%&'*+.^_`|~-]+)$"
#define HOST_PATTERN "^[A-Za-z0-9._~:\\\\[\\\\]-]+$"

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_CONCURRENT, /* reading a body may block on a disk */
    .id = OUTLET_TEXT(PLUGIN_ID),
    .version = OUTLET_TEXT(PLUGIN_VERSION),
    .name = OUTLET_TEXT("HMAC Signer"),
    .summary = OUTLET_TEXT("Signs every request with HMAC-SHA-256 (RFC 9421)."),
    .config_schema = OUTLET_TEXT(
        "{\"type\":\"object\",\"properties\":{"
        "\"key_id\":{\"type\":\"string\",\"maxLength\":255,\"pattern\":\"^[ -~]+$\"},"
        "\"secret\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4095},"
        "\"secret_file\":{\"type\":\"string\",\"pattern\":\"^/\"},"
        "\"secret_encoding\":{\"enum\":[\"text\",\"base64\"]},"
        "\"label\":{\"type\":\"string\",\"maxLength\":255,\"pattern\":\"^[a-z*][a-z0-9_.*-]*$\"},"
        "\"components\":" TEXTS_SCHEMA(COMPONENT_PATTERN, "1", "32") ","
        "\"hosts\":" TEXTS_SCHEMA(HOST_PATTERN, "0", "64") "},"
        "\"required\":[\"key_id\"],\"additionalProperties\":false}"),
    .create = create,
    .hooks = hooks,
    .destroy = destroy,
    .order = OUTLET_ORDER_LAST,
};

OUTLET_MODULE(descriptor)
