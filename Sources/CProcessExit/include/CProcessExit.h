/*
 * CProcessExit.h - Replaces functions of the C library in a program: those that end, replace or copy the process,
 * send it a signal, or open or close descriptors, to report plugins that call them; pthread_create() and thrd_create(), to
 * know the threads that plugins start; and sigaction(), signal(), sigaltstack(), pthread_sigmask(), siglongjmp(),
 * setcontext() and the like, so that crashes are reported also after a plugin has called them.
 *
 * Has no declarations: linking this module replaces the functions. For executables only.
 */
#ifndef CPROCESSEXIT_H
#define CPROCESSEXIT_H

#endif
