#include "outlet_fake_host.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Owned bytes, followed by a NUL, and the copy of them that the plugin has a view of. */
struct bytes {
    char *ptr;
    size_t len;
    const uint8_t *copy; /* in the blocks of the host's round; NULL for none */
    uint64_t round;
};

struct pair {
    struct bytes name, value;
};

struct pairs {
    struct pair *all;
    size_t count;
    int ignores_case; /* whether the names are those of header fields */
};

/* What a handle is for; each kind has its own ids. */
enum kind { request_kind = 1, response_kind, sink_kind, completion_kind, call_kind, exchange_kind, timer_kind };

/* A request, a response or a sink. */
struct message {
    enum kind kind;
    struct bytes method, url, body, code, failure;
    struct pairs headers, attributes;
    struct pairs notes;  /* the attributes that plugins have set */
    size_t note_size;    /* the bytes of their keys and values */
    outlet_field *views; /* of all headers, in the blocks of the host's round; NULL for none */
    size_t view_count;
    uint64_t view_round;
    void *slot;
    int32_t status, answer;
    uint64_t answer_id; /* the response that a request was answered with; 0 for none */
};

struct completion {
    int settled;
    int32_t result;
};

/* A request of the plugin's own. */
struct exchange {
    outlet_request request;
    outlet_http_done done;
    void *data;
    int is_over, is_cancelled;
};

/* A timer whose `done` has not been called. */
struct timer {
    uint64_t id, due;
    outlet_timer_done done;
    void *data;
    int is_cancelled;
};

/* The host's limit for a sink. */
static const uint64_t sink_limit = 64 << 20;

/* How many timers end in one call of outlet_fake_advance: a plugin may start each anew. */
static const size_t end_limit = 100000;

/* The id of the calls that have no configuration. */
static const uint64_t plain_call = OUTLET_STATIC_CAST(uint64_t, call_kind) << 48 | 1;

struct outlet_fake_host {
    outlet_host table; /* first: the table's address is the host's */
    struct outlet_fake_host *next; /* in the list of all */
    outlet_http http;
    outlet_timers timer;
    /* Protects what services of several threads add. */
    pthread_mutex_t mutex;
    struct pairs services;
    struct exchange *exchanges;
    struct timer *timers;
    size_t exchange_count, timer_count;
    uint64_t timers_started;
    uint64_t now;
    /* The call of create or reconfigure that has not ended, 0 for none, and the number of all of them. */
    uint64_t configuring, configured;
    int creates; /* whether outlet_fake_create calls create */
    /* The blocks of views, and of those of the configuration; see new_block(). */
    void *views, *config_views;
    uint64_t round; /* how often the blocks of views were freed */
    int keeps_views;
    struct bytes json;
    outlet_fake_observer observer;
    void *context;
    struct pairs settings;
    struct message **messages;
    struct completion *completions;
    size_t message_count, completion_count;
    struct bytes failure;
    int logged, quiesced;
};

/* All fake hosts that are not freed. */
static struct outlet_fake_host *all_hosts;
static pthread_mutex_t all_hosts_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Prints what a plugin or a test has done wrong. */
static void complain(const char *fact) { fprintf(stderr, "outlet_fake_host: %s\n", fact); }

/* Ends a test that cannot go on. */
static void give_up(const char *function, const char *fact) {
    fprintf(stderr, "%s: %s\n", function, fact);
    abort();
}

static void *checked(void *memory) {
    if (memory == NULL) give_up("outlet_fake_host", "there is no memory");
    return memory;
}

/* Makes place for one more element of an array, whose capacity is the next power of two. */
static void *grown(void *array, size_t count, size_t size) {
    if ((count & (count - 1)) != 0) return array;
    return checked(realloc(array, (count == 0 ? 1 : 2 * count) * size));
}

/* Allocates memory in a list of blocks, each of which begins with the address of the one before. */
static void *new_block(void **list, size_t size) {
    void **block = OUTLET_STATIC_CAST(void **, checked(malloc(sizeof *block + size)));
    *block = *list;
    *list = block;
    return block + 1;
}

static void free_blocks(void **list) {
    while (*list != NULL) {
        void **block = OUTLET_STATIC_CAST(void **, *list);
        *list = *block;
        free(block);
    }
}

/* Makes bytes of two views, without a NUL between them. */
static struct bytes joined(outlet_view first, outlet_view second) {
    struct bytes bytes = {NULL, first.len + second.len, NULL, 0};
    bytes.ptr = OUTLET_STATIC_CAST(char *, checked(malloc(bytes.len + 1)));
    if (first.len > 0) memcpy(bytes.ptr, first.ptr, first.len);
    if (second.len > 0) memcpy(bytes.ptr + first.len, second.ptr, second.len);
    bytes.ptr[bytes.len] = 0;
    return bytes;
}

static void set(struct bytes *bytes, outlet_view view) {
    const outlet_view none = {NULL, 0};
    const struct bytes old = *bytes;
    *bytes = joined(view, none);
    free(old.ptr);
}

static outlet_view view_of(const struct bytes *bytes) {
    outlet_view view = {OUTLET_POINTER_CAST(const uint8_t *, bytes->ptr), bytes->len};
    return view;
}

/* Copies bytes to a list of blocks, without a NUL behind them: plugins must not rely on one. */
static const uint8_t *copy_of(const struct bytes *bytes, void **list) {
    uint8_t *copy = OUTLET_STATIC_CAST(uint8_t *, new_block(list, bytes->len));
    if (bytes->len > 0) memcpy(copy, bytes->ptr, bytes->len);
    return copy;
}

/* Whether a pair has a name. */
static int is(const struct pairs *pairs, size_t index, outlet_view wanted) {
    const struct bytes *name = &pairs->all[index].name;
    if (name->len != wanted.len) return 0;
    if (wanted.len == 0) return 1;
    const char *word = OUTLET_POINTER_CAST(const char *, wanted.ptr);
    return pairs->ignores_case ? strncasecmp(name->ptr, word, wanted.len) == 0
                               : memcmp(name->ptr, word, wanted.len) == 0;
}

/* Whether a text is a method or the name of a header field: a token (RFC 9110 section 5.6.2). */
static int is_token(outlet_view text) {
    for (uint64_t i = 0; i < text.len; i++) {
        uint8_t byte = text.ptr[i];
        int is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (is_letter || (byte >= '0' && byte <= '9')) continue;
        if (byte == 0 || strchr("!#$%&'*+-.^_`|~", byte) == NULL) return 0;
    }
    return text.len > 0;
}

/* Whether a text can be the value of a header field: it has no control characters other than HTAB. */
static int is_field_value(outlet_view text) {
    for (uint64_t i = 0; i < text.len; i++) {
        if ((text.ptr[i] < 0x20 && text.ptr[i] != '\t') || text.ptr[i] == 0x7F) return 0;
    }
    return 1;
}

/* Whether bytes that a plugin passes can be read. */
static int is_readable(outlet_view bytes, uint64_t limit) {
    return bytes.len <= limit && (bytes.len == 0 || bytes.ptr != NULL);
}

/* The length of the UTF-8 sequence at a place of a text; 0 if there is none. */
static uint64_t sequence_length(outlet_view text, uint64_t place) {
    const uint8_t first = text.ptr[place];
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    const uint64_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length > text.len - place) return 0;
    /* No longer form than necessary, no surrogate, nothing above U+10FFFF. */
    const uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (text.ptr[place + 1] < least || text.ptr[place + 1] > most) return 0;
    for (uint64_t i = 2; i < length; i++) {
        if ((text.ptr[place + i] & 0xC0) != 0x80) return 0;
    }
    return length;
}

