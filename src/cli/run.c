/* `baton run`: reads the command line, waits for the lock, and lets the command run. */
#include "run.h"
#include "cli.h"
#include "places.h"
#include "run_session.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void help(void)
{
    puts(
        "Usage: baton run NAME [OPTION...] -- COMMAND [ARGUMENT...]\n"
        "Runs COMMAND while holding the lock NAME. Nobody else holds it meanwhile.\n"
        "\n"
        "  --at ADDR[,ADDR...]   server, HOST:PORT or the path of a Unix socket, or the nodes of "
        "a\n"
        "                        cluster ($BATON_AT; else a server for this user alone, started\n"
        "                        by itself)\n"
        "  --try                 do not wait for the lock\n"
        "  --timeout S           wait so many seconds at most (for ever, in order of arrival)\n"
        "  --lease S             a holder that is silent for so long has lost the lock; 0: never\n"
        "                        (10; of a cluster 3)\n"
        "  --grace S             from TERM to KILL when the lock is lost (a quarter of the lease;\n"
        "                        of a cluster 0.1)\n"
        "  --on-lost COMMAND     then run this by the shell\n"
        "  --password-file FILE  its first line is the server's password\n"
        "                        ($BATON_PASSWORD_FILE)\n"
        "  -q, --quiet           no messages but about wrong usage\n"
        "  -h, --help            this help\n"
        "\n"
        "COMMAND finds BATON_LOCK, BATON_TOKEN and BATON_AT in its environment, and if the lock "
        "is\n"
        "of a cluster, BATON_SESSION, for 'baton issue'.\n"
        "Exit code: that of COMMAND, or 128 + n if signal n ended it; 64 wrong usage,\n"
        "69 no server, 75 not acquired, 76 lost, 126 not executable, 127 not found.");
}

enum { AT = 256, TRY, TIMEOUT, LEASE, GRACE, ON_LOST, PASSWORD };

static const struct option options[] = {
    {"at", required_argument, NULL, AT},
    {"try", no_argument, NULL, TRY},
    {"timeout", required_argument, NULL, TIMEOUT},
    {"lease", required_argument, NULL, LEASE},
    {"grace", required_argument, NULL, GRACE},
    {"on-lost", required_argument, NULL, ON_LOST},
    {"password-file", required_argument, NULL, PASSWORD},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Milliseconds; what the command line says. */
static const uint64_t DAY = (uint64_t)86400 * 1000;
static const uint64_t NOT_GIVEN = UINT64_MAX;
static const uint64_t USUAL_LEASE = 10000;
static const uint64_t GRACE_WITHOUT_LEASE = 5000;
/*
 * A cluster takes a lock from a node that died after about 0.4 s. The lease is long enough to go on
 * at another node then; but if this cannot be, the command should not run for much longer.
 */
static const uint64_t CLUSTER_LEASE = 3000, CLUSTER_GRACE = 100;
static const int64_t REMARK_AFTER = 2000;
enum { ATTEMPTS = 5, GUARD_PAUSE = 10 };

typedef struct request {
    run_job job;
    const char *at;
    const char *password_file;
    const char *on_lost;
    uint64_t timeout, lease, grace;
    bool try, quiet;
    bool private;
    int guard;            /* of a private server, while the lock is held */
    run_session *session; /* of a cluster, while the lock is held */
} request;

static void say(const request *r, const char *what, const char *why)
{
    if (!r->quiet)
        fprintf(stderr, "baton run: %s%s\n", what, why);
}

/* ---- a remark for those who wait at a terminal ---- */

typedef struct remark {
    const char *name;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    pthread_t thread;
    bool over;
    bool started;
} remark;

static void *remark_later(void *context)
{
    remark *m = context;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += REMARK_AFTER / 1000;
    pthread_mutex_lock(&m->mutex);
    while (!m->over && pthread_cond_timedwait(&m->change, &m->mutex, &at) != ETIMEDOUT)
        ;
    if (!m->over)
        fprintf(stderr, "baton run: waiting for %s ...\n", m->name);
    pthread_mutex_unlock(&m->mutex);
    return NULL;
}

static void remark_begin(remark *m, const request *r)
{
    *m = (remark){.name = r->job.name};
    if (r->quiet || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->change, NULL);
    m->started = pthread_create(&m->thread, NULL, remark_later, m) == 0;
}

static void remark_end(remark *m)
{
    if (!m->started)
        return;
    pthread_mutex_lock(&m->mutex);
    m->over = true;
    pthread_cond_signal(&m->change);
    pthread_mutex_unlock(&m->mutex);
    pthread_join(m->thread, NULL);
}

/* ---- the lock ---- */

static int64_t left_of(const request *r, int64_t began)
{
    if (r->timeout == NOT_GIVEN)
        return -1;
    int64_t left = (int64_t)r->timeout - (monotonic_ms() - began);
    return left > 0 ? left : 0;
}

/* Of a private server only: who held the lock under a server that was killed may still be dying. */
static int pass_guard(request *r, int64_t began)
{
    for (;;) {
        r->guard = private_guard(r->at, r->job.name);
        if (r->guard >= 0)
            return BATON_OK;
        if (r->guard != GUARD_HELD)
            return BATON_SYSTEM;
        if (r->try || left_of(r, began) == 0)
            return BATON_BUSY;
        if (!baton_client_holds(r->job.client, r->job.name, r->job.token))
            return BATON_LOST;
        nanosleep(&(struct timespec){.tv_nsec = GUARD_PAUSE * 1000000L}, NULL);
    }
}

/* What was not asked for depends on whether it is a cluster. */
static void settle_times(request *r, bool is_cluster)
{
    uint64_t lease = r->lease != NOT_GIVEN ? r->lease : is_cluster ? CLUSTER_LEASE : USUAL_LEASE;
    uint64_t grace = r->grace;
    if (grace == NOT_GIVEN)
        grace = is_cluster ? CLUSTER_GRACE : lease == 0 ? GRACE_WITHOUT_LEASE : lease / 4;
    r->job.lease_ms = (int64_t)lease;
    r->job.grace_ms = (int64_t)grace;
}

/* Twice, if who answers turns out to be a cluster: then the lease is another one. */
static int connect_client(request *r, const char *password)
{
    run_job *job = &r->job;
    for (;;) {
        const baton_client_options how = {
            .address = r->at, .password = password, .lease_ms = (uint32_t)job->lease_ms};
        int64_t lease = job->lease_ms;
        int result = baton_client_open(&how, &job->client);
        if (result != BATON_OK)
            return result;
        if (baton_client_is_cluster(job->client))
            settle_times(r, true);
        if (job->lease_ms == lease)
            return BATON_OK;
        baton_client_close(job->client);
    }
}

/* Connects and waits. Signals are as they were while it waits: then they may end this process. */
static int acquire_once(request *r, const char *password, int64_t began, const sigset_t *before)
{
    run_job *job = &r->job;
    int result = connect_client(r, password);
    if (result != BATON_OK)
        return result;
    sigset_t held;
    pthread_sigmask(SIG_SETMASK, before, &held);
    result = r->try ? baton_client_try(job->client, job->name, &job->token)
                    : baton_client_lock(job->client, job->name, left_of(r, began), &job->token);
    if (result == BATON_OK && r->private)
        result = pass_guard(r, began);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &held, NULL);
    if (result != BATON_OK)
        baton_client_close(job->client);
    errno = why;
    return result;
}

