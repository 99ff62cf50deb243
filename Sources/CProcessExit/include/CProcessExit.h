/*
 * CProcessExit.h - Replaces exit(), _exit(), _Exit(), daemon() and pthread_create() in a program, to report plugins
 * that call them, and to know the threads that plugins start.
 *
 * Has no declarations: linking this module replaces the functions. For executables only.
 */
#ifndef CPROCESSEXIT_H
#define CPROCESSEXIT_H

#endif
