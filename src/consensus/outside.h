/*
 * Consensus on the ends of a lock's epochs by a register outside of the cluster that counts its
 * values: value number e is the decision that ends epoch e. Who proposes for epoch e asks it, in
 * one atomic step: if you have had e - 1 values, take mine; else show me the last, and tell me how
 * many there were. Pure: this is what the answer means, wherever the register is.
 *
 * One value is kept. That a later one overwrites it does no harm: nothing is proposed in epoch
 * e + 1 before a majority has said that it is in e + 1, so a majority has made the decision on e
 * its own, and on its disk, and sends its state to whoever is still in e.
 */
#ifndef BATON_CONSENSUS_OUTSIDE_H
#define BATON_CONSENSUS_OUTSIDE_H

#include <stdint.h>

typedef enum outside_verdict {
    OUTSIDE_MINE,      /* the register has taken what was proposed: that is the decision */
    OUTSIDE_THIS,      /* the value that it shows is */
    OUTSIDE_LATER,     /* the epoch has ended, and a later one too; others will send their state */
    OUTSIDE_FORGOTTEN, /* values are missing: it is not what it was, and must not be believed */
} outside_verdict;

/* `values`: how many it has had when it was asked. */
outside_verdict outside_judge(uint64_t epoch, uint64_t values);

#endif
