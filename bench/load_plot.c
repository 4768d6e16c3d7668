/* Draws a load with gnuplot: how long operations took, over the share that took no longer. */
#include "load.h"
#include "measure.h"

#include <math.h>

enum { POINTS_PER_NINE = 20 }; /* from 90 % to 99 %, from 99 % to 99.9 % */

static bool is_drawn(const load_result *result, load_kind kind)
{
    return result->took[kind].count > 0;
}

/* Over 1 / (1 - share), so that each further 9 is as wide as the one before it. */
static void write_points(FILE *script, const histogram *took)
{
    for (int point = 0;; point++) {
        double over = pow(10, (double)point / POINTS_PER_NINE);
        if (over > (double)took->count)
            break;
        fprintf(script, "%g %g\n", over, (double)histogram_at(took, 1 - 1 / over) / 1e6);
    }
    fputs("e\n", script);
}

static void write_script(FILE *script, const load_plan *plan, const load_result *result)
{
    bool is_first = true;
    fprintf(script,
            "set title '%u client%s, %s, %.1f s measured' noenhanced\n"
            "set logscale xy\nset xlabel 'share of operations that took no longer'\n"
            "set ylabel 'milliseconds'\n"
            "set xtics ('0' 1, '50%%%%' 2, '90%%%%' 10, '99%%%%' 100, '99.9%%%%' 1000, '99.99%%%%' "
            "10000, "
            "'99.999%%%%' 100000)\n",
            plan->clients, plan->clients == 1 ? "" : "s",
            plan->rate > 0 ? "open loop" : "closed loop", result->seconds);
    for (load_kind k = 0; k < LOAD_KINDS; k++) {
        if (!is_drawn(result, k))
            continue;
        fprintf(script, "%s'-' title '%s' with lines linewidth 2 linetype %d",
                is_first ? "plot " : ", ", load_kind_name[k], (int)k + 1);
        is_first = false;
    }
    fputc('\n', script);
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        if (is_drawn(result, k))
            write_points(script, &result->took[k]);
}

const char *load_plot(const load_plan *plan, const load_result *result, int file)
{
    gnuplot drawing;
    bool is_anything = false;
    for (load_kind k = 0; k < LOAD_KINDS; k++)
        is_anything = is_anything || is_drawn(result, k);
    if (!is_anything)
        return "nothing was measured, so there is nothing to plot";
    const char *trouble = gnuplot_start(&drawing, file);
    if (trouble != NULL)
        return trouble;
    write_script(drawing.script, plan, result);
    return gnuplot_finish(&drawing);
}
