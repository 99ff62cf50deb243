/* Watches and makes bodies with outlet.stream/1; that is allowed. The host must pass each piece
 * once, in order and one at a time, and end each stream once. Exports return counters.
 *
 * Settings:
 *
 *   watch    what happens with pieces of responses: "count" only counts them, "later" settles each with
 *            a timer, "hold" with the export "release" or never, "refuse" refuses a piece that begins
 *            with X, "refuse-end" the end of the body, "late-refusal" the end with a timer
 *   send     the number of pieces, of 1,000 bytes each, of a request's body
 *   length   the declared length of this body in bytes; unknown if not set
 *   how      how this body is made: "later" settles each piece with a timer, "fail" fails after the
 *            first, "more" continues after the last, "hold" never settles
 *   ask      with any value, will_send tries to open a stream, which the host must refuse: this breaks a rule
 *
 * Two plugins: "faulty.streams" may block, "faulty.streams-quick" has OUTLET_F_NONBLOCKING. */
#include "faulty.h"
#include <pthread.h>
#include <stdio.h>

struct streams {
    outlet_instance base;
    const outlet_streams *streams;
    const outlet_timers *timers;
    char watch[32], how[32], send[32], length[32], ask[32];
    pthread_mutex_t mutex;
    int64_t seen, bodies, whole, broken, pending, cancelled, rounds, status, late, overlaps;
    outlet_completion held;
    int busy;
};

static outlet_status create(const outlet_descriptor *descriptor, const outlet_host *host,
                            outlet_call call, const outlet_config *config, outlet_instance **out) {
    struct streams *self = calloc(1, sizeof *self);
    const void *table;
    (void)descriptor, (void)config;
    if (self == NULL) return OUTLET_E_FAILED;
    self->base.host = host;
    pthread_mutex_init(&self->mutex, NULL);
    if (host->extension(host, outlet_text(OUTLET_STREAM_1), &table) == OUTLET_OK) {
        self->streams = table;
    }
    if (host->extension(host, outlet_text(OUTLET_TIMER_1), &table) == OUTLET_OK) {
        self->timers = table;
    }
    setting(host, call, "watch", self->watch, sizeof self->watch);
    setting(host, call, "how", self->how, sizeof self->how);
    setting(host, call, "send", self->send, sizeof self->send);
    setting(host, call, "length", self->length, sizeof self->length);
    setting(host, call, "ask", self->ask, sizeof self->ask);
    *out = &self->base;
    return OUTLET_OK;
}

static void add(struct streams *self, int64_t *count, int64_t more) {
    pthread_mutex_lock(&self->mutex);
    *count += more;
    pthread_mutex_unlock(&self->mutex);
}

/* Allocates the data of a stream, which `ended` frees. */
static void *opened(struct streams *self) {
    struct streams **data = malloc(sizeof *data);
    if (data != NULL) *data = self;
    return data;
}

static void set_busy(struct streams *self, int busy) {
    pthread_mutex_lock(&self->mutex);
    if (busy && self->busy) self->overlaps++;
    self->busy = busy;
    pthread_mutex_unlock(&self->mutex);
}

/* The arguments with which a timer settles a piece. */
struct later {
    outlet_completion completion;
    outlet_sink sink;
    int writes;
    outlet_status status;
};

static outlet_status write_piece(const outlet_host *host, outlet_sink sink) {
    static uint8_t piece[1000];
    memset(piece, 'p', sizeof piece);
    const outlet_view view = {piece, sizeof piece};
    return host->sink_write(host, sink, view);
}

static void rang(outlet_instance *instance, outlet_call call, outlet_status status, void *data) {
    const outlet_host *host = instance->host;
    struct later *later = data;
    (void)call, (void)status;
    if (later->writes) {
        write_piece(host, later->sink);
    } else {
        set_busy((struct streams *)instance, 0);
    }
    host->done(host, later->completion, later->status, outlet_text("refused"),
               outlet_text("this body is refused"));
    free(later);
}

