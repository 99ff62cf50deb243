/* Guard: allows requests to listed servers only.
 *
 * Configuration: "allow" and "deny", arrays of rules. A request is allowed if it matches a rule of "allow"
 * and no rule of "deny"; without rules, no request is allowed. A rule is
 *
 *   [METHOD[,METHOD...] ][scheme://]host[:port][/path]
 *
 * A part that a rule omits matches any value: "api.example.com" matches every port and path of that host,
 * "*.example.com" all subdomains but not the domain itself, "GET,HEAD https://api.example.com:8443/v1" two
 * methods of one path and of all paths below it. "http" also matches ws, "https" wss. "*" matches any host;
 * an IPv6 address is in brackets. Methods and paths are case-sensitive.
 *
 * Each request that is sent is checked, including redirects and retries. Both its URL and its Host field
 * must be allowed. Hosts are compared in canonical form: lower case, no dot at the end, percent-encoding
 * decoded, IP addresses as numbers. A host that is not ASCII is refused: write it as "xn--...". A path that
 * servers may interpret in different ways matches no rule of "allow" that has a path, and every rule of
 * "deny" that has one. */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <outlet/outlet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PLUGIN_ID "dev.outlet.guard"
#define PLUGIN_VERSION "1.0.0"

OUTLET_MANIFEST(PLUGIN_ID, PLUGIN_VERSION, "");

enum { HOST_CAPACITY = 254, RULE_CAPACITY = 1024, REASON_CAPACITY = 512 };

/* Part of a text. */
struct part {
    const char *bytes;
    size_t length;
};

/* A server: the scheme as 's' for https, 'h' for http, 0 for any; port 0 for any. */
struct server {
    char scheme;
    char host[HOST_CAPACITY];
    unsigned port;
};

struct rule {
    struct server server;      /* the host "*" matches any host, "*.x" all subdomains of x */
    char text[RULE_CAPACITY];  /* as written; methods and path point into it */
    struct part methods, path; /* empty if the rule matches any */
};

struct rules {
    struct rule *list;
    size_t count;
};

struct outlet_instance {
    const outlet_host *host;
    struct rules allow, deny;
};

/* ---- parts of text ------------------------------------------------------------------------ */

static struct part part(const char *bytes, size_t length) {
    struct part part = {bytes, length};
    return part;
}