/* A private server that ended while we came, or was killed while we waited, is started again. */
static int acquire(request *r, const char *password, const sigset_t *before)
{
    int64_t began = monotonic_ms();
    char complaint[512];
    int result = BATON_UNREACHABLE;
    for (int i = 0; i < ATTEMPTS && (result == BATON_UNREACHABLE || result == BATON_LOST); i++) {
        if (r->private && !private_server(r->at, complaint)) {
            say(r, complaint, "");
            return EXIT_UNREACHABLE;
        }
        result = acquire_once(r, password, began, before);
        if (!r->private && result != BATON_LOST)
            break;
    }
    switch (result) {
    case BATON_OK:
        return EXIT_DONE;
    case BATON_BUSY:
        say(r, r->job.name, r->try ? " is held by another" : " is still held; time is over");
        return EXIT_NOT_ACQUIRED;
    case BATON_BAD_NAME:
    case BATON_BAD_ARGUMENT:
        return usage_error("run", "'%s' at '%s': %s", r->job.name, r->at, baton_strerror(result));
    case BATON_UNREACHABLE:
        if (!r->quiet)
            fprintf(stderr, "baton run: cannot reach %s (%s); start one with 'baton serve'\n",
                    r->at, strerror(errno));
        return EXIT_UNREACHABLE;
    default:
        if (!r->quiet)
            fprintf(stderr, "baton run: %s: %s\n", r->at, baton_strerror(result));
        return EXIT_UNREACHABLE;
    }
}

/* ---- the whole ---- */

static bool set_environment(const request *r)
{
    char token[24];
    snprintf(token, sizeof token, "%llu", (unsigned long long)r->job.token);
    return setenv("BATON_LOCK", r->job.name, 1) == 0 && setenv("BATON_TOKEN", token, 1) == 0 &&
           setenv("BATON_AT", r->at, 1) == 0 &&
           (r->session != NULL ? setenv("BATON_SESSION", session_path(r->session), 1)
                               : unsetenv("BATON_SESSION")) == 0;
}