/* Whether bytes that a plugin passes can be read and are UTF-8. */
static int is_text(outlet_view text, uint64_t limit) {
    if (!is_readable(text, limit)) return 0;
    for (uint64_t i = 0; i < text.len;) {
        const uint64_t length = sequence_length(text, i);
        if (length == 0) return 0;
        i += length;
    }
    return 1;
}

static int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* Whether a code and a message can be those of a failure. */
static int is_reason(outlet_view code, outlet_view text) {
    if (!is_readable(code, OUTLET_MAX_CODE) || !is_text(text, OUTLET_MAX_MESSAGE)) return 0;
    for (uint64_t i = 0; i < code.len; i++) {
        const uint8_t byte = code.ptr[i];
        const int is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        if (!is_letter && !is_digit(byte) && byte != '-') return 0;
    }
    return 1;
}

static struct bytes *find(const struct pairs *pairs, outlet_view name, uint32_t nth) {
    for (size_t i = 0; i < pairs->count; i++) {
        if (is(pairs, i, name) && nth-- == 0) return &pairs->all[i].value;
    }
    return NULL;
}

static void add(struct pairs *pairs, outlet_view name, outlet_view value) {
    void *all = realloc(pairs->all, (pairs->count + 1) * sizeof *pairs->all);
    pairs->all = OUTLET_STATIC_CAST(struct pair *, checked(all));
    struct pair *pair = &pairs->all[pairs->count++];
    memset(pair, 0, sizeof *pair);
    set(&pair->name, name);
    set(&pair->value, value);
}

static void free_pair(const struct pair *pair) {
    free(pair->name.ptr);
    free(pair->value.ptr);
}

/* Removes the pairs from a position on that have a name. */
static void remove_from(struct pairs *pairs, size_t first, outlet_view name) {
    size_t kept = first;
    for (size_t i = first; i < pairs->count; i++) {
        if (is(pairs, i, name)) {
            free_pair(&pairs->all[i]);
        } else {
            pairs->all[kept++] = pairs->all[i];
        }
    }
    pairs->count = kept;
}

/* Puts a pair in the place of the first one with its name, of which the arguments may be, and removes the others;
 * at the end if there is none. */
static void put(struct pairs *pairs, outlet_view name, outlet_view value) {
    size_t place = 0;
    while (place < pairs->count && !is(pairs, place, name)) place++;
    add(pairs, name, value);
    if (place == pairs->count - 1) return;
    const struct pair old = pairs->all[place];
    pairs->all[place] = pairs->all[--pairs->count];
    remove_from(pairs, place + 1, view_of(&pairs->all[place].name));
    free_pair(&old);
}

static void free_pairs(const struct pairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) free_pair(&pairs->all[i]);
    free(pairs->all);
}

/* The fake host with a table; NULL if there is none. */
static struct outlet_fake_host *fake_of(const outlet_host *host) {
    pthread_mutex_lock(&all_hosts_mutex);
    struct outlet_fake_host *fake = all_hosts;
    while (fake != NULL && &fake->table != host) fake = fake->next;
    pthread_mutex_unlock(&all_hosts_mutex);
    if (fake == NULL) {
        complain("a function was called with a table that is not that of a fake host: the plugin has copied the "
                 "table, or uses it after outlet_fake_free (rule handle-own)");
    }
    return fake;
}

#define FAKE                                       \
    struct outlet_fake_host *fake = fake_of(host); \
    if (fake == NULL) return OUTLET_E_STALE

static uint64_t new_id(enum kind kind, uint64_t number) {
    return OUTLET_STATIC_CAST(uint64_t, kind) << 48 | number;
}

/* The number of a handle, from 1; 0 if it is not one of this kind. */
static uint64_t number_of(uint64_t id, enum kind kind) {
    if (id >> 48 == OUTLET_STATIC_CAST(uint64_t, kind)) return id & 0xFFFFFFFFFFFF;
    if (id >> 48 >= request_kind && id >> 48 <= timer_kind) {
        complain("a function was called with a handle that is for something else, such as a response in place of a "
                 "request (rule handle-own)");
    }
    return 0;
}

/* The message with a number; NULL if there is none of this kind. */
static struct message *numbered(struct outlet_fake_host *fake, uint64_t number, enum kind kind) {
    pthread_mutex_lock(&fake->mutex);
    struct message *found = number > 0 && number <= fake->message_count ? fake->messages[number - 1] : NULL;
    pthread_mutex_unlock(&fake->mutex);
    return found != NULL && found->kind == kind ? found : NULL;
}

static struct message *message(struct outlet_fake_host *fake, uint64_t id, enum kind kind) {
    return numbered(fake, number_of(id, kind), kind);
}

/* The message of a test's handle, which must be there. */
static struct message *needed(outlet_fake_host *fake, uint64_t id, enum kind kind, const char *function) {
    struct message *found = message(fake, id, kind);
    if (found == NULL) give_up(function, "the handle is not one of this fake host");
    return found;
}

/* The request or the response of a test's handle; NULL if there is none. */
static struct message *any_message(outlet_fake_host *fake, uint64_t id) {
    const enum kind kind = id >> 48 == response_kind ? response_kind : request_kind;
    return message(fake, id, kind);
}

/* Makes an empty message, and returns its id. */
static uint64_t new_message(struct outlet_fake_host *fake, enum kind kind, struct message **out) {
    struct message *self = OUTLET_STATIC_CAST(struct message *, checked(calloc(1, sizeof *self)));
    self->kind = kind;
    self->headers.ignores_case = 1;
    pthread_mutex_lock(&fake->mutex);
    fake->messages = OUTLET_STATIC_CAST(
        struct message **, grown(fake->messages, fake->message_count, sizeof *fake->messages));
    fake->messages[fake->message_count++] = self;
    const uint64_t id = new_id(kind, fake->message_count);
    pthread_mutex_unlock(&fake->mutex);
    *out = self;
    return id;
}

/* Whether a call has not ended. */
static int is_call(struct outlet_fake_host *fake, outlet_call call) {
    if (call.id == plain_call) return 1;
    if (number_of(call.id, call_kind) == 0) return 0;
    pthread_mutex_lock(&fake->mutex);
    const int is_present = call.id == fake->configuring;
    pthread_mutex_unlock(&fake->mutex);
    return is_present;
}

/* Returns a view of a copy, which is freed when the next call begins: a plugin that keeps the view reads freed
 * memory. */
static outlet_view copied_view(struct outlet_fake_host *fake, struct bytes *bytes) {
    outlet_view view = {NULL, bytes->len};
    if (bytes->ptr == NULL) return view;
    pthread_mutex_lock(&fake->mutex);
    if (bytes->copy == NULL || bytes->round != fake->round) {
        bytes->copy = copy_of(bytes, &fake->views);
        bytes->round = fake->round;
    }
    view.ptr = bytes->copy;
    pthread_mutex_unlock(&fake->mutex);
    return view;
}

static outlet_status answer(struct outlet_fake_host *fake, struct bytes *bytes, outlet_view *out) {
    if (bytes == NULL) return OUTLET_E_NOT_FOUND;
    *out = copied_view(fake, bytes);
    return OUTLET_OK;
}