static int is_part(struct part part, const char *text) {
    return part.length == strlen(text) && memcmp(part.bytes, text, part.length) == 0;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The number of bytes before the first one that is in `set`; the length if there is none. */
static size_t span(struct part part, const char *set) {
    size_t length = 0;
    while (length < part.length &&
           (part.bytes[length] == 0 || strchr(set, part.bytes[length]) == NULL)) {
        length++;
    }
    return length;
}

static struct part behind(struct part whole, size_t length) {
    return part(whole.bytes + length, whole.length - length);
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The first byte of a text, percent-decoded; `length` receives its encoded length. -1 if it is malformed. */
static int decoded(struct part text, size_t *length) {
    *length = 1;
    if (text.bytes[0] != '%') return (unsigned char)text.bytes[0];
    if (text.length < 3 || hex(text.bytes[1]) < 0 || hex(text.bytes[2]) < 0) return -1;
    *length = 3;
    return hex(text.bytes[1]) * 16 + hex(text.bytes[2]);
}

/* ---- hosts -------------------------------------------------------------------------------- */

/* An IPv6 address without its brackets, in canonical form; an IPv4-mapped one as the IPv4 address. */
static const char *ipv6_host(struct part text, char *out) {
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;
    /* A zone selects a network interface of this machine, not a server. */
    text.length = span(text, "%");
    if (text.length >= sizeof copy) return "its host is not an IPv6 address";
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = 0;
    if (inet_pton(AF_INET6, copy, &address) != 1) return "its host is not an IPv6 address";
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        inet_ntop(AF_INET, address.s6_addr + 12, out, HOST_CAPACITY);
    } else {
        inet_ntop(AF_INET6, &address, out, HOST_CAPACITY);
    }
    return NULL;
}

/* Whether the last label of a name is a number, so that it is an IPv4 address. */
static int ends_with_number(const char *host) {
    const char *dot = strrchr(host, '.');
    const char *label = dot == NULL ? host : dot + 1;
    if (label[0] == '0' && label[1] == 'x')
        return label[2 + strspn(label + 2, "0123456789abcdef")] == 0;
    return label[strspn(label, "0123456789")] == 0;
}

/* Converts a host to canonical form; returns null, or what is wrong with it. */
static const char *read_host(struct part text, char *out) {
    size_t length = 0, step;
    if (text.length == 0) return "it has no host";
    if (text.bytes[0] == '[') {
        if (text.length < 2 || text.bytes[text.length - 1] != ']')
            return "its host has one bracket";
        return ipv6_host(part(text.bytes + 1, text.length - 2), out);
    }
    for (; text.length > 0; text = behind(text, step)) {
        int c = decoded(text, &step);
        if (c > 0x7F) return "its host is not ASCII; write it in its ASCII form, xn--...";
        if (c < 0 || !(hex((char)c) >= 0 || (lower((char)c) >= 'g' && lower((char)c) <= 'z') ||
                       c == '-' || c == '.' || c == '_' || c == '~')) {
            return "its host has a character that hosts do not have";
        }
        if (length + 1 >= HOST_CAPACITY) return "its host is too long";
        out[length++] = lower((char)c);
    }
    if (out[length - 1] == '.') length--;
    out[length] = 0;
    if (length == 0 || out[0] == '.' || out[length - 1] == '.' || strstr(out, "..") != NULL) {
        return "its host has an empty label";
    }
    if (!ends_with_number(out)) return NULL;
    struct in_addr address;
    if (inet_aton(out, &address) == 0) return "its host is not an IPv4 address";
    inet_ntop(AF_INET, &address, out, HOST_CAPACITY);
    return NULL;
}

static int is_address(const char *host) {
    return strchr(host, ':') != NULL || ends_with_number(host);
}

/* Parses "host:port"; leaves the port unchanged if there is none. Returns null, or what is wrong. */
static const char *read_server(struct part text, struct server *out) {
    size_t end = text.length > 0 && text.bytes[0] == '[' ? span(text, "]") + 1 : span(text, ":");
    if (end > text.length) return "its host has one bracket";
    struct part digits = behind(text, end);
    if (digits.length > 1) {
        unsigned port = 0;
        for (size_t i = 1; i < digits.length; i++) {
            if (digits.bytes[i] < '0' || digits.bytes[i] > '9' || port > 65535)
                return "its port is not a number";
            port = port * 10 + (unsigned)(digits.bytes[i] - '0');
        }
        if (port < 1 || port > 65535) return "its port is not a number from 1 to 65535";
        out->port = port;
    }
    if (digits.length > 0 && digits.bytes[0] != ':') return "something follows its host";
    return read_host(part(text.bytes, end), out->host);
}

/* Parses a scheme with its "://"; returns 0 if there is none, -1 for an unknown one. */
static int read_scheme(struct part text, char *scheme) {
    static const struct {
        const char *name;
        char scheme;
    } known[] = {{"http://", 'h'}, {"ws://", 'h'}, {"https://", 's'}, {"wss://", 's'}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t length = strlen(known[i].name), same = 0;
        while (same < length && same < text.length &&
               lower(text.bytes[same]) == known[i].name[same])
            same++;
        if (same == length) {
            *scheme = known[i].scheme;
            return (int)length;
        }
    }
    size_t colon = span(text, ":");
    return text.length - colon >= 3 && memcmp(text.bytes + colon, "://", 3) == 0 ? -1 : 0;
}

/* Parses an absolute URL; `path` ends before the query. Returns null, or what is wrong. */
static const char *read_address(struct part text, struct server *out, struct part *path) {
    int scheme = read_scheme(text, &out->scheme);
    if (scheme <= 0) return "its scheme is not http or https";
    struct part rest = behind(text, (size_t)scheme);
    struct part authority = part(rest.bytes, span(rest, "/?#"));
    rest = behind(rest, authority.length);
    *path = part(rest.bytes, span(rest, "?#"));
    /* Some parsers end the host there, others do not. */
    if (span(authority, "\\") < authority.length) return "it has a backslash before its path";
    size_t at = span(authority, "@");
    if (at < authority.length) authority = behind(authority, at + 1);
    if (span(authority, "@") < authority.length) return "it has more than one @ before its host";
    out->port = out->scheme == 's' ? 443 : 80;
    return read_server(authority, out);
}

/* ---- matching ----------------------------------------------------------------------------- */

/* Whether servers may interpret a path in different ways: it has dot segments, empty segments, parameters
 * (';') or encoded separators. */
static int is_ambiguous(struct part path) {
    struct part rest = path;
    size_t step, dots = 0, others = 0;
    for (int is_first = 1; rest.length > 0; rest = behind(rest, step)) {
        int c = decoded(rest, &step);
        if (c < 0x20 || c == '%' || c == '\\' || c == ';' || (c == '/' && step == 3)) return 1;
        if (c == '/') {
            if (!is_first && others == 0 && dots <= 2) return 1; /* "//", "/./", "/../" */
            is_first = 0;
            dots = others = 0;
        } else if (c == '.') {
            dots++;
        } else {
            others++;
        }
    }
    return others == 0 && dots > 0 && dots <= 2;
}

/* Whether a path, which is not ambiguous, equals another one or is below it. */
static int is_below(struct part path, struct part prefix) {
    size_t step, prefix_step;
    int last = 0;
    for (; prefix.length > 0; path = behind(path, step), prefix = behind(prefix, prefix_step)) {
        if (path.length == 0) return 0;
        last = decoded(prefix, &prefix_step);
        if (decoded(path, &step) != last) return 0;
    }
    return last == '/' || path.length == 0 || path.bytes[0] == '/';
}

static int has_method(struct part methods, struct part method) {
    while (methods.length > 0) {
        size_t length = span(methods, ",");
        if (length == method.length && memcmp(methods.bytes, method.bytes, length) == 0) return 1;
        methods = behind(methods, length < methods.length ? length + 1 : length);
    }
    return 0;
}

static int has_host(const char *pattern, const char *host) {
    if (pattern[0] != '*') return strcmp(pattern, host) == 0;
    if (pattern[1] == 0) return 1;
    size_t suffix = strlen(pattern + 1), length = strlen(host);
    return length > suffix && !is_address(host) && strcmp(host + length - suffix, pattern + 1) == 0;
}

/* The first rule that matches; null if there is none. `is_denying`: whether ambiguous paths match. */
static const struct rule *matching(const struct rules *rules, const struct server *server,
                                   struct part method, struct part path, int is_denying) {
    const struct part root = {"/", 1};
    if (path.length == 0) path = root;
    int is_doubtful = is_ambiguous(path);
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->list[i];
        if (rule->server.scheme != 0 && rule->server.scheme != server->scheme) continue;
        if (rule->server.port != 0 && rule->server.port != server->port) continue;
        if (!has_host(rule->server.host, server->host)) continue;
        if (rule->methods.length > 0 && !has_method(rule->methods, method)) continue;
        if (rule->path.length == 0 || (is_doubtful ? is_denying : is_below(path, rule->path)))
            return rule;
    }
    return NULL;
}

