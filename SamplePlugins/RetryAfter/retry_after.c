/* RetryAfter: retries a request if the server is overloaded, after the delay that it requests.
 *
 * Configuration, all of it optional:
 *
 *   statuses               which responses are retried ([429, 503])
 *   max_attempts           the maximum number of attempts of a request, 1 to 11 (3)
 *   max_wait_ms            the longest delay; a longer Retry-After prevents the retry (60000)
 *   default_wait_ms        the first delay without Retry-After; doubles, with jitter (500)
 *   all_methods            whether methods that are not idempotent are retried, too (false)
 *   budget_percent         the percentage of requests that may be retried (20)
 *   budget_min_per_second  the number of additional retries allowed per second (10)
 *
 * The budget counts all requests of the instance in the last ten seconds, so that retries add at most
 * that share to the load of a failing server. */
#define _POSIX_C_SOURCE 200809L
#include <outlet/outlet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define PLUGIN_ID "dev.outlet.retry-after"
#define PLUGIN_VERSION "1.0.0"

OUTLET_MANIFEST(PLUGIN_ID, PLUGIN_VERSION, "");

enum { WINDOW_SECONDS = 10, FIRST_STATUS = 400, LAST_STATUS = 599, DAY_MS = 86400000 };

/* ---- the budget --------------------------------------------------------------------------- */

/* Requests and retries of the last ten seconds, in one slot for each second. */
struct budget {
    uint64_t percent, min_per_second;
    int64_t second; /* of the newest slot */
    uint64_t requests[WINDOW_SECONDS], retries[WINDOW_SECONDS];
    uint64_t granted, refused; /* retries in all */
};

/* Clears the slots of the seconds that have passed. */
static void budget_advance(struct budget *budget, int64_t now) {
    if (now - budget->second >= WINDOW_SECONDS) budget->second = now - WINDOW_SECONDS;
    while (budget->second < now) {
        int64_t slot = ++budget->second % WINDOW_SECONDS;
        budget->requests[slot] = budget->retries[slot] = 0;
    }
}

static void budget_deposit(struct budget *budget, int64_t now) {
    budget_advance(budget, now);
    budget->requests[budget->second % WINDOW_SECONDS]++;
}

static uint64_t sum(const uint64_t *slots) {
    uint64_t sum = 0;
    for (int i = 0; i < WINDOW_SECONDS; i++) sum += slots[i];
    return sum;
}

/* The number of retries that are allowed now. */
static uint64_t budget_balance(struct budget *budget, int64_t now) {
    budget_advance(budget, now);
    uint64_t allowed =
        budget->min_per_second * WINDOW_SECONDS + sum(budget->requests) * budget->percent / 100;
    uint64_t spent = sum(budget->retries);
    return allowed > spent ? allowed - spent : 0;
}

/* Counts a retry; returns 0 if none is allowed. */
static int budget_withdraw(struct budget *budget, int64_t now) {
    if (budget_balance(budget, now) == 0) {
        budget->refused++;
        return 0;
    }
    budget->retries[budget->second % WINDOW_SECONDS]++;
    budget->granted++;
    return 1;
}

/* ---- Retry-After (RFC 9110 10.2.3) -------------------------------------------------------- */

/* Seconds since 1970 of a valid date in the proleptic Gregorian calendar. */
static int64_t epoch(int year, int month, int day, int hour, int minute, int second) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t days =
        365 * y + y / 4 - y / 100 + y / 400 + (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    return (days - 719468) * 86400 + hour * 3600 + minute * 60 + second;
}

