/*
 * A run as a history of Jepsen, for checkers that others have written: a line of JSON for each
 * event of an operation, in the order of time. What each kind of history has, and which checker
 * reads it, is in baton-sim(1), HISTORIES. It must never say more than users were told.
 *
 * An operation begins with `invoke` and ends with `ok`, with `fail` if it was executed nowhere, or
 * with `info` if nobody was told. A process has one operation at a time. After `info` it is never
 * heard of again; whoever was behind it goes on as another.
 */
#ifndef BATON_SIM_JEPSEN_H
#define BATON_SIM_JEPSEN_H

#include "node_judge.h"
#include "note.h"

#include <stdio.h>

/* Of `baton-sim wme`: a teller that writes while the run runs. */
typedef struct recorder recorder;

/*
 * NULL if the file cannot be written; says so on stderr. Its name must live as long. Without memory
 * the program ends.
 */
recorder *recorder_open(const char *file, uint32_t nodes, uint32_t people, uint32_t locks);
teller *recorder_teller(recorder *r);
/* EXIT_FINE, or EXIT_IO if not all was written; says so on stderr. */
int recorder_close(recorder *r);

/* Of `baton-sim node`: from what its judge was told, when the run is over. As recorder_close. */
int jepsen_save(const judge *j, uint32_t clients, uint32_t locks, uint64_t end, const char *file);

#endif