/* Writes the reason why a request to a server is not allowed; returns 0 if it is allowed. */
static int objection(const outlet_instance *self, const struct server *server, struct part method,
                     struct part path, char *reason) {
    const struct rule *denied = matching(&self->deny, server, method, path, 1);
    if (denied == NULL && matching(&self->allow, server, method, path, 0) != NULL) return 0;
    int is_ipv6 = strchr(server->host, ':') != NULL;
    int length = snprintf(reason, REASON_CAPACITY, "a request to %s://%s%s%s:%u is not allowed: ",
                          server->scheme == 's' ? "https" : "http", is_ipv6 ? "[" : "",
                          server->host, is_ipv6 ? "]" : "", server->port);
    if (denied == NULL) {
        snprintf(reason + length, REASON_CAPACITY - (size_t)length,
                 "no rule of \"allow\" matches it");
    } else {
        snprintf(reason + length, REASON_CAPACITY - (size_t)length,
                 "the rule %.100s of \"deny\" matches it", denied->text);
    }
    return 1;
}

static struct part text_of(outlet_view view) {
    return part((const char *)view.ptr, (size_t)view.len);
}

/* Checks a request; returns 0 if it is allowed, else writes `reason`. */
static int judge(const outlet_instance *self, outlet_request request, char *reason) {
    const outlet_host *host = self->host;
    outlet_view method, url, field;
    struct server server, named;
    struct part path;
    const char *problem = "its address cannot be read";
    if (host->request_method(host, request, &method) == OUTLET_OK &&
        host->request_url(host, request, &url) == OUTLET_OK && url.len > 0) {
        problem = read_address(text_of(url), &server, &path);
    }
    if (problem == NULL) {
        if (objection(self, &server, text_of(method), path, reason)) return 1;
        /* A reverse proxy may select the server by this field. */
        for (uint32_t i = 0;
             host->request_header(host, request, outlet_text("Host"), i, &field) == OUTLET_OK;
             i++) {
            named = server;
            named.port = server.scheme == 's' ? 443 : 80;
            problem = field.len > 0 ? read_server(text_of(field), &named) : "it has no host";
            if (problem == NULL) {
                if (objection(self, &named, text_of(method), path, reason)) return 1;
                continue;
            }
            snprintf(reason, REASON_CAPACITY,
                     "a request to %s is not allowed: of its field Host, %s", server.host, problem);
            return 1;
        }
        return 0;
    }
    snprintf(reason, REASON_CAPACITY, "a request is not allowed: %s", problem);
    return 1;
}

