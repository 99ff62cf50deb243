#define _GNU_SOURCE
#include "report.h"
#include "CPluginWatch.h"
#include "noted.h"
#include "process.h"
#include "raw.h"
#include "text.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Where reports are written. */
static atomic_int output = STDERR_FILENO;
/* The pipe that is emptied before a report; -1 for none. */
static atomic_int input = -1;
/* The files of the descriptors above. */
static uint64_t output_file, input_file;

void watch_set_output(int descriptor, int reader) {
    output_file = raw_file(descriptor);
    input_file = raw_file(reader);
    atomic_store(&output, descriptor);
    atomic_store(&input, reader);
}

/* Writes to the descriptor. If a plugin has closed that, or has made it another file: to stderr, or, where that is a
 * pipe of the program's, to the terminal. */
static void write_all(const char *text, size_t length) {
    int descriptor = atomic_load(&output);
    if (!raw_is_file(descriptor, output_file)) {
        descriptor = STDERR_FILENO;
        if (atomic_load(&input) >= 0 && !raw_is_file(descriptor, output_file)) {
            descriptor = raw_open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
        }
    }
    raw_write(descriptor, text, length);
}

/* Whether the program is copying what was in the pipe. */
static atomic_bool is_copying;

void cpluginwatch_set_copying(bool copies) { atomic_store(&is_copying, copies); }

/* Waits until the program has written what it has read from the pipe; not for ever, because the terminal may not
 * accept anything. */
static void await_copying(void) {
    for (int i = 0; i < 200 && atomic_load(&is_copying); i++) raw_wait_millisecond();
}

void watch_report_line(char *line) {
    char text[line_size];
    int pipe = atomic_load(&input);
    await_copying();
    /* At most what the pipe holds: a plugin that goes on writing must not hold the report up. */
    for (int i = 0; i < 65536 / line_size && raw_is_file(pipe, input_file); i++) {
        long count = raw_read(pipe, text, sizeof text);
        if (count <= 0) break;
        for (long k = 0; k < count; k++) {
            if ((text[k] < ' ' || text[k] > '~') && text[k] != '\n') text[k] = '?';
        }
        write_all(text, (size_t)count);
    }
    await_copying();
    size_t length = strlen(line);
    line[length++] = '\n';
    write_all(line, length);
}

static void append_hook(char *line, const struct call *call) {
    watch_append(line, call->hook);
    watch_append(line, call->subject[0] ? " of " : "");
    watch_append(line, call->subject);
}

static void append_plugin(char *line, const char *plugin) {
    watch_append(line, "plugin ");
    watch_append(line, plugin);
    watch_append(line, ": ");
}

/* Appends the calls that were found, each with its plugin unless that is known. */
static void append_found(char *line, const struct found *found, bool is_plugin_known) {
    for (int i = 0; i < found->count && i < named_limit; i++) {
        if (i > 0) watch_append(line, "; ");
        watch_append(line, is_plugin_known ? "" : found->calls[i].plugin);
        watch_append(line, is_plugin_known ? "" : " in ");
        append_hook(line, &found->calls[i]);
        watch_append(line, found->are_cancelled ? " (cancelled)" : "");
    }
}

/* Appends that something happened in a thread that is in no hook, and which hooks run in others: one of them may have
 * caused it, as by a timer. */
static void append_outside(char *line) {
    struct found found;
    watch_find_calls(NULL, &found);
    watch_append(line, " outside of ");
    watch_append(line, found.count > 0 ? "the running hooks: " : "every hook: ");
    watch_append(line, "in a thread of a plugin's, or in the program");
    if (found.count > 0) {
        watch_append(line, found.count > 1 ? "; the running hooks are " : "; the running hook is ");
        append_found(line, &found, false);
        if (found.count > named_limit || !watch_lists_all_calls()) watch_append(line, " and others");
    }
    watch_append_noted(line, "; the plugins are ", NULL);
}

/* Appends what happened in a thread that a plugin has started. The thread may work for any plugin of its library: a
 * plugin is named first only if it is known. */
static void append_thread(char *line, const struct call *thread, const char *what, const char *name) {
    struct found found;
    watch_find_calls(&thread->library, &found);
    bool is_whole = watch_lists_all_calls(), is_only = watch_count_noted(thread->library) <= 1;
    const char *plugin = is_whole && found.plugin[0] ? found.plugin : is_only ? thread->plugin : NULL;
    if (plugin) append_plugin(line, plugin);
    watch_append(line, what);
    watch_append(line, name);
    watch_append(line, " in a thread that ");
    watch_append(line, plugin && strcmp(plugin, thread->plugin) == 0 ? "it" : thread->plugin);
    watch_append(line, " started in ");
    watch_append(line, thread->hook);
    if (found.count > 0) watch_append(line, ", during ");
    if (found.count > 1 || (found.count > 0 && !is_whole)) {
        watch_append(line, "one of ");
        watch_append_number(line, (unsigned)found.count);
        watch_append(line, is_whole ? " hooks: " : " or more hooks: ");
    }
    append_found(line, &found, plugin != NULL);
    if (!plugin && !(is_whole && found.count > 0)) {
        watch_append_noted(line, "; the plugins of its library are ", &thread->library);
    }
}

/* Makes the line of a report: the plugin, what happened, and the hook. */
static void compose(char *line, const struct call *call, const char *what, const char *name) {
    if (call && call->is_thread) {
        append_thread(line, call, what, name);
        return;
    }
    if (call) append_plugin(line, call->plugin);
    watch_append(line, what);
    watch_append(line, name);
    if (call) {
        watch_append(line, " in ");
        append_hook(line, call);
    } else if (watch_expects_exit()) {
        watch_append(line, " while the program ends: in an exit handler, a destructor or a thread of a plugin's");
    } else {
        append_outside(line);
    }
}

