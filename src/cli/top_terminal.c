/*
 * The terminal and the signals of `baton top`. A handler only takes a note; the note is read where
 * it is safe to act. Signals are blocked from then until ppoll waits, so that none is slept over.
 */
#include "top.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static volatile sig_atomic_t resized;
static volatile sig_atomic_t suspended;
static bool open_now;          /* the screen */
static bool has_settings;      /* in `was`: the terminal's before */
static bool has_keyboard;      /* standard input is a terminal that still answers */
static bool has_reader = true; /* standard output can be asked whether anybody reads it */
static struct termios was;

/* ---- signals ---- */

static void take_note(int number)
{
    if (number == SIGWINCH)
        resized = 1;
    else if (number == SIGTSTP)
        suspended = 1;
    else
        ended = 1;
}

static void catch (int number, int flags)
{
    struct sigaction action = {.sa_handler = take_note, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void top_catch_signals(void)
{
    struct sigaction before;
    catch (SIGINT, 0); /* not restarted: a write that nobody reads must end too */
    catch (SIGTERM, 0);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup */
        catch (SIGHUP, 0);
}

bool top_is_ended(void)
{
    return ended != 0;
}

static void block(sigset_t *before)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigaddset(&all, SIGWINCH);
    sigaddset(&all, SIGTSTP);
    sigprocmask(SIG_BLOCK, &all, before);
}

/* ---- the screen ---- */

bool top_screen_fits(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDOUT_FILENO) && kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

static void say(const char *codes)
{
    fputs(codes, stdout);
    fflush(stdout);
}

void top_screen_open(void)
{
    has_settings = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;
    has_keyboard = has_settings;
    if (has_settings) {
        struct termios keys = was;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 0; /* a read never waits */
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    catch (SIGWINCH, SA_RESTART);
    catch (SIGTSTP, SA_RESTART);
    open_now = true;
    say("\033[?1049h\033[?25l\033[H\033[2J"); /* the other screen, without cursor, clear */
}

void top_screen_close(void)
{
    if (!open_now)
        return;
    open_now = false;
    say("\033[?25h\033[?1049l");
    if (has_settings)
        tcsetattr(STDIN_FILENO, TCSANOW, &was);
}

/* Ctrl-Z: gives the terminal back, stops, and has it again when the shell lets it go on. */
static void pause_screen(void)
{
    suspended = 0;
    top_screen_close();
    raise(SIGSTOP);
    top_screen_open();
    resized = 1;
}

void top_screen_show(const top_scene *scene, const char *board)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    resized = 0;
    fputs("\033[H", stdout);
    top_print_text(scene, board,
                   (top_page){.out = stdout,
                              .rows = size.ws_row - 1U, /* the last newline must not scroll */
                              .columns = size.ws_col > 1 ? size.ws_col - 1U : 1U,
                              .hint = "; q quits",
                              .line_end = "\033[K"});
    fputs("\033[J", stdout);
}

/* ---- waiting ---- */

/* Reads what was typed; true if there was a q. A keyboard that has gone is not asked again. */
static bool typed_q(void)
{
    char keys[64];
    ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count <= 0)
        has_keyboard = false;
    return count > 0 &&
           (memchr(keys, 'q', (size_t)count) != NULL || memchr(keys, 'Q', (size_t)count) != NULL);
}

/* Waits once; true if something happened that ends the program. */
static bool wait_once(uint64_t left_ns, const sigset_t *unblocked)
{
    struct pollfd files[] = {
        {.fd = open_now && has_keyboard ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = has_reader ? STDOUT_FILENO : -1, .events = 0}, /* POLLERR: nobody reads it */
    };
    struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000U),
                            .tv_nsec = (long)(left_ns % 1000000000U)};
    if (ppoll(files, 2, &left, unblocked) <= 0)
        return false;
    if ((files[1].revents & POLLNVAL) != 0) /* it was closed from the beginning */
        has_reader = false;
    if ((files[1].revents & (POLLERR | POLLHUP)) != 0)
        return true;
    return files[0].revents != 0 && typed_q();
}

top_event top_wait(uint64_t until_ns)
{
    sigset_t before;
    top_event event = TOP_TIME_IS_OVER;
    block(&before);
    uint64_t now = top_now_ns();
    do { /* once at least, so that q and signals are heard even if there is no time to wait */
        if (!ended && !resized && !suspended &&
            wait_once(now < until_ns ? until_ns - now : 0, &before))
            ended = 1;
        if (suspended)
            pause_screen();
        if (ended)
            event = TOP_ENDED;
        else if (resized)
            event = TOP_REDRAW;
        now = top_now_ns();
    } while (event == TOP_TIME_IS_OVER && now < until_ns);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return event;
}