/* Refuses a request that is not allowed; OUTLET_E_DENIED applies even if settings say "failOpen". */
static outlet_status refuse_unless_allowed(outlet_instance *self, outlet_call call,
                                           outlet_request request) {
    char reason[REASON_CAPACITY];
    if (!judge(self, request, reason)) return OUTLET_OK;
    self->host->fail(self->host, call, outlet_text("not-allowed"), outlet_text(reason));
    return OUTLET_E_DENIED;
}

static outlet_status finalize(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_completion completion) {
    (void)completion;
    return refuse_unless_allowed(self, call, request);
}

static outlet_status redirect(outlet_instance *self, outlet_call call, outlet_request request,
                              outlet_response response, outlet_request next,
                              outlet_completion completion) {
    (void)request, (void)response, (void)completion;
    return refuse_unless_allowed(self, call, next);
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

/* Parses the rule in rule->text; returns null, or what is wrong. */
static const char *read_rule(struct rule *rule) {
    struct part text = part(rule->text, strlen(rule->text));
    size_t space = span(text, " ");
    if (space < text.length) {
        rule->methods = part(text.bytes, space);
        for (size_t i = 0; i < space; i++) {
            if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ-,", text.bytes[i]) == NULL) {
                return "before its space stand methods in upper case, with commas between them";
            }
        }
        if (space == 0) return "it begins with a space";
        text = behind(text, space + 1);
    }
    int scheme = read_scheme(text, &rule->server.scheme);
    if (scheme < 0) return "its scheme is not http or https";
    text = behind(text, (size_t)scheme);
    size_t slash = span(text, "/");
    rule->path = behind(text, slash);
    if (span(rule->path, "?#") < rule->path.length) return "a path ends before a query";
    if (rule->path.length > 0 && is_ambiguous(rule->path))
        return "its path can be read in more than one way";
    if (is_part(rule->path, "/")) rule->path.length = 0;
    text.length = slash;
    if (text.length > 0 && text.bytes[0] == '*' &&
        (text.length == 1 || strchr(".:", text.bytes[1]))) {
        /* The text after "*." is a name; for "*" alone a placeholder name is parsed, to get the port. */
        char pattern[RULE_CAPACITY];
        int has_suffix = text.length > 1 && text.bytes[1] == '.';
        struct part rest = behind(text, has_suffix ? 2 : 1);
        snprintf(pattern, sizeof pattern, "%s%.*s", has_suffix ? "" : "any", (int)rest.length,
                 rest.bytes);
        const char *problem = read_server(part(pattern, strlen(pattern)), &rule->server);
        if (problem != NULL) return problem;
        if (!has_suffix) {
            memcpy(rule->server.host, "*", 2);
            return NULL;
        }
        size_t length = strlen(rule->server.host);
        if (is_address(rule->server.host)) return "there is nothing under an IP address";
        if (length + 3 > HOST_CAPACITY) return "its host is too long";
        memmove(rule->server.host + 2, rule->server.host, length + 1);
        memcpy(rule->server.host, "*.", 2);
        return NULL;
    }
    return read_server(text, &rule->server);
}