static outlet_status promise(struct streams *self, struct later wanted) {
    struct later *later = malloc(sizeof *later);
    outlet_timer timer;
    if (later == NULL) return OUTLET_E_FAILED;
    *later = wanted;
    add(self, &self->pending, 1);
    return self->timers->start(self->base.host, 200000, rang, later, &timer) == OUTLET_OK
               ? OUTLET_PENDING
               : OUTLET_E_FAILED;
}

static outlet_status refuse(struct streams *self, outlet_call call) {
    const outlet_host *host = self->base.host;
    host->fail(host, call, outlet_text("refused"), outlet_text("this body is refused"));
    return OUTLET_E_DENIED;
}

static outlet_status look(outlet_instance *instance, outlet_call call, outlet_response response,
                           uint64_t offset, outlet_view bytes, outlet_completion completion,
                           void *data) {
    struct streams *self = (struct streams *)instance;
    struct later later = {completion, {0}, 0, OUTLET_OK};
    int32_t status = 0;
    if (instance->host->response_status(instance->host, response, &status) != OUTLET_OK ||
        *(struct streams **)data != self) {
        return OUTLET_E_FAILED;
    }
    pthread_mutex_lock(&self->mutex);
    if (offset == 0) self->bodies++;
    self->seen += (int64_t)bytes.len;
    self->status = status;
    pthread_mutex_unlock(&self->mutex);
    if (strcmp(self->watch, "later") == 0) return promise(self, later);
    if (strcmp(self->watch, "hold") == 0) {
        pthread_mutex_lock(&self->mutex);
        self->held = completion;
        self->pending++;
        pthread_mutex_unlock(&self->mutex);
        return OUTLET_PENDING;
    }
    if (strcmp(self->watch, "refuse") == 0 && bytes.len > 0 && bytes.ptr[0] == 'X') {
        return refuse(self, call);
    }
    if (strcmp(self->watch, "refuse-end") == 0 && bytes.len == 0) return refuse(self, call);
    later.status = OUTLET_E_DENIED;
    if (strcmp(self->watch, "late-refusal") == 0 && bytes.len == 0) return promise(self, later);
    return OUTLET_OK;
}

static outlet_status piece(outlet_instance *instance, outlet_call call, outlet_response response,
                           uint64_t offset, outlet_view bytes, outlet_completion completion,
                           void *data) {
    struct streams *self = (struct streams *)instance;
    outlet_status status;
    set_busy(self, 1);
    status = look(instance, call, response, offset, bytes, completion, data);
    /* A pending piece is busy until it is settled, which may have happened already. */
    if (status != OUTLET_PENDING) set_busy(self, 0);
    return status;
}

static outlet_status make_piece(outlet_instance *instance, outlet_call call, uint64_t offset,
                                outlet_sink sink, outlet_completion completion, void *data) {
    struct streams *self = (struct streams *)instance;
    const struct later later = {completion, sink, 1, OUTLET_OK};
    (void)call;
    if (*(struct streams **)data != self) return OUTLET_E_FAILED;
    if (offset == 0) add(self, &self->rounds, 1);
    if (strcmp(self->how, "fail") == 0 && offset > 0) return refuse(self, call);
    if (offset >= 1000u * (uint64_t)atoi(self->send)) {
        return strcmp(self->how, "more") == 0 ? write_piece(instance->host, sink) : OUTLET_OK;
    }
    if (strcmp(self->how, "hold") == 0) {
        add(self, &self->pending, 1);
        return OUTLET_PENDING;
    }
    if (strcmp(self->how, "later") == 0) return promise(self, later);
    return write_piece(instance->host, sink);
}

static void ended(outlet_instance *instance, outlet_call call, outlet_status status, void *data) {
    struct streams *self = (struct streams *)instance;
    (void)call;
    if (*(struct streams **)data != self) return;
    *(struct streams **)data = NULL;
    free(data);
    add(self, status == OUTLET_OK ? &self->whole : &self->broken, 1);
}

