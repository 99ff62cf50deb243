/*
 * CProcessExit.h - _exit() and _Exit() of a program whose plugins are not to end it unnamed.
 *
 * For executables only: whatever links it has them in the place of the C library's.
 */
#ifndef CPROCESSEXIT_H
#define CPROCESSEXIT_H

#endif