/* Parses an array of rules, which the host has validated by the schema; a missing one is empty. */
static outlet_status read_rules(const outlet_host *host, outlet_call call, const char *name,
                                struct rules *rules) {
    outlet_view json;
    if (host->config_value(host, call, outlet_text(name), &json) != OUTLET_OK) return OUTLET_OK;
    size_t capacity = 0;
    for (uint64_t i = 0; i < json.len; i++) capacity += json.ptr[i] == '"';
    rules->list = calloc(capacity / 2 + 1, sizeof *rules->list);
    if (rules->list == NULL) return refuse(host, call, "\"%s\": out of memory", name);
    for (uint64_t i = 0; i < json.len; i++) {
        if (json.ptr[i] != '"') continue;
        struct rule *rule = &rules->list[rules->count];
        size_t length = 0;
        for (i++; i < json.len && json.ptr[i] != '"'; i++) {
            /* The host may write '/' escaped; no other character of a rule needs an escape. */
            if (json.ptr[i] == '\\' && i + 1 < json.len && json.ptr[i + 1] == '/') i++;
            if (json.ptr[i] <= 0x1F || json.ptr[i] >= 0x7F || json.ptr[i] == '\\') {
                return refuse(host, call,
                              "\"%s\": rule %zu: not plain ASCII; write hosts as xn--...", name,
                              rules->count + 1);
            }
            if (length + 1 >= RULE_CAPACITY) {
                return refuse(host, call, "\"%s\": rule %zu: longer than %d bytes", name,
                              rules->count + 1, RULE_CAPACITY - 1);
            }
            rule->text[length++] = (char)json.ptr[i];
        }
        const char *problem = read_rule(rule);
        if (problem != NULL) {
            return refuse(host, call, "\"%s\": rule %zu: %s", name, rules->count + 1, problem);
        }
        rules->count++;
    }
    return OUTLET_OK;
}

static void destroy(outlet_instance *self) {
    free(self->allow.list);
    free(self->deny.list);
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
    outlet_status status = read_rules(host, call, "allow", &self->allow);
    if (status == OUTLET_OK) status = read_rules(host, call, "deny", &self->deny);
    if (status != OUTLET_OK) {
        destroy(self);
        return status;
    }
    *out = self;
    return OUTLET_OK;
}

/* allows(text, text) -> b: whether a request with a method and a URL is allowed. */
static uint8_t allows(outlet_instance *self, outlet_view method, outlet_view address) {
    char reason[REASON_CAPACITY];
    struct server server;
    struct part path;
    if (address.len == 0 || read_address(text_of(address), &server, &path) != NULL) return 0;
    return !objection(self, &server, text_of(method), path, reason);
}

static const outlet_hooks hook_table = {
    .struct_size = sizeof(outlet_hooks), .finalize = finalize, .redirect = redirect};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &hook_table;
}

static const outlet_export export_allows = {
    sizeof(outlet_export),
    OUTLET_X_ANY_THREAD | OUTLET_X_PURE,
    OUTLET_TEXT("allows"),
    OUTLET_TEXT("b(ss)"),
    OUTLET_TEXT("Whether a request with a method may go to an address."),
    (outlet_function)allows};

static const outlet_export *const exports[] = {&export_allows};

#define RULES_SCHEMA "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":1023}}"

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING,
    .id = OUTLET_TEXT(PLUGIN_ID),
    .version = OUTLET_TEXT(PLUGIN_VERSION),
    .name = OUTLET_TEXT("Guard"),
    .summary = OUTLET_TEXT("Lets requests go to allowed servers only, redirects included."),
    .config_schema = OUTLET_TEXT("{\"type\":\"object\",\"properties\":{\"allow\":" RULES_SCHEMA
                                 ",\"deny\":" RULES_SCHEMA "},\"additionalProperties\":false}"),
    .exports = exports,
    .export_count = sizeof exports / sizeof exports[0],
    .create = create,
    .hooks = hooks,
    .destroy = destroy,
    .order = OUTLET_ORDER_FIRST,
};

OUTLET_MODULE(descriptor)