/* Parses a date in one of the three forms of RFC 9110 5.6.7; `now` determines the century of the second. */
static int http_date(outlet_view value, int64_t now, int64_t *out) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char text[40], name[4] = "";
    int day = 0, year = 0, hour = 0, minute = 0, second = 0, end = 0, short_year = 0;
    if (value.len == 0 || value.len >= sizeof text) return 0;
    memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
    if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, name, &year, &hour,
               &minute, &second, &end) != 6 ||
        end == 0) {
        if (sscanf(text, "%*9[A-Za-z], %2d-%3[A-Za-z]-%2d %2d:%2d:%2d GMT%n", &day, name, &year,
                   &hour, &minute, &second, &end) == 6 &&
            end > 0) {
            short_year = 1;
        } else if (sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2d %2d:%2d:%2d %4d%n", name, &day, &hour,
                          &minute, &second, &year, &end) != 6) {
            return 0;
        }
    }
    const char *found = strlen(name) == 3 ? strstr(months, name) : NULL;
    if (end == 0 || text[end] != 0 || found == NULL || (found - months) % 3 != 0 || year < 0 ||
        day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 60) {
        return 0;
    }
    int month = (int)(found - months) / 3 + 1;
    if (short_year) {
        /* A date more than fifty years in the future is in the past century. */
        const int64_t fifty_years = INT64_C(50) * 31556952;
        year += 2000;
        if (epoch(year, month, day, hour, minute, second) > now + fifty_years) year -= 100;
    }
    *out = epoch(year, month, day, hour, minute, second);
    return 1;
}

/* The delay of a Retry-After field, in milliseconds; -1 if it is malformed. */
static int64_t requested_wait(outlet_view value, int64_t now) {
    int64_t seconds = 0, date;
    uint64_t digits = 0;
    while (digits < value.len && value.ptr[digits] >= '0' && value.ptr[digits] <= '9') {
        if (seconds < INT64_C(1000000000000)) seconds = seconds * 10 + (value.ptr[digits] - '0');
        digits++;
    }
    if (value.len > 0 && digits == value.len) return seconds * 1000;
    if (!http_date(value, now, &date)) return -1;
    return date > now ? (date - now) * 1000 : 0;
}

/* ---- the plugin --------------------------------------------------------------------------- */

struct outlet_instance {
    const outlet_host *host;
    int64_t max_attempts, max_wait_ms, default_wait_ms;
    int all_methods;
    unsigned char statuses[LAST_STATUS + 1];
    pthread_mutex_t mutex; /* protects the budget; never held while a function of the host is called */
    struct budget budget;
};

static int64_t clock_seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec;
}

/* A random delay from half of `wait` to all of it, so that clients do not all retry at the same time. */
static int64_t jittered(int64_t wait) {
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) return wait;
    return wait - (int64_t)(random % (uint64_t)(wait / 2 + 1));
}

/* The delay before the next attempt, in milliseconds; `attempt` is the number of attempts so far. */
static int64_t wait_after(outlet_instance *self, outlet_response response, uint32_t attempt) {
    const outlet_host *host = self->host;
    outlet_view value;
    if (host->response_header(host, response, outlet_text("Retry-After"), 0, &value) == OUTLET_OK) {
        int64_t now = clock_seconds(CLOCK_REALTIME);
        outlet_view date;
        /* Compared with the response's Date, because the clocks may differ. */
        if (host->response_header(host, response, outlet_text("Date"), 0, &date) == OUTLET_OK) {
            (void)http_date(date, now, &now);
        }
        int64_t wait = requested_wait(value, now);
        if (wait >= 0) return wait;
    }
    int64_t wait = self->default_wait_ms;
    for (uint32_t i = 1; i < attempt && wait < self->max_wait_ms; i++) wait *= 2;
    return jittered(wait < self->max_wait_ms ? wait : self->max_wait_ms);
}

