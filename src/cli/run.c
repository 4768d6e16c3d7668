/* `baton run`: the walk. Each line is a step, and each step has its file; see run.h. */
#include "run.h"
#include "cli.h"
#include "run_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A private server that ended while we came, or was killed while we waited, is started again. */
enum { ATTEMPTS = 5 };

void run_say(const run *r, const char *format, ...)
{
    va_list arguments;
    if (r->quiet)
        return;
    va_start(arguments, format);
    fputs("baton run: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static bool is_worth_another_try(const run *r, int result)
{
    return result == BATON_LOST || (result == BATON_UNREACHABLE && r->is_private);
}

/* Connects, and waits for the lock. BATON_OK, or what came out last. */
static int hold_lock(run *r)
{
    int result = BATON_LOST;
    r->began = monotonic_ms();
    for (int i = 0; i < ATTEMPTS && is_worth_another_try(r, result); i++) {
        result = run_connect(r);
        if (result == BATON_OK)
            result = run_enter(r);
    }
    return result;
}

static bool set_environment(const run *r)
{
    char token[24];
    snprintf(token, sizeof token, "%llu", (unsigned long long)r->token);
    return setenv("BATON_LOCK", r->name, 1) == 0 && setenv("BATON_TOKEN", token, 1) == 0 &&
           setenv("BATON_AT", r->at, 1) == 0 &&
           (r->session != NULL ? setenv("BATON_SESSION", session_path(r->session), 1)
                               : unsetenv("BATON_SESSION")) == 0;
}

/* The command runs, from its birth to its death. */
static void run_command(run *r)
{
    r->code = EXIT_FAILED;
    r->session = session_begin(r);
    if (set_environment(r)) {
        if (run_fork(r)) {
            run_guard(r);
            if (run_open_gate(r))
                run_keep(r);
        }
        run_bury(r);
    }
    session_over(r->session);
}

static int walk(run *r, char **argv)
{
    if (!run_options(r, argv) || !run_find_server(r) || !run_command_exists(r))
        return r->code;
    run_hold_signals(r);
    int result = hold_lock(r);
    if (result != BATON_OK)
        return run_refused(r, result);
    run_command(r);
    return run_leave(r);
}

int cmd_run(char **argv)
{
    static run r = {
        .timeout = RUN_NOT_GIVEN, .lease = RUN_NOT_GIVEN, .grace = RUN_NOT_GIVEN, .guard = -1};
    int code = walk(&r, argv);
    free(r.password);
    if (r.fatal != 0 && code == r.code)
        run_end_likewise(&r);
    return code;
}
