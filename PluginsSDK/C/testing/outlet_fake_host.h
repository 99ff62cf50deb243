/* outlet_fake_host.h - a fake host, with which the unit tests of a C plugin call its hooks without
 * Outlet.
 *
 *   outlet_fake_host *fake = outlet_fake_new();
 *   outlet_fake_set(fake, "header", "X-Test");
 *   outlet_instance *plugin =
 *       outlet_fake_create(fake, outlet_module_v1(OUTLET_ABI_MINOR)->descriptors[0]);
 *   outlet_request request = outlet_fake_request(fake, "GET", "http://test.example/");
 *   ... call a hook with request, outlet_fake_call(fake) and outlet_fake_completion(fake) ...
 *   assert(strcmp(outlet_fake_header(fake, request, "X-Test"), "seen") == 0);
 *
 * It records the plugin's calls, and refuses what Outlet refuses in prepare, adapt and process: arguments above
 * the limits of the headers, null pointers with a length, texts that are not UTF-8; methods, URLs, header fields,
 * attributes, answers, reasons and log lines that are not valid, also because there are too many; send and start
 * in outlet_fake_create. As in Outlet, a field that is set keeps the place of the first one of its name, and
 * responses have no fields of the transport.
 *
 * A handle of another kind and a copy of the table get OUTLET_E_STALE, with a line on standard error. A function
 * of this file that cannot go on prints why and calls abort(), as without memory.
 *
 * It does not check:
 * - what depends on the hook that runs, which it does not know: changes in will_send, the function that settles
 *   a completion, slots of plugins without request_done, threads;
 * - handles after the end of their hook or call, and what follows a completion that is settled;
 * - permissions, deadlines, the number of log lines, verdicts and statuses;
 * - of URLs: whether percent signs, addresses and names outside of ASCII are valid. They stay as they are set:
 *   Outlet escapes what must be.
 *
 * `outlet plugins check` tests whether a plugin follows the contract. Only one thread at a time may use the fake
 * host, except that the services of a plugin may be used on any thread.
 *
 * Views are copies without a NUL behind them, and it frees them as early as Outlet may: those of config_value
 * and of outlet_config when create or reconfigure ends, others when the test begins the next call
 * (outlet_fake_call, outlet_fake_begin_configuring). So a test that is compiled with -fsanitize=address shows
 * where a plugin keeps a view that it should have copied. While a request or a timer of the plugin's runs, a
 * hook may be pending, and no call frees its views; see outlet_fake_keep_views for other pending hooks. */
#ifndef OUTLET_FAKE_HOST_H
#define OUTLET_FAKE_HOST_H

#include <outlet/outlet.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct outlet_fake_host outlet_fake_host;

/* Makes a host without settings, requests and services; see outlet_fake_offer. */
outlet_fake_host *outlet_fake_new(void);

/* Frees the host and everything that it has returned. */
void outlet_fake_free(outlet_fake_host *fake);

/* Returns the host's table, to pass to the plugin. */
const outlet_host *outlet_fake_table(outlet_fake_host *fake);

/* Sets the value that config_value returns for a key in create and reconfigure; in other calls it returns
 * OUTLET_E_STATE, as in Outlet. */
void outlet_fake_set(outlet_fake_host *fake, const char *key, const char *value);

/* Sets outlet_config.json of create and reconfigure; "{}" at first. config_value does not read it. */
void outlet_fake_set_json(outlet_fake_host *fake, const char *json);

/* Keeps all views until the fake host is freed; for a test that begins a call while a hook is pending on a
 * thread of the plugin's own, of which the fake host does not know. */
void outlet_fake_keep_views(outlet_fake_host *fake);

/* Makes an instance; returns NULL if create fails. */
outlet_instance *outlet_fake_create(outlet_fake_host *fake, const outlet_descriptor *descriptor);

/* Calls the descriptor's reconfigure, which must not be null, and returns its status. */
outlet_status outlet_fake_reconfigure(outlet_fake_host *fake, const outlet_descriptor *descriptor,
                                      outlet_instance *instance);

/* Makes a call for create or reconfigure, which a test calls itself, and ends it when that has returned. Both
 * functions above do this. The first clears the last failure. */
outlet_call outlet_fake_begin_configuring(outlet_fake_host *fake);
void outlet_fake_end_configuring(outlet_fake_host *fake);

/* Makes a call for a hook, and clears the last failure. */
outlet_call outlet_fake_call(outlet_fake_host *fake);

