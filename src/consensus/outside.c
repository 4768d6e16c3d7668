/* See outside.h. */
#include "outside.h"

outside_verdict outside_judge(uint64_t epoch, uint64_t values)
{
    if (values + 1 == epoch)
        return OUTSIDE_MINE;
    if (values == epoch)
        return OUTSIDE_THIS;
    return values > epoch ? OUTSIDE_LATER : OUTSIDE_FORGOTTEN;
}
