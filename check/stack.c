/*
 * Calls run on a stack of their own, which begins at the same address, empty, and with the same
 * machine registers every time. So if two calls have the same bytes on it and the same registers,
 * they are at the same place of the code with the same values, and go on alike.
 *
 * Bytes that no longer matter count as well: two that would go on alike may look different, never
 * the other way round. What the compiler leaves behind is a matter of speed, not of truth.
 */
#include "stack.h"

#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

/* The sanitizers keep variables elsewhere, and do not know of other stacks. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { HAS_STACK = 0 };
#else
enum { HAS_STACK = 1 };
#endif

/* CLEARED: as far down as calls usually come; what they leave there would only make differences. */
enum { STACK_BYTES = 1 << 18, CLEARED = 1 << 14 };

static _Alignas(64) char stack[STACK_BYTES];
static uint8_t noted[MAX_NOTED_BYTES];
static size_t noted_bytes;

void stack_run(void (*call)(void))
{
    static ucontext_t start; /* taken once: what is in the machine's registers then stays */
    ucontext_t now;
    noted_bytes = 0;
    if (!HAS_STACK) {
        call();
        return;
    }
    if (start.uc_stack.ss_sp == NULL) {
        getcontext(&start);
        start.uc_stack.ss_sp = stack;
        start.uc_stack.ss_size = sizeof stack;
        start.uc_link = NULL;
    }
    now = start;
    memset(stack + STACK_BYTES - CLEARED, 0, CLEARED);
    makecontext(&now, call, 0);
    setcontext(&now);
}

/* From the frame of this function on: all of those who have called it. */
static __attribute__((noinline)) void note_with(const jmp_buf *registers)
{
    const char *from = __builtin_frame_address(0);
    size_t bytes = (size_t)(stack + STACK_BYTES - from);
    if (bytes + sizeof *registers > sizeof noted)
        return;
    memcpy(noted, registers, sizeof *registers);
    memcpy(noted + sizeof *registers, from, bytes);
    noted_bytes = sizeof *registers + bytes;
}

void stack_note(void)
{
    jmp_buf registers; /* a register that must survive a call is in here, or was saved on the way */
    memset(&registers, 0, sizeof registers);
    noted_bytes = 0;
    if (HAS_STACK && setjmp(registers) == 0)
        note_with((const jmp_buf *)&registers);
}

size_t stack_noted(uint8_t bytes[MAX_NOTED_BYTES])
{
    memcpy(bytes, noted, noted_bytes);
    return noted_bytes;
}
