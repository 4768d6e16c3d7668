/* The automata of the wdme paper as printed: for comparison, never shipped. */
#ifndef BATON_SIM_PRINTED_H
#define BATON_SIM_PRINTED_H

#include "searchable.h"

extern const model printed;
/* With the one error mended that ends every run at once: erratum 12. */
extern const model printed_mended;

#endif
