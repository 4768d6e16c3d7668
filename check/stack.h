/*
 * The stack on which a call runs, and what is on it when the call asks for an answer. Together with
 * the machine's registers and the process's own memory that is all that the code can depend on.
 */
#ifndef BATON_CHECK_STACK_H
#define BATON_CHECK_STACK_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_NOTED_BYTES = 8192 };

/* Calls it on that stack, the same one each time. It must not return, but leave by longjmp. */
void stack_run(void (*call)(void));
/* Notes the stack of whoever calls this, and what its callers keep in the machine's registers. */
void stack_note(void);
/* What was noted last, and how much; 0 if that could not be noted. */
size_t stack_noted(uint8_t bytes[MAX_NOTED_BYTES]);

#endif
