/* Draws store & collect with gnuplot: nanoseconds over k, two lines per object. */
#include "collect.h"

/* The object gives a line's colour, the cost its look. */
static const struct line {
    size_t cost;
    const char *look;
} lines[] = {
    {COLLECT_COST, "linewidth 2"},
    {LATER_STORE_COST, "linewidth 1 dashtype 2"},
};

enum { LINES = COLLECT_OBJECTS * sizeof lines / sizeof lines[0] };

static void write_points(FILE *script, const collect_outcome *outcomes, size_t cost)
{
    for (size_t c = 0; c < COLLECT_COUNTS; c++)
        if (outcomes[c].measured)
            fprintf(script, "%u %g\n", collect_counts[c], outcomes[c].ns[cost]);
    fputs("e\n", script);
}

const char *collect_plot(const collect_plan *plan, const collect_outcomes outcomes, int file)
{
    gnuplot drawing;
    const char *trouble = gnuplot_start(&drawing, file);
    if (trouble != NULL)
        return trouble;
    FILE *script = drawing.script;
    fprintf(script,
            "set title 'Store and collect, values of %zu byte%s (median of %u round%s)'\n"
            "set xlabel 'k: participants that have stored, one after another'\n"
            "set ylabel 'nanoseconds'\nset logscale x 2\nset logscale y\nset key below\n",
            plan->value_bytes, plan->value_bytes == 1 ? "" : "s", plan->rounds,
            plan->rounds == 1 ? "" : "s");
    for (size_t i = 0; i < LINES; i++) {
        const struct line *l = &lines[i / COLLECT_OBJECTS];
        size_t o = i % COLLECT_OBJECTS;
        fprintf(script, "%s'-' title '%s, %s (n = %u)' with linespoints linetype %zu %s",
                i == 0 ? "plot " : ", ", cost_names[l->cost], collect_objects[o].name,
                collect_objects[o].participants, o + 1, l->look);
    }
    fputc('\n', script);
    for (size_t i = 0; i < LINES; i++)
        write_points(script, outcomes[i % COLLECT_OBJECTS], lines[i / COLLECT_OBJECTS].cost);
    return gnuplot_finish(&drawing);
}
