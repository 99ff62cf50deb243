/* Its prepare prints to standard output, with a control sequence for a terminal. The checker must
 * report it, and escape the sequence. */
#include "faulty.h"
#include <stdio.h>

PREPARE {
    (void)self, (void)call, (void)request, (void)completion;
    puts("\x1b[31mprinted by a plugin");
    return OUTLET_OK;
}
PREPARES("faulty.prints")