static outlet_status prepare(outlet_instance *instance, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    struct streams *self = (struct streams *)instance;
    const outlet_host *host = instance->host;
    outlet_status status = OUTLET_OK;
    (void)call, (void)completion;
    if (self->watch[0] != 0) {
        status = self->streams->watch_response(host, request, piece, ended, opened(self));
    }
    if (status == OUTLET_OK && self->send[0] != 0) {
        const uint64_t length =
            self->length[0] != 0 ? strtoull(self->length, NULL, 10) : OUTLET_UNKNOWN_LENGTH;
        status = self->streams->send_body(host, request, length, make_piece, ended, opened(self));
    }
    return status;
}

/* Counts streams that will_send could open: the host must refuse all. */
static void will_send(outlet_instance *instance, outlet_call call, outlet_request request) {
    struct streams *self = (struct streams *)instance;
    (void)call;
    if (self->ask[0] == 0) return;
    add(self, &self->late,
        self->streams->watch_response(instance->host, request, piece, ended, self) == OUTLET_OK);
}

static void cancel(outlet_instance *instance, outlet_completion completion) {
    struct streams *self = (struct streams *)instance;
    (void)completion;
    add(self, &self->cancelled, 1);
}

static int32_t release(outlet_instance *instance) {
    struct streams *self = (struct streams *)instance;
    outlet_completion held;
    pthread_mutex_lock(&self->mutex);
    held = self->held;
    pthread_mutex_unlock(&self->mutex);
    if (held.id == 0) return OUTLET_E_STATE;
    set_busy(self, 0);
    return instance->host->done(instance->host, held, OUTLET_OK, outlet_text(""), outlet_text(""));
}

#define COUNT(name_)                                                                       \
    static int64_t name_(outlet_instance *instance) {                                      \
        struct streams *self = (struct streams *)instance;                                 \
        int64_t count;                                                                     \
        pthread_mutex_lock(&self->mutex);                                                  \
        count = self->name_;                                                               \
        pthread_mutex_unlock(&self->mutex);                                                \
        return count;                                                                      \
    }                                                                                      \
    static const outlet_export export_##name_ = {                                          \
        sizeof(outlet_export), OUTLET_X_ANY_THREAD, OUTLET_TEXT(#name_), OUTLET_TEXT("l()"), \
        OUTLET_TEXT(""),       (outlet_function)name_}
COUNT(seen);
COUNT(bodies);
COUNT(whole);
COUNT(broken);
COUNT(pending);
COUNT(cancelled);
COUNT(rounds);
COUNT(status);
COUNT(late);
COUNT(overlaps);
static const outlet_export export_release = {
    sizeof(outlet_export), OUTLET_X_ANY_THREAD, OUTLET_TEXT("release"),
    OUTLET_TEXT("i()"),    OUTLET_TEXT(""),     (outlet_function)release};

static const outlet_export *const exports[] = {
    &export_seen,      &export_bodies, &export_whole,  &export_broken,     &export_pending,
    &export_cancelled, &export_rounds, &export_status, &export_late, &export_overlaps, &export_release};

static const outlet_hooks table = {.struct_size = sizeof(outlet_hooks),
                                   .prepare = prepare,
                                   .will_send = will_send,
                                   .cancel = cancel};

static const outlet_hooks *hooks(outlet_instance *instance) {
    (void)instance;
    return &table;
}

#define STREAMS(id_, flags_)                                                          \
    {.struct_size = sizeof(outlet_descriptor), .flags = (flags_), .id = OUTLET_TEXT(id_), \
     .version = OUTLET_TEXT("1.0.0"), .create = create, .destroy = unmake, .hooks = hooks, \
     .exports = exports, .export_count = sizeof exports / sizeof exports[0]}
static const outlet_descriptor blocking = STREAMS("faulty.streams", 0);
static const outlet_descriptor quick = STREAMS("faulty.streams-quick", OUTLET_F_NONBLOCKING);

const outlet_module *outlet_module_v1(uint32_t host_minor) {
    static const outlet_descriptor *const descriptors[] = {&blocking, &quick};
    static const outlet_module module = {sizeof(outlet_module), OUTLET_ABI_MINOR, 0, 2, descriptors};
    (void)host_minor;
    return &module;
}