/* Returns the last failure that was passed to fail or settled with, as "code: message"; "" if there
 * is none. Valid until the next failure. */
const char *outlet_fake_failure(outlet_fake_host *fake);

/* Makes a request that can be changed, without headers, body and attributes. */
outlet_request outlet_fake_request(outlet_fake_host *fake, const char *method, const char *url);

/* Sets an attribute of a request, also one that plugins cannot set, such as "target.name". */
void outlet_fake_set_attr(outlet_fake_host *fake, outlet_request request, const char *key,
                          const char *value);

/* Makes a response that can be replaced; status 0 makes a failure with the code "timedOut". */
outlet_response outlet_fake_response(outlet_fake_host *fake, int32_t status, const char *body);

/* Adds a header to a response. For requests, use request_add_header of the table. */
void outlet_fake_add_header(outlet_fake_host *fake, outlet_response response, const char *name,
                            const char *value);

/* Replaces the body of a response, which may contain any bytes. */
void outlet_fake_set_body(outlet_fake_host *fake, outlet_response response, outlet_view body);

/* Returns the first value of a request's header, NUL-terminated; NULL if there is none. Valid until
 * the request changes. */
const char *outlet_fake_header(outlet_fake_host *fake, outlet_request request, const char *name);

/* Returns the status that a request was answered with or a response replaced by; 0 if there is
 * none. */
int32_t outlet_fake_answer(outlet_fake_host *fake, uint64_t id);

/* Returns the response that a request was answered with; its id is 0 if there is none. It can be read
 * with the functions of the table, as can a response that was replaced. */
outlet_response outlet_fake_answered(outlet_fake_host *fake, outlet_request request);

/* Makes a completion for a hook. */
outlet_completion outlet_fake_completion(outlet_fake_host *fake);

/* Returns how often a completion was settled, which must be once. */
int outlet_fake_settled(outlet_fake_host *fake, outlet_completion completion);

/* Returns the status or verdict that a completion was settled with. */
int32_t outlet_fake_result(outlet_fake_host *fake, outlet_completion completion);

/* Makes a sink, for serialize, the pieces of a stream and exported functions. */
outlet_sink outlet_fake_sink(outlet_fake_host *fake);

/* Returns the bytes that were written to a sink of outlet_fake_sink, followed by a NUL that is not
 * counted. Valid until the next bytes are written. */
outlet_view outlet_fake_written(outlet_fake_host *fake, outlet_sink sink);

/* Return the number of logged lines, and of calls of quiesced. */
int outlet_fake_logged(outlet_fake_host *fake);
int outlet_fake_quiesced(outlet_fake_host *fake);

/* ---- services: the test ends what the plugin has started ------------------------------------- */

/* Offers OUTLET_HTTP_1 or OUTLET_TIMER_1 to the plugin; there is no fake of other services, for which it
 * prints a message and calls abort(). */
void outlet_fake_offer(outlet_fake_host *fake, const char *service);

/* Returns the nth request, from 0, that the plugin has sent; its id is 0 if there is none. It can be
 * read with the functions of the table. */
outlet_request outlet_fake_sent(outlet_fake_host *fake, size_t nth);

/* Ends the nth request: calls its `done` with a response of outlet_fake_response; with the error
 * "cancelled" instead, if the plugin has cancelled the request. Returns 0 if it has ended before or
 * there is none. */
int outlet_fake_respond(outlet_fake_host *fake, outlet_instance *instance, size_t nth,
                        outlet_response response);

/* Called at the end of `send`, with the number of the request; must not call outlet_fake_respond. */
typedef void (*outlet_fake_observer)(void *context, size_t nth);

/* Sets what is called for each request that the plugin sends, for tests that answer them on another
 * thread. */
void outlet_fake_when_sent(outlet_fake_host *fake, outlet_fake_observer observer, void *context);

/* Moves the clock of timers, which starts at 0 and stands still otherwise: calls `done` of those that
 * are cancelled, and of those that are due, in the order of the times at which they are due. Meanwhile the
 * clock shows that time, so a timer that `done` starts anew may end again in the same call. Returns how many
 * ended; at 100,000, the clock stops where the last one has ended. */
size_t outlet_fake_advance(outlet_fake_host *fake, outlet_instance *instance,
                           uint64_t nanoseconds);

#if defined(__cplusplus)
}
#endif

#endif
