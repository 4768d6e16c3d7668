/* Averages that a few disturbed measurements do not move. */
#include "measure.h"

#include <assert.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, by_size);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double mean_of_max(double *values, size_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, by_size);
    size_t kept = count - count / 10;
    double sum = 0;
    for (size_t i = 0; i < kept; i++)
        sum += values[i];
    return sum / (double)kept;
}
