/* Draws a contest with gnuplot: throughput over the number of threads, a line per contender. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* gnuplot's strings in single quotes: a quote is doubled. */
static void quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void write_script(FILE *gnuplot, const contest *plan, const outcome *outcomes)
{
    fprintf(
        gnuplot,
        "set terminal svg size 900,560 dynamic background rgb 'white' font 'sans,13'\n"
        "set title 'Passages per second (median of %u rounds)' noenhanced\n"
        "set key outside right noenhanced\nset grid\nset logscale y\n"
        "set xlabel 'threads (one: no work; more: %llu ns inside, %llu ns outside)' noenhanced\n"
        "set ylabel 'million passages/s'\nset xrange [%g:%g]\nset xtics 1\n",
        plan->rounds, (unsigned long long)plan->inside_ns, (unsigned long long)plan->outside_ns,
        plan->threads[0] - 0.5, plan->threads[plan->counts - 1] + 0.5);
    if (plan->threads[plan->counts - 1] > 16)
        fputs("set xtics autofreq\n", gnuplot);
    for (size_t c = 0; c < plan->contenders; c++) {
        fputs(c == 0 ? "plot '-' title " : ", '-' title ", gnuplot);
        quoted(gnuplot, plan->contender[c]->name);
        fprintf(gnuplot, " with linespoints linewidth 2 linetype %zu", c + 1);
    }
    fputc('\n', gnuplot);
    for (size_t c = 0; c < plan->contenders; c++) {
        for (size_t t = 0; t < plan->counts; t++) {
            const outcome *o = &outcomes[c * plan->counts + t];
            if (o->measured)
                fprintf(gnuplot, "%u %g\n", plan->threads[t], o->passages_per_s / 1e6);
        }
        fputs("e\n", gnuplot);
    }
}

/* gnuplot with a pipe for its script and its picture going into `file`. */
static pid_t start_gnuplot(int file, int *script)
{
    int ends[2];
    pid_t child;
    char *const command[] = {(char[]){"gnuplot"}, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
    int error = posix_spawnp(&child, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    *script = ends[1];
    if (error == 0)
        return child;
    close(ends[1]);
    return -1;
}

const char *contest_plot(const contest *plan, const outcome *outcomes, int file)
{
    bool anything = false;
    for (size_t k = 0; k < plan->contenders * plan->counts; k++)
        anything = anything || outcomes[k].measured;
    if (!anything)
        return "nothing was measured, so there is nothing to plot";
    int end;
    pid_t child = start_gnuplot(file, &end);
    if (child < 0)
        return "cannot start gnuplot; is it installed? (package gnuplot-nox)";
    FILE *script = fdopen(end, "w");
    if (script != NULL) {
        write_script(script, plan, outcomes);
        fclose(script);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return "gnuplot could not draw the plot";
    return NULL;
}
