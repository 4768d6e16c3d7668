/* `baton run`: the command is dead, and the lock is left; or it was lost before. */
#include "cli.h"
#include "run.h"

#include <unistd.h>

int run_leave(run *r)
{
    if (r->guard >= 0)
        close(r->guard); /* before the lock is free, or the next holder would find it locked */
    bool left = baton_client_exit(r->client, r->name, r->token) == BATON_OK;
    baton_client_close(r->client);
    if (left && !r->lost)
        return r->code;
    run_say(r, "%s was lost; another may have held it since", r->name);
    if (r->on_lost != NULL)
        run_shell(r, r->on_lost);
    /* One that had failed by itself before has failed; whether a success was one is not known. */
    return !r->lost && r->code != 0 ? r->code : EXIT_LOST;
}