static void note(struct outlet_fake_host *fake, outlet_view code, outlet_view text) {
    const struct bytes prefix = joined(code, outlet_text(": "));
    const struct bytes failure = joined(view_of(&prefix), text);
    free(prefix.ptr);
    pthread_mutex_lock(&fake->mutex);
    free(fake->failure.ptr);
    fake->failure = failure;
    pthread_mutex_unlock(&fake->mutex);
}

/* ---- the table ---------------------------------------------------------------------------- */

static int equals(outlet_view text, const char *word) {
    return text.len == strlen(word) && memcmp(text.ptr, word, text.len) == 0;
}

/* Whether the bytes of a text begin with a word. */
static int has_prefix(outlet_view text, const char *word) {
    const size_t length = strlen(word);
    return text.len >= length && memcmp(text.ptr, word, length) == 0;
}

/* Whether a text begins with a word, in any case of its ASCII letters. */
static int starts_with(outlet_view text, const char *word) {
    const size_t length = strlen(word);
    return text.len >= length && strncasecmp(OUTLET_POINTER_CAST(const char *, text.ptr), word, length) == 0;
}

/* Whether a text is a port of at most 65535. */
static int is_port(outlet_view text) {
    uint32_t port = 0;
    for (uint64_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i])) return 0;
        port = port * 10 + text.ptr[i] - '0';
        if (port > 65535) return 0;
    }
    return 1;
}

/* A part of a text. */
static outlet_view part(outlet_view text, uint64_t start, uint64_t end) {
    const outlet_view view = {text.ptr + start, end - start};
    return view;
}

/* Whether a text is an IPv6 address in brackets; only its characters are checked. */
static int is_bracketed(outlet_view text) {
    for (uint64_t i = 1; i + 1 < text.len; i++) {
        const uint8_t byte = text.ptr[i];
        const int is_hex = is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
        if (!is_hex && byte != ':' && byte != '.') return 0;
    }
    return text.len > 2 && text.ptr[text.len - 1] == ']';
}

/* Whether a text can be the name or the IPv4 address of a server. */
static int is_name(outlet_view text) {
    uint64_t label = 0, labels = 1;
    int is_number = 1; /* whether the last label has digits only */
    for (uint64_t i = 0; i < text.len; i++) {
        const uint8_t byte = text.ptr[i];
        if (byte <= ' ' || strchr("\"<>[\\]^`{|}", byte) != NULL) return 0;
        if (byte == '.') {
            if (i == label) return 0;
            label = i + 1;
            if (label == text.len) break;
            labels++;
            is_number = 1;
        } else if (!is_digit(byte)) {
            is_number = 0;
        }
    }
    return text.len > 0 && !(is_number && labels > 4);
}

/* Where the port of a server begins, with its colon; the length if there is none. */
static uint64_t port_start(outlet_view server) {
    uint64_t start = server.len;
    for (uint64_t i = server.len; i-- > 0 && server.ptr[i] != ']';) {
        if (server.ptr[i] == ':') start = i;
    }
    return start;
}

/* Whether a text is the URL of a server: http or https, with a host. */
static int is_server_url(outlet_view text) {
    if (!is_text(text, OUTLET_MAX_VALUE)) return 0;
    uint64_t start = starts_with(text, "http://") ? 7 : starts_with(text, "https://") ? 8 : 0;
    if (start == 0) return 0;
    for (uint64_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < 0x20 || text.ptr[i] == 0x7F) return 0;
    }
    uint64_t end = start;
    while (end < text.len && strchr("/?#", text.ptr[end]) == NULL) end++;
    for (uint64_t i = start; i < end; i++) {
        if (text.ptr[i] == '@') start = i + 1;
    }
    const outlet_view server = part(text, start, end);
    const uint64_t colon = port_start(server);
    const outlet_view host = part(server, 0, colon);
    if (colon < server.len && !is_port(part(server, colon + 1, server.len))) return 0;
    return host.len > 0 && host.ptr[0] == '[' ? is_bracketed(host) : is_name(host);
}

/* Whether the fields of a message can be sent. */
static int are_fields(const outlet_field *fields, uint64_t count) {
    if (count > OUTLET_MAX_FIELDS || (count > 0 && fields == NULL)) return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!is_readable(fields[i].name, OUTLET_MAX_NAME) || !is_token(fields[i].name)) return 0;
        if (!is_readable(fields[i].value, OUTLET_MAX_VALUE) || !is_field_value(fields[i].value)) return 0;
    }
    return 1;
}

/* Whether the host sets a header of a request itself, so that plugins must not. */
static int is_length(outlet_view name) {
    return name.len == strlen("Content-Length") && starts_with(name, "Content-Length");
}

/* Whether the transport makes a header of a request itself. */
static int is_reserved(outlet_view name) {
    static const char *const names[] = {"Content-Length", "Transfer-Encoding", "Connection", "Host",
                                        "TE", "Trailer", "Upgrade", "Keep-Alive",
                                        "Proxy-Connection", "Proxy-Authorization"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (name.len == strlen(names[i])
            && starts_with(name, names[i]))
            return 1;
    }
    return 0;
}

static int is_host_name(outlet_view name) { return name.len == 4 && starts_with(name, "Host"); }

/* Whether a text can be the value of Host. */
static int is_host(outlet_view text) {
    const uint64_t colon = port_start(text);
    const outlet_view host = part(text, 0, colon);
    if (colon < text.len && (colon + 1 == text.len || !is_port(part(text, colon + 1, text.len)))) return 0;
    if (host.len > 0 && host.ptr[0] == '[') return is_bracketed(host);
    for (uint64_t i = 0; i < host.len; i++) {
        const outlet_view byte = {host.ptr + i, 1};
        if (!is_token(byte) && strchr("(),;=", host.ptr[i]) == NULL) return 0;
    }
    return host.len > 0;
}

/* Whether a request can be sent. */
static int is_sendable(const outlet_http_request *asked) {
    if (!OUTLET_HAS(asked, outlet_http_request, timeout_ns)) return 0;
    if (!is_readable(asked->method, OUTLET_MAX_VALUE) || !is_readable(asked->body, OUTLET_MAX_BODY)) return 0;
    const int is_get = asked->method.len == 0 || equals(asked->method, "GET");
    if (!is_get && (!is_token(asked->method) || equals(asked->method, "CONNECT"))) return 0;
    if (asked->body.len > 0 && (is_get || equals(asked->method, "HEAD"))) return 0;
    if (!is_server_url(asked->url) || !are_fields(asked->fields, asked->field_count)) return 0;
    for (uint64_t i = 0; i < asked->field_count; i++) {
        if (is_reserved(asked->fields[i].name)) return 0;
    }
    return 1;
}

