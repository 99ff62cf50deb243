/* outlet_fake_host.h - a host for the unit tests of a plugin in C: its hooks are called without Outlet.
 *
 *   outlet_fake_host *fake = outlet_fake_new();
 *   outlet_fake_set(fake, "header", "X-Test");
 *   outlet_instance *plugin = outlet_fake_create(fake, outlet_module_v1(OUTLET_ABI_MINOR)->descriptors[0]);
 *   outlet_request request = outlet_fake_request(fake, "GET", "http://test.example/");
 *   ... call a hook with request, outlet_fake_call(fake) and outlet_fake_completion(fake) ...
 *   assert(strcmp(outlet_fake_header(fake, request, "X-Test"), "seen") == 0);
 *
 * It records the plugin's calls and checks little: whether a plugin keeps to the contract is for
 * `outlet plugins check` to find. One thread at a time. Where memory ends, it calls abort(). */
#ifndef OUTLET_FAKE_HOST_H
#define OUTLET_FAKE_HOST_H

#include <outlet/outlet.h>

typedef struct outlet_fake_host outlet_fake_host;

/* Makes a host without settings, requests and services. */
outlet_fake_host *outlet_fake_new(void);

/* Frees it with all that it has given out. */
void outlet_fake_free(outlet_fake_host *fake);

/* The table that plugins are given. */
const outlet_host *outlet_fake_table(outlet_fake_host *fake);

/* Sets what config_value answers for a key, in create. */
void outlet_fake_set(outlet_fake_host *fake, const char *key, const char *value);

/* Makes an instance; NULL where create fails. The configuration's own text is "{}". */
outlet_instance *outlet_fake_create(outlet_fake_host *fake, const outlet_descriptor *descriptor);

/* A call for a hook; forgets the last failure. */
outlet_call outlet_fake_call(outlet_fake_host *fake);

/* What was given to fail, or settled with, last: "code: message"; "" for nothing. Valid until the next. */
const char *outlet_fake_failure(outlet_fake_host *fake);

/* A request that can be changed, without headers, body and attributes. */
outlet_request outlet_fake_request(outlet_fake_host *fake, const char *method, const char *url);

/* A response that can be replaced; status 0 is a failure, of the code "timedOut". */
outlet_response outlet_fake_response(outlet_fake_host *fake, int32_t status, const char *body);

/* Adds a header to a response. For requests the table has request_add_header. */
void outlet_fake_add_header(outlet_fake_host *fake, outlet_response response, const char *name,
                            const char *value);

/* The first value of a request's header, NUL-terminated; NULL where there is none. Valid until a change. */
const char *outlet_fake_header(outlet_fake_host *fake, outlet_request request, const char *name);

/* What a request was answered with, or a response replaced by; 0 for nothing. */
int32_t outlet_fake_answer(outlet_fake_host *fake, uint64_t id);

/* A completion for a hook. */
outlet_completion outlet_fake_completion(outlet_fake_host *fake);

/* How often a completion was settled: once where the plugin is right. */
int outlet_fake_settled(outlet_fake_host *fake, outlet_completion completion);

/* What it was settled with: a status, or a verdict. */
int32_t outlet_fake_result(outlet_fake_host *fake, outlet_completion completion);

/* How many lines were logged, and how often quiesced was called. */
int outlet_fake_logged(outlet_fake_host *fake);
int outlet_fake_quiesced(outlet_fake_host *fake);

#endif
