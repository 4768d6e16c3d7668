/* What the files of `baton top` share: looking, printing, and the terminal. */
#ifndef BATON_CLI_TOP_H
#define BATON_CLI_TOP_H

#include "top_scene.h"

#include <stdio.h>

/* ---- top_look.c ---- */

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t top_now_ns(void);

/*
 * Finds the board of that name, looks at it, and lets go of it again: so a board that is made anew
 * is noticed. Returns BATON_OK, or an error of baton/board.h; BATON_TOO_SMALL also if the board is
 * cut off during the look.
 */
int top_look_at(const char *board, top_look *look);

/* Says on standard error why a board could not be found, looked at or removed; the exit code. */
int top_failure(const char *board, int error);

/* ---- top_print.c ---- */

/* Where text goes. The largest values stand for no limit. */
typedef struct top_page {
    FILE *out;
    uint32_t rows; /* that are left */
    uint32_t columns;
    const char *hint;     /* after the first line */
    const char *line_end; /* without the newline */
} top_page;

void top_print_text(const top_scene *scene, const char *board, top_page page);
void top_print_json(const top_scene *scene, const char *board);

/* ---- top_terminal.c ---- */

typedef enum top_event { TOP_TIME_IS_OVER, TOP_REDRAW, TOP_ENDED } top_event;

/* From now on SIGINT, SIGTERM and SIGHUP are asked about by top_is_ended, and end top_wait. */
void top_catch_signals(void);
bool top_is_ended(void);

/*
 * Waits until that time, the user's q or a signal, or the end of whoever reads standard output.
 * TOP_REDRAW: the screen has another size, or has been given back.
 */
top_event top_wait(uint64_t until_ns);

/* The screen: open while the scene is shown live. Close may be called at any time. */
bool top_screen_fits(void); /* whether standard output is a terminal that can show it */
void top_screen_open(void);
void top_screen_close(void);
void top_screen_show(const top_scene *scene, const char *board);

#endif
