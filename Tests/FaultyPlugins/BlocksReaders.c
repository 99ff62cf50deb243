/* Its prepare passes a header field whose value lies in memory that cannot be read, and handles SIGSEGV by
 * waiting for ever, as some debugging aids do. */
#include "faulty.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static void wait_for_ever(int signal) {
    (void)signal;
    for (;;) pause();
}

PREPARE {
    (void)call, (void)completion;
    const outlet_view value = {mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8};
    signal(SIGSEGV, wait_for_ever);
    return self->host->request_set_header(self->host, request, outlet_text("X-A"), value);
}

PREPARES("faulty.blocks-readers")
