/* Runs gnuplot, with a pipe for its script and its picture going into a file. */
#include "measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child, reading its script from the pipe's one end; -1 if it cannot be started. */
static pid_t spawn(int script, int file)
{
    pid_t child;
    char *const command[] = {(char[]){"gnuplot"}, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
    int error = posix_spawnp(&child, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? child : -1;
}

const char *gnuplot_start(gnuplot *drawing, int file)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return "cannot make a pipe to gnuplot";
    drawing->script = fdopen(ends[1], "w");
    if (drawing->script == NULL) {
        close(ends[0]);
        close(ends[1]);
        return "no memory for the plot";
    }
    drawing->child = spawn(ends[0], file);
    close(ends[0]);
    if (drawing->child < 0) {
        fclose(drawing->script);
        return "cannot start gnuplot; is it installed? (package gnuplot-nox)";
    }
    fputs("set terminal svg size 900,560 dynamic background rgb 'white' font 'sans,13'\n"
          "set key outside right noenhanced\nset grid\n",
          drawing->script);
    return NULL;
}

const char *gnuplot_finish(gnuplot *drawing)
{
    int status;
    bool written = fclose(drawing->script) == 0;
    bool ended = waitpid(drawing->child, &status, 0) == drawing->child;
    return written && ended && status == 0 ? NULL : "gnuplot could not draw the plot";
}

void gnuplot_quoted(const gnuplot *drawing, const char *text)
{
    fputc('\'', drawing->script);
    for (; *text != '\0'; text++) {
        if (*text == '\'') /* a quote is doubled */
            fputc('\'', drawing->script);
        fputc(*text, drawing->script);
    }
    fputc('\'', drawing->script);
}