static outlet_status http_send(const outlet_host *host, outlet_call call,
                               const outlet_http_request *asked, outlet_http_done done, void *data,
                               outlet_exchange *out) {
    FAKE;
    struct message *self;
    if (done == NULL || asked == NULL || !is_sendable(asked)) return OUTLET_E_ARGUMENT;
    if ((asked->flags & ~OUTLET_HTTP_NO_REDIRECTS) != 0) return OUTLET_E_UNSUPPORTED;
    if (call.id != 0 && !is_call(fake, call)) return OUTLET_E_STALE;
    if (fake->creates) return OUTLET_E_STATE;
    const outlet_request request = {new_message(fake, request_kind, &self)};
    const struct exchange exchange = {request, done, data, 0, 0};
    size_t running = 0;
    set(&self->method, asked->method.len == 0 ? outlet_text("GET") : asked->method);
    set(&self->url, asked->url);
    set(&self->body, asked->body);
    for (uint64_t i = 0; i < asked->field_count; i++) {
        add(&self->headers, asked->fields[i].name, asked->fields[i].value);
    }
    pthread_mutex_lock(&fake->mutex);
    const size_t nth = fake->exchange_count;
    for (size_t i = 0; i < nth; i++) running += !fake->exchanges[i].is_over;
    const int is_full = running >= OUTLET_MAX_EXCHANGES;
    if (!is_full) {
        fake->exchanges = OUTLET_STATIC_CAST(
            struct exchange *, grown(fake->exchanges, nth, sizeof exchange));
        fake->exchanges[fake->exchange_count++] = exchange;
        out->id = new_id(exchange_kind, nth + 1);
    }
    pthread_mutex_unlock(&fake->mutex);
    if (is_full) return OUTLET_E_STATE;
    if (fake->observer != NULL) fake->observer(fake->context, nth);
    return OUTLET_OK;
}

static outlet_status http_cancel(const outlet_host *host, outlet_exchange id) {
    FAKE;
    outlet_status status = OUTLET_E_STALE;
    const uint64_t number = number_of(id.id, exchange_kind);
    pthread_mutex_lock(&fake->mutex);
    if (number > 0 && number <= fake->exchange_count && !fake->exchanges[number - 1].is_over) {
        fake->exchanges[number - 1].is_cancelled = 1;
        status = OUTLET_OK;
    }
    pthread_mutex_unlock(&fake->mutex);
    return status;
}

/* A time after another one; the latest possible one if it is too late. */
static uint64_t later(uint64_t time, uint64_t delay) {
    return delay > UINT64_MAX - time ? UINT64_MAX : time + delay;
}

static outlet_status timer_start(const outlet_host *host, uint64_t delay, outlet_timer_done done,
                                 void *data, outlet_timer *out) {
    FAKE;
    outlet_status status = OUTLET_E_STATE;
    if (done == NULL) return OUTLET_E_ARGUMENT;
    pthread_mutex_lock(&fake->mutex);
    if (!fake->creates && fake->timer_count < OUTLET_MAX_TIMERS) {
        const uint64_t due = later(fake->now, delay);
        const struct timer timer = {new_id(timer_kind, ++fake->timers_started), due, done, data, 0};
        fake->timers = OUTLET_STATIC_CAST(
            struct timer *, grown(fake->timers, fake->timer_count, sizeof *fake->timers));
        fake->timers[fake->timer_count++] = timer;
        out->id = timer.id;
        status = OUTLET_OK;
    }
    pthread_mutex_unlock(&fake->mutex);
    return status;
}

static outlet_status timer_cancel(const outlet_host *host, outlet_timer id) {
    FAKE;
    outlet_status status = OUTLET_E_STALE;
    if (number_of(id.id, timer_kind) == 0) return status;
    pthread_mutex_lock(&fake->mutex);
    for (size_t i = 0; i < fake->timer_count; i++) {
        if (fake->timers[i].id != id.id) continue;
        fake->timers[i].is_cancelled = 1;
        status = OUTLET_OK;
    }
    pthread_mutex_unlock(&fake->mutex);
    return status;
}

static outlet_status fake_extension(const outlet_host *host, outlet_view id, const void **out) {
    FAKE;
    if (!is_text(id, OUTLET_MAX_NAME)) return OUTLET_E_ARGUMENT;
    const struct bytes *service = find(&fake->services, id, 0);
    if (service == NULL) return OUTLET_E_UNSUPPORTED;
    if (strcmp(service->ptr, OUTLET_HTTP_1) == 0) *out = &fake->http;
    else *out = &fake->timer;
    return OUTLET_OK;
}

static outlet_status fake_log(const outlet_host *host, outlet_call call, uint32_t level,
                              outlet_view text, const outlet_field *fields, uint64_t count) {
    FAKE;
    if (level > OUTLET_LOG_ERROR || !is_text(text, OUTLET_MAX_MESSAGE)) return OUTLET_E_ARGUMENT;
    if (count > OUTLET_MAX_LOG_FIELDS || (count > 0 && fields == NULL)) return OUTLET_E_ARGUMENT;
    for (uint64_t i = 0; i < count; i++) {
        if (!is_text(fields[i].name, OUTLET_MAX_MESSAGE)) return OUTLET_E_ARGUMENT;
        if (!is_text(fields[i].value, OUTLET_MAX_MESSAGE)) return OUTLET_E_ARGUMENT;
    }
    if (call.id != 0 && !is_call(fake, call)) return OUTLET_E_STALE;
    pthread_mutex_lock(&fake->mutex);
    fake->logged++;
    pthread_mutex_unlock(&fake->mutex);
    return OUTLET_OK;
}

/* The reason in place of one that is refused. */
static void note_refusal(struct outlet_fake_host *fake) {
    note(fake, outlet_text(""), outlet_text("the plugin's reason cannot be read"));
}

static outlet_status fake_fail(const outlet_host *host, outlet_call call, outlet_view code,
                               outlet_view text) {
    FAKE;
    if (!is_call(fake, call)) return OUTLET_E_STALE;
    if (!is_reason(code, text)) {
        if (fake->failure.ptr == NULL) note_refusal(fake);
        return OUTLET_E_ARGUMENT;
    }
    note(fake, code, text);
    return OUTLET_OK;
}

static outlet_status fake_deadline(const outlet_host *host, outlet_call call, uint64_t *out) {
    FAKE;
    if (!is_call(fake, call)) return OUTLET_E_STALE;
    *out = 0;
    return OUTLET_OK;
}

static outlet_status fake_config_value(const outlet_host *host, outlet_call call, outlet_view key,
                                       outlet_view *out) {
    FAKE;
    if (call.id == plain_call) return OUTLET_E_STATE;
    if (!is_call(fake, call)) return OUTLET_E_STALE;
    if (!is_text(key, OUTLET_MAX_NAME)) return OUTLET_E_ARGUMENT;
    const struct bytes *value = find(&fake->settings, key, 0);
    outlet_status status = value == NULL ? OUTLET_E_NOT_FOUND : OUTLET_OK;
    pthread_mutex_lock(&fake->mutex);
    if (call.id != fake->configuring) status = OUTLET_E_STALE;
    if (status == OUTLET_OK) {
        out->ptr = copy_of(value, &fake->config_views);
        out->len = value->len;
    }
    pthread_mutex_unlock(&fake->mutex);
    return status;
}

#define MESSAGE(kind_, id_)                                   \
    FAKE;                                                     \
    struct message *self = message(fake, (id_).id, kind_);    \
    if (self == NULL) return OUTLET_E_STALE

static outlet_status request_method(const outlet_host *host, outlet_request request, outlet_view *out) {
    MESSAGE(request_kind, request);
    return answer(fake, &self->method, out);
}

static outlet_status request_url(const outlet_host *host, outlet_request request, outlet_view *out) {
    MESSAGE(request_kind, request);
    return answer(fake, &self->url, out);
}

static outlet_status header(struct outlet_fake_host *fake, struct message *self, outlet_view name,
                            uint32_t nth, outlet_view *out) {
    if (!is_readable(name, OUTLET_MAX_NAME)) return OUTLET_E_ARGUMENT;
    return answer(fake, find(&self->headers, name, nth), out);
}

static outlet_status request_header(const outlet_host *host, outlet_request request, outlet_view name,
                                    uint32_t nth, outlet_view *out) {
    MESSAGE(request_kind, request);
    return header(fake, self, name, nth, out);
}

