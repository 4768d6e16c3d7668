/*
 * What an event costs when nothing goes wrong: messages, and communication steps, that is message
 * delays one after the other. Table 1 of the wme paper.
 */
#ifndef BATON_SIM_COUNT_H
#define BATON_SIM_COUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cost {
    uint64_t messages;
    uint32_t steps;     /* until who wanted it has it */
    uint32_t steps_all; /* until every node has it */
} cost;

typedef struct costs {
    cost enter_elsewhere; /* the token is at another node */
    cost enter_here;
    cost exit_alone; /* nobody waits */
    cost exit_handing;
    cost operation;
} costs;

/* The shipped replicas. */
costs count_wme(uint8_t nodes, bool ack_all);

/*
 * The earlier algorithm that the paper compares with: each event is broadcast, and then agreed
 * upon. In baseline.c.
 */
costs count_baseline_linear(uint8_t nodes);     /* with the shipped Paxos */
costs count_baseline_all_to_all(uint8_t nodes); /* acceptances go to everybody: a step less */

#endif
