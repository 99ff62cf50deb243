/*
 * CProcessExit.h - Replaces _exit() and _Exit() in a program, to report plugins that call them.
 *
 * Has no declarations: linking this module replaces the functions. For executables only.
 */
#ifndef CPROCESSEXIT_H
#define CPROCESSEXIT_H

#endif