/* Writes one line about a call; NULL for none. */
static void report_call(const struct call *call, const char *what, const char *name) {
    char line[line_size] = "outlet: ";
    compose(line, call, what, name);
    watch_report_line(line);
}

static const struct call *reported_call(void) {
    return watch_storage_is_whole() ? watch_current_call() : watch_recorded_call(raw_thread());
}

enum { fact_limit = 32 };

/* What was reported. */
struct facts {
    atomic_uint count;
    struct {
        cpluginwatch_fact fact;
        atomic_bool is_whole;
    } all[fact_limit];
};

/* In memory that copies of the process share, because a copy may report itself; NULL if there is none. */
static struct facts *facts;

void watch_make_facts(void) {
    void *memory = mmap(NULL, sizeof *facts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) facts = memory;
}

static void note_fact(const struct call *call, const char *what, const char *name, bool is_copy) {
    if (!facts) return;
    unsigned index = atomic_fetch_add(&facts->count, 1);
    if (index >= fact_limit) return;
    cpluginwatch_fact *fact = &facts->all[index].fact;
    if (call) {
        watch_copy_text(fact->plugin, sizeof fact->plugin, call->plugin);
        watch_copy_text(fact->hook, sizeof fact->hook, call->hook);
    }
    watch_copy_text(fact->text, sizeof fact->text, what);
    size_t length = strlen(fact->text);
    watch_copy_text(fact->text + length, sizeof fact->text - length, name);
    fact->is_copy = is_copy;
    atomic_store(&facts->all[index].is_whole, true);
}

size_t cpluginwatch_facts(cpluginwatch_fact *list, size_t count) {
    size_t found = 0;
    for (unsigned i = 0; facts && i < fact_limit && found < count; i++) {
        if (atomic_load(&facts->all[i].is_whole)) list[found++] = facts->all[i].fact;
    }
    return found;
}

void watch_report(const char *what, const char *name) {
    const struct call *call = reported_call();
    note_fact(call, what, name, false);
    report_call(call, what, name);
}

void watch_report_copy(const char *what, const char *name) {
    const struct call *call = reported_call();
    note_fact(call, what, name, true);
    report_call(call, what, name);
}

/* The thread that writes, or has written, the line about the end of the process; 0 for none. */
static atomic_int ending_thread;
/* How far it is. */
static atomic_int ending_stage;
enum { is_unwritten, is_written_again, is_line_written };
/* The signal of a crash that it reports. */
static atomic_int ending_signal;
/* How long other threads wait for it, in milliseconds: a terminal may not accept anything. */
enum { ending_wait = 5000 };

/* Whether the calling thread has to write the line about the end of the process. If another thread does, waits for the
 * end, and returns false if that does not come. */
static bool begins_end(void) {
    pid_t self = raw_thread();
    for (int i = 0; i < ending_wait; i++) {
        int other = 0;
        if (atomic_compare_exchange_strong(&ending_thread, &other, self)) return true;
        if (other == self) return false;
        // It was in a process of which this one is a copy, or which shares its memory.
        if (raw_signal(other, 0) == -ESRCH) atomic_compare_exchange_strong(&ending_thread, &other, 0);
        raw_wait_millisecond();
    }
    return false;
}

void watch_report_end(const char *what, const char *name) {
    if (!begins_end()) return;
    report_call(reported_call(), what, name);
    atomic_store(&ending_stage, is_line_written);
}

bool watch_report_end_in(const struct call *call, const char *what, const char *name) {
    if (!begins_end()) return false;
    report_call(call, what, name);
    atomic_store(&ending_stage, is_line_written);
    return true;
}

bool watch_is_reporting_end(void) { return atomic_load(&ending_thread) == raw_thread(); }

enum { name_size = 32 };

/* The name of a signal. */
static const char *signal_name(int number, char buffer[name_size]) {
    const char *abbreviation = sigabbrev_np(number);
    if (!abbreviation) return "a real-time signal";
    size_t length = strlen(abbreviation);
    if (length > name_size - 4) length = name_size - 4;
    memcpy(buffer, "SIG", 3);
    memcpy(buffer + 3, abbreviation, length);
    buffer[length + 3] = 0;
    return buffer;
}

void watch_report_signal(const char *what, int number) {
    char buffer[name_size];
    watch_report(what, signal_name(number, buffer));
}

void watch_report_end_by_signal(const char *what, int number) {
    char buffer[name_size];
    watch_report_end(what, signal_name(number, buffer));
}

int watch_report_crash(int number) {
    static const char what[] = "has crashed with ";
    char buffer[name_size];
    if (begins_end()) {
        atomic_store(&ending_signal, number);
        report_call(reported_call(), what, signal_name(number, buffer));
        atomic_store(&ending_stage, is_line_written);
        return number;
    }
    if (!watch_is_reporting_end()) return number;
    int first = atomic_load(&ending_signal), unwritten = is_unwritten;
    if (first != 0) number = first;
    if (atomic_compare_exchange_strong(&ending_stage, &unwritten, is_written_again)) {
        report_call(watch_recorded_call(raw_thread()), what, signal_name(number, buffer));
        atomic_store(&ending_stage, is_line_written);
    }
    return number;
}

void watch_bind_functions(void) {
    static const struct call call = {.plugin = "a", .hook = "b", .is_thread = true};
    char line[line_size] = "", name[name_size];
    compose(line, &call, "", signal_name(SIGSEGV, name));
    (void)watch_recorded_call(raw_thread());
}