/* Without it the command can still run; only `baton issue` will complain. */
static void begin_session(request *r)
{
    char complaint[512];
    if (!baton_client_is_cluster(r->job.client))
        return;
    r->session = session_begin(&r->job, complaint);
    if (r->session == NULL)
        say(r, "no 'baton issue': ", complaint);
}

static int run(request *r, const char *password)
{
    run_job *job = &r->job;
    sigset_t before;
    remark waiting;
    int missing = command_missing(job->command[0]);
    if (missing != 0) {
        if (!r->quiet)
            fprintf(stderr, "baton run: cannot run %s: %s\n", job->command[0],
                    strerror(missing == 126 ? EACCES : ENOENT));
        return missing;
    }
    hold_signals(&before);
    remark_begin(&waiting, r);
    int code = acquire(r, password, &before);
    remark_end(&waiting);
    if (code != EXIT_DONE)
        return code;
    run_end end = {.code = EXIT_FAILED};
    begin_session(r);
    if (set_environment(r))
        end = run_child(job, &before);
    session_over(r->session);
    if (r->private)
        close(r->guard); /* first, or the next would find it shut */
    if (baton_client_exit(job->client, job->name, job->token) != BATON_OK)
        end.lost = true;
    baton_client_close(job->client);
    if (!end.lost)
        return end.code;
    say(r, job->name, " was lost; another may have held it since");
    if (r->on_lost != NULL)
        run_shell(r->on_lost, &before);
    return EXIT_LOST;
}

static int parse_option(int option, request *r, char **argv)
{
    switch (option) {
    case AT:
        r->at = optarg;
        return EXIT_DONE;
    case TRY:
        r->try = true;
        return EXIT_DONE;
    case TIMEOUT:
        if (!parse_milliseconds(optarg, 0, 365 * DAY, &r->timeout))
            return usage_error("run", "--timeout takes seconds, such as 2.5");
        return EXIT_DONE;
    case LEASE:
        if (!parse_milliseconds(optarg, 0, DAY, &r->lease) || (r->lease > 0 && r->lease < 200))
            return usage_error("run", "--lease takes seconds from 0.2 to 86400, or 0");
        return EXIT_DONE;
    case GRACE:
        if (!parse_milliseconds(optarg, 0, DAY, &r->grace))
            return usage_error("run", "--grace takes seconds from 0 to 86400");
        return EXIT_DONE;
    case ON_LOST:
        r->on_lost = optarg;
        return EXIT_DONE;
    case PASSWORD:
        r->password_file = optarg;
        return EXIT_DONE;
    case 'q':
        r->quiet = true;
        return EXIT_DONE;
    case ':':
        return option_error("run", "wants a value", argv);
    default:
        return option_error("run", "is no option", argv);
    }
}

/* Options may stand before and behind NAME; from the command on everything is the command's. */
static int parse(int argc, char **argv, request *r)
{
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "-:qh", options, NULL)) != -1;) {
        if (option == 1 && r->job.name != NULL) {
            optind--;
            break;
        }
        if (option == 1) {
            r->job.name = optarg;
        } else if (option == 'h') {
            help();
            exit(finish_output("run"));
        } else {
            int error = parse_option(option, r, argv);
            if (error != EXIT_DONE)
                return error;
        }
    }
    if (r->job.name == NULL && optind < argc)
        r->job.name = argv[optind++];
    r->job.command = argv + optind;
    if (r->job.name == NULL || optind >= argc)
        return usage_error("run", "it takes the name of a lock, and a command");
    if (r->job.name[0] == '\0' || strlen(r->job.name) >= BATON_CLIENT_NAME_BYTES)
        return usage_error("run", "a name has 1 to %d bytes", BATON_CLIENT_NAME_BYTES - 1);
    if (r->try && r->timeout != NOT_GIVEN)
        return usage_error("run", "--try does not wait, so it takes no --timeout");
    return EXIT_DONE;
}

int cmd_run(int argc, char **argv)
{
    char own[PLACE_BYTES];
    char room[PLACE_BYTES];
    char *password = NULL;
    request r = {.timeout = NOT_GIVEN, .lease = NOT_GIVEN, .grace = NOT_GIVEN};
    int code = parse(argc, argv, &r);
    if (code != EXIT_DONE)
        return code;
    settle_times(&r, false);
    place_runtime(room);
    snprintf(own, sizeof own, "%.500s/socket", room);
    r.at = place_server(r.at, room);
    r.private = strcmp(r.at, own) == 0; /* also if BATON_AT names it: inside of another run */
    if (r.password_file == NULL)
        r.password_file = getenv("BATON_PASSWORD_FILE");
    if (r.password_file != NULL && !r.private &&
        (password = read_password("run", r.password_file)) == NULL)
        return EXIT_FAILED;
    code = run(&r, password);
    free(password);
    return code;
}