/* Whether the views of all headers are those of the present ones. */
static int are_views_present(struct outlet_fake_host *fake, struct message *self) {
    if (self->views == NULL || self->view_round != fake->round) return 0;
    if (self->view_count != self->headers.count) return 0;
    for (size_t i = 0; i < self->headers.count; i++) {
        struct pair *pair = &self->headers.all[i];
        if (self->views[i].name.ptr != copied_view(fake, &pair->name).ptr) return 0;
        if (self->views[i].value.ptr != copied_view(fake, &pair->value).ptr) return 0;
    }
    return 1;
}

/* All headers. */
static const outlet_field *field_views(struct outlet_fake_host *fake, struct message *self) {
    if (are_views_present(fake, self)) return self->views;
    self->view_count = self->headers.count;
    pthread_mutex_lock(&fake->mutex);
    self->view_round = fake->round;
    self->views = OUTLET_STATIC_CAST(
        outlet_field *, new_block(&fake->views, self->view_count * sizeof *self->views));
    pthread_mutex_unlock(&fake->mutex);
    for (size_t i = 0; i < self->view_count; i++) {
        self->views[i].name = copied_view(fake, &self->headers.all[i].name);
        self->views[i].value = copied_view(fake, &self->headers.all[i].value);
    }
    return self->views;
}

static outlet_status headers(struct outlet_fake_host *fake, struct message *self, outlet_field *out,
                             uint64_t capacity, uint64_t *count) {
    *count = self->headers.count;
    const uint64_t copied = capacity < *count ? capacity : *count;
    if (copied > 0) memcpy(out, field_views(fake, self), copied * sizeof *out);
    return OUTLET_OK;
}

static outlet_status request_headers(const outlet_host *host, outlet_request request, outlet_field *out,
                                     uint64_t capacity, uint64_t *count) {
    MESSAGE(request_kind, request);
    return headers(fake, self, out, capacity, count);
}

static outlet_status request_body(const outlet_host *host, outlet_request request, outlet_view *out) {
    MESSAGE(request_kind, request);
    return answer(fake, &self->body, out);
}

static outlet_status request_attr(const outlet_host *host, outlet_request request, outlet_view key,
                                  outlet_view *out) {
    MESSAGE(request_kind, request);
    if (!is_text(key, OUTLET_MAX_NAME)) return OUTLET_E_ARGUMENT;
    struct bytes *note = find(&self->notes, key, 0);
    return answer(fake, note != NULL ? note : find(&self->attributes, key, 0), out);
}

static outlet_status request_set_method(const outlet_host *host, outlet_request request,
                                        outlet_view method) {
    MESSAGE(request_kind, request);
    if (!is_readable(method, OUTLET_MAX_VALUE) || !is_token(method)) return OUTLET_E_ARGUMENT;
    if (equals(method, "CONNECT")) return OUTLET_E_ARGUMENT;
    set(&self->method, method);
    return OUTLET_OK;
}

static outlet_status request_set_url(const outlet_host *host, outlet_request request, outlet_view url) {
    MESSAGE(request_kind, request);
    if (!is_server_url(url)) return OUTLET_E_ARGUMENT;
    set(&self->url, url);
    return OUTLET_OK;
}

/* Why a header cannot be set; OUTLET_OK if it can. */
static outlet_status objection(outlet_view name, outlet_view value) {
    if (!is_readable(name, OUTLET_MAX_NAME) || !is_readable(value, OUTLET_MAX_VALUE)) return OUTLET_E_ARGUMENT;
    if (is_length(name)) return OUTLET_E_DENIED;
    if (!is_token(name) || !is_field_value(value)) return OUTLET_E_ARGUMENT;
    if (is_host_name(name)) return is_host(value) ? OUTLET_OK : OUTLET_E_ARGUMENT;
    return is_reserved(name) ? OUTLET_E_ARGUMENT : OUTLET_OK;
}

static outlet_status request_add_header(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value) {
    MESSAGE(request_kind, request);
    const outlet_status status = objection(name, value);
    if (status != OUTLET_OK) return status;
    if (is_host_name(name) && find(&self->headers, name, 0) != NULL) return OUTLET_E_ARGUMENT;
    if (self->headers.count >= OUTLET_MAX_FIELDS) return OUTLET_E_ARGUMENT;
    add(&self->headers, name, value);
    return OUTLET_OK;
}

static outlet_status request_remove_header(const outlet_host *host, outlet_request request,
                                           outlet_view name) {
    MESSAGE(request_kind, request);
    if (!is_readable(name, OUTLET_MAX_NAME)) return OUTLET_E_ARGUMENT;
    if (is_length(name)) return OUTLET_E_DENIED;
    remove_from(&self->headers, 0, name);
    return OUTLET_OK;
}

static outlet_status request_set_header(const outlet_host *host, outlet_request request,
                                        outlet_view name, outlet_view value) {
    MESSAGE(request_kind, request);
    const outlet_status status = objection(name, value);
    if (status != OUTLET_OK) return status;
    const int is_new = find(&self->headers, name, 0) == NULL;
    if (is_new && self->headers.count >= OUTLET_MAX_FIELDS) return OUTLET_E_ARGUMENT;
    put(&self->headers, name, value);
    return OUTLET_OK;
}

static outlet_status request_set_body(const outlet_host *host, outlet_request request,
                                      outlet_view body) {
    MESSAGE(request_kind, request);
    if (!is_readable(body, OUTLET_MAX_BODY)) return OUTLET_E_ARGUMENT;
    set(&self->body, body);
    return OUTLET_OK;
}

static void set_attr(struct message *self, outlet_view key, outlet_view value) {
    put(&self->attributes, key, value);
}

static outlet_status request_set_attr(const outlet_host *host, outlet_request request, outlet_view key,
                                      outlet_view value) {
    MESSAGE(request_kind, request);
    if (!is_text(key, OUTLET_MAX_NAME) || !is_text(value, OUTLET_MAX_VALUE)) return OUTLET_E_ARGUMENT;
    if (key.len == 0) return OUTLET_E_ARGUMENT;
    if (has_prefix(key, "target.") || has_prefix(key, "request.") || has_prefix(key, "outlet."))
        return OUTLET_E_DENIED;
    const struct bytes *old = find(&self->notes, key, 0);
    const size_t kept = self->note_size - (old == NULL ? 0 : key.len + old->len);
    if (old == NULL && self->notes.count >= OUTLET_MAX_ATTRIBUTES) return OUTLET_E_ARGUMENT;
    if (kept + key.len + value.len > OUTLET_MAX_ATTRIBUTE_BYTES) return OUTLET_E_ARGUMENT;
    put(&self->notes, key, value);
    self->note_size = kept + key.len + value.len;
    return OUTLET_OK;
}

static outlet_status request_slot(const outlet_host *host, outlet_request request, void **out) {
    MESSAGE(request_kind, request);
    *out = self->slot;
    return OUTLET_OK;
}

static outlet_status request_set_slot(const outlet_host *host, outlet_request request, void *slot) {
    MESSAGE(request_kind, request);
    self->slot = slot;
    return OUTLET_OK;
}

/* Whether a plugin can answer with a response. */
static int is_answer(int32_t status, const outlet_field *fields, uint64_t count, outlet_view body) {
    if (status < 200 || status > 599 || !are_fields(fields, count)) return 0;
    if (!is_readable(body, OUTLET_MAX_BODY)) return 0;
    return body.len == 0 || (status != 204 && status != 304);
}