static int is_idempotent(outlet_view method) {
    static const char *const methods[] = {"GET", "HEAD",   "OPTIONS", "TRACE",
                                          "PUT", "DELETE", "QUERY"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (method.len == strlen(methods[i]) && memcmp(method.ptr, methods[i], method.len) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Counts a call's first attempt. */
static outlet_status prepare(outlet_instance *self, outlet_call call, outlet_request request,
                             outlet_completion completion) {
    (void)call, (void)completion;
    const outlet_host *host = self->host;
    outlet_view attempt;
    if (host->request_attr(host, request, outlet_text("request.attempt"), &attempt) == OUTLET_OK &&
        !(attempt.len == 1 && attempt.ptr[0] == '1')) {
        return OUTLET_OK;
    }
    pthread_mutex_lock(&self->mutex);
    budget_deposit(&self->budget, clock_seconds(CLOCK_MONOTONIC));
    pthread_mutex_unlock(&self->mutex);
    return OUTLET_OK;
}

static outlet_status retry(outlet_instance *self, outlet_call call, outlet_request request,
                           outlet_response response, uint32_t attempt,
                           outlet_completion completion) {
    const outlet_host *host = self->host;
    const outlet_view none = outlet_text("");
    outlet_view method;
    int32_t status;
    if (host->response_status(host, response, &status) != OUTLET_OK || status < FIRST_STATUS ||
        status > LAST_STATUS || !self->statuses[status] || attempt >= self->max_attempts ||
        host->request_method(host, request, &method) != OUTLET_OK ||
        !(self->all_methods || is_idempotent(method))) {
        return OUTLET_OK;
    }
    int64_t wait = wait_after(self, response, attempt);
    if (wait > self->max_wait_ms) {
        host->log(host, call, OUTLET_LOG_INFO,
                  outlet_text("not retried: the server asks for a wait beyond max_wait_ms"), NULL,
                  0);
        return OUTLET_OK;
    }
    pthread_mutex_lock(&self->mutex);
    int is_granted = budget_withdraw(&self->budget, clock_seconds(CLOCK_MONOTONIC));
    pthread_mutex_unlock(&self->mutex);
    if (!is_granted) {
        host->log(host, call, OUTLET_LOG_INFO, outlet_text("not retried: the budget is spent"),
                  NULL, 0);
        return OUTLET_OK;
    }
    /* An error means that the request was cancelled meanwhile; the decision is not needed then. */
    host->retry_done(host, completion, wait > 0 ? OUTLET_RETRY_AFTER : OUTLET_RETRY_NOW,
                     (uint64_t)wait * 1000000, none, none);
    return OUTLET_OK;
}

/* budget() -> text: the state of the budget as a JSON object. */
static outlet_status budget(outlet_instance *self, outlet_sink sink) {
    char text[256];
    pthread_mutex_lock(&self->mutex);
    uint64_t balance = budget_balance(&self->budget, clock_seconds(CLOCK_MONOTONIC));
    struct budget now = self->budget;
    pthread_mutex_unlock(&self->mutex);
    snprintf(text, sizeof text,
             "{\"available\":%llu,\"window_seconds\":%d,\"window_requests\":%llu,"
             "\"window_retries\":%llu,\"retries\":%llu,\"refused\":%llu}",
             (unsigned long long)balance, WINDOW_SECONDS, (unsigned long long)sum(now.requests),
             (unsigned long long)sum(now.retries), (unsigned long long)now.granted,
             (unsigned long long)now.refused);
    return self->host->sink_write(self->host, sink, outlet_text(text));
}

/* ---- configuration ------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static outlet_status refuse(const outlet_host *host,
                                                                  outlet_call call,
                                                                  const char *format, ...) {
    char text[256] = "configuration: ";
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    host->fail(host, call, outlet_text("bad-configuration"), outlet_text(text));
    return OUTLET_E_ARGUMENT;
}

/* Parses decimal digits; returns their number, 0 if there are none or more than nine. */
static uint64_t digits(const uint8_t *bytes, uint64_t length, int64_t *out) {
    uint64_t count = 0;
    *out = 0;
    while (count < length && bytes[count] >= '0' && bytes[count] <= '9') {
        if (count == 9) return 0;
        *out = *out * 10 + (bytes[count++] - '0');
    }
    return count;
}

/* Reads an integer setting; leaves `out` unchanged if it is not set. */
static outlet_status integer(const outlet_host *host, outlet_call call, const char *key,
                             int64_t low, int64_t high, int64_t *out) {
    outlet_view value;
    int64_t number;
    if (host->config_value(host, call, outlet_text(key), &value) != OUTLET_OK) return OUTLET_OK;
    if (digits(value.ptr, value.len, &number) != value.len || value.len == 0 || number < low ||
        number > high) {
        return refuse(host, call, "\"%s\": not a whole number from %lld to %lld", key,
                      (long long)low, (long long)high);
    }
    *out = number;
    return OUTLET_OK;
}

/* Reads the setting "statuses", an array of numbers. */
static outlet_status read_statuses(const outlet_host *host, outlet_call call,
                                   unsigned char *statuses) {
    outlet_view value;
    if (host->config_value(host, call, outlet_text("statuses"), &value) != OUTLET_OK) {
        statuses[429] = statuses[503] = 1;
        return OUTLET_OK;
    }
    for (uint64_t i = 0, count = 1; i < value.len; i += count) {
        int64_t status;
        count = 1;
        if (strchr("[], \t\r\n", value.ptr[i]) != NULL) continue;
        count = digits(value.ptr + i, value.len - i, &status);
        if (count == 0 || status < FIRST_STATUS || status > LAST_STATUS) {
            return refuse(host, call, "\"statuses\": not an array of statuses from 400 to 599");
        }
        statuses[status] = 1;
    }
    return OUTLET_OK;
}

/* The host has validated the configuration by the schema. */
static outlet_status configure(outlet_instance *self, const outlet_host *host, outlet_call call) {
    int64_t percent = 20, minimum = 10;
    self->max_attempts = 3;
    self->max_wait_ms = 60000;
    self->default_wait_ms = 500;
    outlet_status status = read_statuses(host, call, self->statuses);
    if (status == OUTLET_OK)
        status = integer(host, call, "max_attempts", 1, 11, &self->max_attempts);
    if (status == OUTLET_OK)
        status = integer(host, call, "max_wait_ms", 0, DAY_MS, &self->max_wait_ms);
    if (status == OUTLET_OK) {
        status = integer(host, call, "default_wait_ms", 0, DAY_MS, &self->default_wait_ms);
    }
    if (status == OUTLET_OK) status = integer(host, call, "budget_percent", 0, 1000, &percent);
    if (status == OUTLET_OK) {
        status = integer(host, call, "budget_min_per_second", 0, 1000000, &minimum);
    }
    if (status != OUTLET_OK) return status;
    self->budget.percent = (uint64_t)percent;
    self->budget.min_per_second = (uint64_t)minimum;
    outlet_view flag;
    if (host->config_value(host, call, outlet_text("all_methods"), &flag) != OUTLET_OK)
        return OUTLET_OK;
    self->all_methods = flag.len == 4 && memcmp(flag.ptr, "true", 4) == 0;
    return OUTLET_OK;
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
        free(self);
        return status;
    }
    pthread_mutex_init(&self->mutex, NULL);
    *out = self;
    return OUTLET_OK;
}

static const outlet_hooks hook_table = {
    .struct_size = sizeof(outlet_hooks), .prepare = prepare, .retry = retry};

static const outlet_hooks *hooks(outlet_instance *self) {
    (void)self;
    return &hook_table;
}

static void destroy(outlet_instance *self) {
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static const outlet_export export_budget = {sizeof(outlet_export),
                                            OUTLET_X_ANY_THREAD,
                                            OUTLET_TEXT("budget"),
                                            OUTLET_TEXT("e(o)"),
                                            OUTLET_TEXT("The state of the retry budget, as JSON."),
                                            (outlet_function)budget};

static const outlet_export *const exports[] = {&export_budget};

static const outlet_descriptor descriptor = {
    .struct_size = sizeof(outlet_descriptor),
    .flags = OUTLET_F_CONCURRENT | OUTLET_F_NONBLOCKING,
    .id = OUTLET_TEXT(PLUGIN_ID),
    .version = OUTLET_TEXT(PLUGIN_VERSION),
    .name = OUTLET_TEXT("Retry-After"),
    .summary = OUTLET_TEXT("Retries requests to overloaded servers, after the delay that they request."),
    .config_schema = OUTLET_TEXT(
        "{\"type\":\"object\",\"properties\":{"
        "\"statuses\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":400,"
        "\"maximum\":599}},"
        "\"max_attempts\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":11},"
        "\"max_wait_ms\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":86400000},"
        "\"default_wait_ms\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":86400000},"
        "\"all_methods\":{\"type\":\"boolean\"},"
        "\"budget_percent\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000},"
        "\"budget_min_per_second\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":1000000}},"
        "\"additionalProperties\":false}"),
    .exports = exports,
    .export_count = sizeof exports / sizeof exports[0],
    .create = create,
    .hooks = hooks,
    .destroy = destroy,
};

OUTLET_MODULE(descriptor)
