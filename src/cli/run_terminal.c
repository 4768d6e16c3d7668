/*
 * `baton run`: the terminal, if there is one. The command leads a group of its own, which the shell
 * does not know: the shell gives the terminal to our group, and this one passes it on.
 */
#include "run.h"

#include <fcntl.h>
#include <unistd.h>

/* Whatever standard input is: a command may ask for a password at the terminal itself. */
static bool pass_terminal(pid_t from, pid_t to)
{
    int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal < 0)
        return false;
    bool passed = tcgetpgrp(terminal) == from && tcsetpgrp(terminal, to) == 0;
    close(terminal);
    return passed;
}

bool give_terminal(run *r)
{
    bool given = pass_terminal(getpgrp(), r->leader);
    r->has_terminal = r->has_terminal || given;
    return given;
}

bool take_terminal_back(const run *r)
{
    return r->has_terminal && pass_terminal(r->leader, getpgrp());
}

/*
 * The shell that waits for us shall see that the job is stopped, and continues us when it is
 * wanted. Where no shell does, in an orphaned group, SIGTTIN stops nobody.
 */
void terminal_stop(run *r, int number)
{
    bool wants_it = number == SIGTTIN || number == SIGTTOU;
    if (wants_it && give_terminal(r)) {
        kill(-r->leader, SIGCONT);
    } else if (r->has_terminal) {
        take_terminal_back(r);
        kill(0, SIGSTOP);
    } else if (wants_it) {
        kill(0, SIGTTIN);
    }
}