/* Whether the value of Content-Length can stay that of a response without a body. */
static int is_count(outlet_view text) {
    for (uint64_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i])) return 0;
    }
    return text.len > 0 && text.len < 19;
}

/* Replaces the fields and the body of a response: without the fields of the transport, and with one
 * Content-Length at most, which is the length of the body, unless that is empty. */
static void fill(struct message *self, const outlet_field *fields, uint64_t count, outlet_view body) {
    struct pairs kept = {NULL, 0, 1};
    char length[24];
    snprintf(length, sizeof length, "%" PRIu64, body.len);
    for (uint64_t i = 0; i < count; i++) {
        const outlet_field field = fields[i];
        if (!is_reserved(field.name)) {
            add(&kept, field.name, field.value);
        } else if (is_length(field.name) && find(&kept, field.name, 0) == NULL) {
            const int is_kept = body.len == 0 && is_count(field.value);
            add(&kept, field.name, is_kept ? field.value : outlet_text(length));
        }
    }
    /* The arguments may be parts of the message. */
    const struct pairs old = self->headers;
    self->headers = kept;
    set(&self->body, body);
    free_pairs(&old);
}

static outlet_status request_answer(const outlet_host *host, outlet_request request, int32_t status,
                                    const outlet_field *fields, uint64_t count, outlet_view body) {
    MESSAGE(request_kind, request);
    if (!is_answer(status, fields, count, body)) return OUTLET_E_ARGUMENT;
    if (equals(view_of(&self->method), "HEAD") && body.len > 0) return OUTLET_E_ARGUMENT;
    struct message *response;
    self->answer_id = new_message(fake, response_kind, &response);
    fill(response, fields, count, body);
    self->answer = response->status = status;
    return OUTLET_OK;
}

static outlet_status response_status(const outlet_host *host, outlet_response response, int32_t *out) {
    MESSAGE(response_kind, response);
    if (self->status == 0) return OUTLET_E_NOT_FOUND;
    *out = self->status;
    return OUTLET_OK;
}

static outlet_status response_error(const outlet_host *host, outlet_response response,
                                    outlet_view *code, outlet_view *text) {
    MESSAGE(response_kind, response);
    if (self->code.len == 0) return OUTLET_E_NOT_FOUND;
    *code = copied_view(fake, &self->code);
    *text = copied_view(fake, &self->failure);
    return OUTLET_OK;
}

static outlet_status response_header(const outlet_host *host, outlet_response response,
                                     outlet_view name, uint32_t nth, outlet_view *out) {
    MESSAGE(response_kind, response);
    return header(fake, self, name, nth, out);
}

static outlet_status response_headers(const outlet_host *host, outlet_response response,
                                      outlet_field *out, uint64_t capacity, uint64_t *count) {
    MESSAGE(response_kind, response);
    return headers(fake, self, out, capacity, count);
}

static outlet_status response_body(const outlet_host *host, outlet_response response,
                                   outlet_view *out) {
    MESSAGE(response_kind, response);
    return answer(fake, &self->body, out);
}

static outlet_status response_replace(const outlet_host *host, outlet_response response, int32_t status,
                                      const outlet_field *fields, uint64_t count, outlet_view body) {
    MESSAGE(response_kind, response);
    if (!is_answer(status, fields, count, body)) return OUTLET_E_ARGUMENT;
    fill(self, fields, count, body);
    set(&self->code, outlet_text(""));
    self->status = self->answer = status;
    return OUTLET_OK;
}

static outlet_status response_replace_error(const outlet_host *host, outlet_response response,
                                            outlet_view code, outlet_view text) {
    MESSAGE(response_kind, response);
    const int is_refused = !is_reason(code, text);
    set(&self->code, is_refused || code.len == 0 ? outlet_text("plugin") : code);
    set(&self->failure, is_refused ? outlet_text("the plugin's reason cannot be read") : text);
    return is_refused ? OUTLET_E_ARGUMENT : OUTLET_OK;
}

static outlet_status sink_write(const outlet_host *host, outlet_sink sink, outlet_view bytes) {
    MESSAGE(sink_kind, sink);
    if (!is_readable(bytes, sink_limit - self->body.len)) return OUTLET_E_ARGUMENT;
    const struct bytes written = joined(view_of(&self->body), bytes);
    free(self->body.ptr);
    self->body = written;
    return OUTLET_OK;
}

static struct completion *completion(struct outlet_fake_host *fake, outlet_completion id) {
    const uint64_t number = number_of(id.id, completion_kind);
    return number > 0 && number <= fake->completion_count ? &fake->completions[number - 1] : NULL;
}

static outlet_status is_awaited(const outlet_host *host, outlet_completion id) {
    FAKE;
    const struct completion *self = completion(fake, id);
    return self != NULL && self->settled == 0 ? OUTLET_OK : OUTLET_E_CANCELLED;
}

static outlet_status settle(const outlet_host *host, outlet_completion id, int32_t result,
                            outlet_view code, outlet_view text) {
    FAKE;
    struct completion *self = completion(fake, id);
    if (self == NULL || self->settled++ > 0) return OUTLET_E_STALE;
    self->result = result;
    if (!is_reason(code, text)) note_refusal(fake);
    else if (code.len + text.len > 0) note(fake, code, text);
    return OUTLET_OK;
}

static outlet_status retry_done(const outlet_host *host, outlet_completion id, int32_t verdict,
                                uint64_t delay_ns, outlet_view code, outlet_view text) {
    (void)delay_ns;
    return settle(host, id, verdict, code, text);
}

static outlet_status quiesced(const outlet_host *host) {
    FAKE;
    if (fake->creates) return OUTLET_E_STALE;
    fake->quiesced++;
    return OUTLET_OK;
}

static outlet_status request_snapshot(const outlet_host *host, outlet_request request,
                                      outlet_request_snapshot *out) {
    MESSAGE(request_kind, request);
    if (!OUTLET_HAS(out, outlet_request_snapshot, body_length)) return OUTLET_E_ARGUMENT;
    out->method = copied_view(fake, &self->method);
    out->url = copied_view(fake, &self->url);
    out->fields = field_views(fake, self);
    out->field_count = self->headers.count;
    out->body_length = self->body.len;
    return OUTLET_OK;
}

static outlet_status response_snapshot(const outlet_host *host, outlet_response response,
                                       outlet_response_snapshot *out) {
    MESSAGE(response_kind, response);
    if (!OUTLET_HAS(out, outlet_response_snapshot, body_length)) return OUTLET_E_ARGUMENT;
    out->status = self->status;
    out->error_code = copied_view(fake, &self->code);
    out->error_message = copied_view(fake, &self->failure);
    out->fields = field_views(fake, self);
    out->field_count = self->headers.count;
    out->body_length = self->body.len;
    return OUTLET_OK;
}

static outlet_status body_read(struct message *self, uint64_t offset, uint8_t *out, uint64_t capacity,
                               uint64_t *count) {
    const uint64_t left = offset < self->body.len ? self->body.len - offset : 0;
    *count = left < capacity ? left : capacity;
    if (*count > 0) memcpy(out, self->body.ptr + offset, *count);
    return OUTLET_OK;
}

static outlet_status request_body_read(const outlet_host *host, outlet_request request, uint64_t offset,
                                       uint8_t *out, uint64_t capacity, uint64_t *count) {
    MESSAGE(request_kind, request);
    return body_read(self, offset, out, capacity, count);
}

