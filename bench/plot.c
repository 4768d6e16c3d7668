/* Draws a contest with gnuplot: throughput over the number of threads, a line per contender. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
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

static void write_script(FILE *gnuplot, const contest *plan, const outcome *outcomes,
                         const char *file)
{
    fputs("set terminal svg size 900,560 dynamic background rgb 'white' font 'sans,13'\n", gnuplot);
    fputs("set output ", gnuplot);
    quoted(gnuplot, file);
    fprintf(gnuplot,
            "\nset title 'Passages per second (median of %u rounds)' noenhanced\n"
            "set key outside right noenhanced\nset grid\nset logscale y\n"
            "set xlabel 'threads'\nset ylabel 'million passages/s'\n"
            "set xrange [%g:%g]\nset xtics 1\n",
            plan->rounds, plan->threads[0] - 0.5, plan->threads[plan->counts - 1] + 0.5);
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

const char *contest_plot(const contest *plan, const outcome *outcomes, const char *file)
{
    FILE *probe = fopen(file, "w"); /* gnuplot's own message about this is hard to read */
    if (probe == NULL)
        return "cannot write the plot to that file";
    fclose(probe);
    FILE *gnuplot = popen("gnuplot", "w"); /* NOLINT(cert-env33-c): a fixed command */
    if (gnuplot == NULL)
        return "cannot start gnuplot";
    write_script(gnuplot, plan, outcomes, file);
    if (pclose(gnuplot) != 0 || access(file, R_OK) != 0)
        return "gnuplot failed; is it installed? (package gnuplot-nox)";
    return NULL;
}
