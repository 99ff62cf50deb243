/*
 * CProcessExit.h - Replaces functions of the C library in a program: those that end or replace the process, or send
 * it a signal, to report plugins that call them; pthread_create(), to know the threads that plugins start; and
 * sigaction(), signal() and sigaltstack(), so that crashes are reported also after a plugin has called them.
 *
 * Has no declarations: linking this module replaces the functions. For executables only.
 */
#ifndef CPROCESSEXIT_H
#define CPROCESSEXIT_H

#endif