static outlet_status response_body_read(const outlet_host *host, outlet_response response,
                                        uint64_t offset, uint8_t *out, uint64_t capacity,
                                        uint64_t *count) {
    MESSAGE(response_kind, response);
    return body_read(self, offset, out, capacity, count);
}

/* ---- for tests ---------------------------------------------------------------------------- */

outlet_fake_host *outlet_fake_new(void) {
    outlet_fake_host *fake = OUTLET_STATIC_CAST(outlet_fake_host *, checked(calloc(1, sizeof *fake)));
    outlet_host *table = &fake->table;
    table->struct_size = sizeof(outlet_host);
    table->abi_minor = OUTLET_ABI_MINOR;
    table->name = outlet_text("outlet-fake");
    table->version = outlet_text("0");
    table->extension = fake_extension;
    table->log = fake_log;
    table->fail = fake_fail;
    table->deadline_ns = fake_deadline;
    table->config_value = fake_config_value;
    table->request_method = request_method;
    table->request_url = request_url;
    table->request_header = request_header;
    table->request_headers = request_headers;
    table->request_body = request_body;
    table->request_attr = request_attr;
    table->request_set_method = request_set_method;
    table->request_set_url = request_set_url;
    table->request_set_header = request_set_header;
    table->request_add_header = request_add_header;
    table->request_remove_header = request_remove_header;
    table->request_set_body = request_set_body;
    table->request_set_attr = request_set_attr;
    table->request_slot = request_slot;
    table->request_set_slot = request_set_slot;
    table->request_answer = request_answer;
    table->response_status = response_status;
    table->response_error = response_error;
    table->response_header = response_header;
    table->response_headers = response_headers;
    table->response_body = response_body;
    table->response_replace = response_replace;
    table->response_replace_error = response_replace_error;
    table->sink_write = sink_write;
    table->is_awaited = is_awaited;
    table->done = settle;
    table->retry_done = retry_done;
    table->quiesced = quiesced;
    table->redirect_done = settle;
    table->request_snapshot = request_snapshot;
    table->request_body_read = request_body_read;
    table->response_snapshot = response_snapshot;
    table->response_body_read = response_body_read;
    fake->http.struct_size = sizeof fake->http;
    fake->http.send = http_send;
    fake->http.cancel = http_cancel;
    fake->timer.struct_size = sizeof fake->timer;
    fake->timer.start = timer_start;
    fake->timer.cancel = timer_cancel;
    pthread_mutex_init(&fake->mutex, NULL);
    set(&fake->json, outlet_text("{}"));
    pthread_mutex_lock(&all_hosts_mutex);
    fake->next = all_hosts;
    all_hosts = fake;
    pthread_mutex_unlock(&all_hosts_mutex);
    return fake;
}

void outlet_fake_free(outlet_fake_host *fake) {
    pthread_mutex_lock(&all_hosts_mutex);
    struct outlet_fake_host **link = &all_hosts;
    while (*link != NULL && *link != fake) link = &(*link)->next;
    const int is_known = *link != NULL;
    if (is_known) *link = fake->next;
    pthread_mutex_unlock(&all_hosts_mutex);
    if (!is_known) give_up("outlet_fake_free", "there is no such fake host; it may be freed already");
    for (size_t i = 0; i < fake->message_count; i++) {
        struct message *self = fake->messages[i];
        struct bytes *all[] = {&self->method, &self->url, &self->body, &self->code, &self->failure};
        for (size_t n = 0; n < sizeof all / sizeof *all; n++) free(all[n]->ptr);
        free_pairs(&self->headers);
        free_pairs(&self->attributes);
        free_pairs(&self->notes);
        free(self);
    }
    free_blocks(&fake->views);
    free_blocks(&fake->config_views);
    free(fake->json.ptr);
    free_pairs(&fake->settings);
    free_pairs(&fake->services);
    free(fake->messages);
    free(fake->completions);
    free(fake->exchanges);
    free(fake->timers);
    free(fake->failure.ptr);
    pthread_mutex_destroy(&fake->mutex);
    free(fake);
}

const outlet_host *outlet_fake_table(outlet_fake_host *fake) { return &fake->table; }

void outlet_fake_set(outlet_fake_host *fake, const char *key, const char *value) {
    put(&fake->settings, outlet_text(key), outlet_text(value));
}

void outlet_fake_set_json(outlet_fake_host *fake, const char *json) {
    set(&fake->json, outlet_text(json));
}

void outlet_fake_keep_views(outlet_fake_host *fake) { fake->keeps_views = 1; }

/* Whether a hook may be pending that has started something, so that its views are still valid. */
static int may_be_pending(const outlet_fake_host *fake) {
    for (size_t i = 0; i < fake->exchange_count; i++) {
        if (!fake->exchanges[i].is_over) return 1;
    }
    return fake->timer_count > 0;
}

/* Makes a call; clears the last failure, and frees the views of earlier calls if `ends_views`. */
static outlet_call new_call(outlet_fake_host *fake, int configures, int ends_views) {
    outlet_call call = {plain_call};
    pthread_mutex_lock(&fake->mutex);
    if (ends_views && !fake->keeps_views && !may_be_pending(fake)) {
        free_blocks(&fake->views);
        fake->round++;
    }
    free(fake->failure.ptr);
    fake->failure.ptr = NULL;
    if (configures) call.id = fake->configuring = plain_call + ++fake->configured;
    pthread_mutex_unlock(&fake->mutex);
    return call;
}

outlet_call outlet_fake_begin_configuring(outlet_fake_host *fake) { return new_call(fake, 1, 1); }

void outlet_fake_end_configuring(outlet_fake_host *fake) {
    pthread_mutex_lock(&fake->mutex);
    fake->configuring = 0;
    if (!fake->keeps_views) free_blocks(&fake->config_views);
    pthread_mutex_unlock(&fake->mutex);
}

/* The configuration that create and reconfigure receive. */
static outlet_config configuration(outlet_fake_host *fake) {
    const outlet_view none = {NULL, 0};
    const outlet_view json = {copy_of(&fake->json, &fake->config_views), fake->json.len};
    const outlet_config config = {sizeof config, 0, json, none};
    return config;
}

outlet_instance *outlet_fake_create(outlet_fake_host *fake, const outlet_descriptor *descriptor) {
    const outlet_call call = outlet_fake_begin_configuring(fake);
    const outlet_config config = configuration(fake);
    outlet_instance *instance = NULL;
    fake->creates = 1;
    const outlet_status status =
        descriptor->create(descriptor, &fake->table, call, &config, &instance);
    fake->creates = 0;
    outlet_fake_end_configuring(fake);
    return status == OUTLET_OK ? instance : NULL;
}

outlet_status outlet_fake_reconfigure(outlet_fake_host *fake, const outlet_descriptor *descriptor,
                                      outlet_instance *instance) {
    const outlet_call call = outlet_fake_begin_configuring(fake);
    const outlet_config config = configuration(fake);
    const outlet_status status = descriptor->reconfigure(instance, call, &config);
    outlet_fake_end_configuring(fake);
    return status;
}

outlet_call outlet_fake_call(outlet_fake_host *fake) { return new_call(fake, 0, 1); }

const char *outlet_fake_failure(outlet_fake_host *fake) {
    return fake->failure.ptr == NULL ? "" : fake->failure.ptr;
}

