/* Draws a contest with gnuplot: throughput over the number of threads, a line per contender. */
#include "contest.h"

#include <stdio.h>

static void write_script(const gnuplot *drawing, const contest *plan, const outcome *outcomes)
{
    FILE *script = drawing->script;
    fprintf(
        script,
        "set title 'Passages per second (median of %u rounds)' noenhanced\nset logscale y\n"
        "set xlabel 'threads (one: no work; more: %llu ns inside, %llu ns outside)' noenhanced\n"
        "set ylabel 'million passages/s'\nset xrange [%g:%g]\nset xtics 1\n",
        plan->rounds, (unsigned long long)plan->inside_ns, (unsigned long long)plan->outside_ns,
        plan->threads[0] - 0.5, plan->threads[plan->counts - 1] + 0.5);
    if (plan->threads[plan->counts - 1] > 16)
        fputs("set xtics autofreq\n", script);
    for (size_t c = 0; c < plan->contenders; c++) {
        fputs(c == 0 ? "plot '-' title " : ", '-' title ", script);
        gnuplot_quoted(drawing, plan->contender[c]->name);
        fprintf(script, " with linespoints linewidth 2 linetype %zu", c + 1);
    }
    fputc('\n', script);
    for (size_t c = 0; c < plan->contenders; c++) {
        for (size_t t = 0; t < plan->counts; t++) {
            const outcome *o = &outcomes[c * plan->counts + t];
            if (o->measured)
                fprintf(script, "%u %g\n", plan->threads[t], o->passages_per_s / 1e6);
        }
        fputs("e\n", script);
    }
}

const char *contest_plot(const contest *plan, const outcome *outcomes, int file)
{
    bool anything = false;
    for (size_t k = 0; k < plan->contenders * plan->counts; k++)
        anything = anything || outcomes[k].measured;
    if (!anything)
        return "nothing was measured, so there is nothing to plot";
    gnuplot drawing;
    const char *trouble = gnuplot_start(&drawing, file);
    if (trouble != NULL)
        return trouble;
    write_script(&drawing, plan, outcomes);
    return gnuplot_finish(&drawing);
}