outlet_request outlet_fake_request(outlet_fake_host *fake, const char *method, const char *url) {
    struct message *self;
    const outlet_request request = {new_message(fake, request_kind, &self)};
    set(&self->method, outlet_text(method));
    set(&self->url, outlet_text(url));
    return request;
}

void outlet_fake_set_attr(outlet_fake_host *fake, outlet_request request, const char *key,
                          const char *value) {
    struct message *self = needed(fake, request.id, request_kind, "outlet_fake_set_attr");
    set_attr(self, outlet_text(key), outlet_text(value));
}

outlet_response outlet_fake_response(outlet_fake_host *fake, int32_t status, const char *body) {
    struct message *self;
    const outlet_response response = {new_message(fake, response_kind, &self)};
    self->status = status;
    set(&self->body, outlet_text(body));
    if (status == 0) {
        set(&self->code, outlet_text("timedOut"));
        set(&self->failure, outlet_text("the request timed out"));
    }
    return response;
}

void outlet_fake_add_header(outlet_fake_host *fake, outlet_response response, const char *name,
                            const char *value) {
    /* The fake host in Swift passes requests, too. */
    struct message *self = any_message(fake, response.id);
    if (self == NULL) give_up("outlet_fake_add_header", "the handle is not one of this fake host");
    add(&self->headers, outlet_text(name), outlet_text(value));
}

void outlet_fake_set_body(outlet_fake_host *fake, outlet_response response, outlet_view body) {
    struct message *self = needed(fake, response.id, response_kind, "outlet_fake_set_body");
    set(&self->body, body);
}

const char *outlet_fake_header(outlet_fake_host *fake, outlet_request request, const char *name) {
    struct message *self = needed(fake, request.id, request_kind, "outlet_fake_header");
    const struct bytes *value = find(&self->headers, outlet_text(name), 0);
    return value == NULL ? NULL : value->ptr;
}

int32_t outlet_fake_answer(outlet_fake_host *fake, uint64_t id) {
    const struct message *self = any_message(fake, id);
    return self == NULL ? 0 : self->answer;
}

outlet_response outlet_fake_answered(outlet_fake_host *fake, outlet_request request) {
    const struct message *self = message(fake, request.id, request_kind);
    const outlet_response response = {self == NULL ? 0 : self->answer_id};
    return response;
}

outlet_completion outlet_fake_completion(outlet_fake_host *fake) {
    const struct completion unsettled = {0, 0};
    fake->completions = OUTLET_STATIC_CAST(
        struct completion *, grown(fake->completions, fake->completion_count, sizeof unsettled));
    fake->completions[fake->completion_count] = unsettled;
    const outlet_completion id = {new_id(completion_kind, ++fake->completion_count)};
    return id;
}

int outlet_fake_settled(outlet_fake_host *fake, outlet_completion id) {
    const struct completion *self = completion(fake, id);
    return self == NULL ? 0 : self->settled;
}

int32_t outlet_fake_result(outlet_fake_host *fake, outlet_completion id) {
    const struct completion *self = completion(fake, id);
    return self == NULL ? 0 : self->result;
}

outlet_sink outlet_fake_sink(outlet_fake_host *fake) {
    struct message *self;
    const outlet_sink sink = {new_message(fake, sink_kind, &self)};
    set(&self->body, outlet_text(""));
    return sink;
}

outlet_view outlet_fake_written(outlet_fake_host *fake, outlet_sink sink) {
    const struct message *self = needed(fake, sink.id, sink_kind, "outlet_fake_written");
    return view_of(&self->body);
}

int outlet_fake_logged(outlet_fake_host *fake) { return fake->logged; }

int outlet_fake_quiesced(outlet_fake_host *fake) { return fake->quiesced; }

/* ---- services ------------------------------------------------------------------------------ */

void outlet_fake_offer(outlet_fake_host *fake, const char *service) {
    const outlet_view name = outlet_text(service);
    if (strcmp(service, OUTLET_HTTP_1) != 0 && strcmp(service, OUTLET_TIMER_1) != 0) {
        fprintf(stderr, "outlet_fake_offer: there is no fake of the service \"%s\"\n", service);
        abort();
    }
    if (find(&fake->services, name, 0) == NULL) add(&fake->services, name, name);
}

void outlet_fake_when_sent(outlet_fake_host *fake, outlet_fake_observer observer, void *context) {
    fake->observer = observer;
    fake->context = context;
}

outlet_request outlet_fake_sent(outlet_fake_host *fake, size_t nth) {
    const outlet_request none = {0};
    pthread_mutex_lock(&fake->mutex);
    const outlet_request sent = nth < fake->exchange_count ? fake->exchanges[nth].request : none;
    pthread_mutex_unlock(&fake->mutex);
    return sent;
}

int outlet_fake_respond(outlet_fake_host *fake, outlet_instance *instance, size_t nth,
                        outlet_response response) {
    struct exchange exchange = {{0}, NULL, NULL, 1, 0};
    pthread_mutex_lock(&fake->mutex);
    if (nth < fake->exchange_count) {
        exchange = fake->exchanges[nth];
        fake->exchanges[nth].is_over = 1;
    }
    pthread_mutex_unlock(&fake->mutex);
    if (exchange.is_over) return 0;
    if (exchange.is_cancelled) {
        struct message *self;
        response.id = new_message(fake, response_kind, &self);
        set(&self->code, outlet_text("cancelled"));
        set(&self->failure, outlet_text("the plugin cancelled the request"));
    }
    /* What the hook has read that is pending meanwhile stays valid. */
    exchange.done(instance, new_call(fake, 0, 0), response, exchange.data);
    return 1;
}

/* The position of the timer that ends first, of those that end by a time; timer_count if there is none.
 *
 * Cancelled ones end at once. Of several, the one that was started first. */
static size_t next_timer(const outlet_fake_host *fake, uint64_t end) {
    size_t next = fake->timer_count;
    uint64_t earliest = end;
    for (size_t i = 0; i < fake->timer_count; i++) {
        const uint64_t due = fake->timers[i].is_cancelled ? 0 : fake->timers[i].due;
        if (due > earliest || (next < fake->timer_count && due == earliest)) continue;
        earliest = due;
        next = i;
    }
    return next;
}

size_t outlet_fake_advance(outlet_fake_host *fake, outlet_instance *instance,
                           uint64_t nanoseconds) {
    size_t ended = 0;
    pthread_mutex_lock(&fake->mutex);
    const uint64_t end = later(fake->now, nanoseconds);
    for (size_t next = next_timer(fake, end); next < fake->timer_count;
         next = next_timer(fake, end)) {
        if (ended == end_limit) {
            /* Others are due before the end. */
            pthread_mutex_unlock(&fake->mutex);
            return ended;
        }
        const struct timer timer = fake->timers[next];
        fake->timer_count--;
        memmove(fake->timers + next, fake->timers + next + 1,
                (fake->timer_count - next) * sizeof *fake->timers);
        if (!timer.is_cancelled && timer.due > fake->now) fake->now = timer.due;
        ended++;
        const outlet_status status = timer.is_cancelled ? OUTLET_E_CANCELLED : OUTLET_OK;
        /* Unlocked, because the plugin may start another timer. */
        pthread_mutex_unlock(&fake->mutex);
        timer.done(instance, new_call(fake, 0, 0), status, timer.data);
        pthread_mutex_lock(&fake->mutex);
    }
    if (fake->now < end) fake->now = end;
    pthread_mutex_unlock(&fake->mutex);
    return ended;
}
