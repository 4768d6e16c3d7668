/* Messages between nodes, for tests of the wire: made by chance, compared. */
#ifndef BATON_PEER_MESSAGES_H
#define BATON_PEER_MESSAGES_H

#include "peer_wire.h"
#include "unit.h"

extern uint64_t chance_seed; /* not 0 */
uint64_t chance(uint64_t of);
/* Small ones, large ones, and those at the limit. */
uint64_t chance_number(uint64_t least, uint64_t max);

/*
 * Any values in the fields that wme.h gives to the kind. A snapshot is good until the next is made.
 */
wme_message some_message(wme_kind kind, uint8_t nodes, peer_snapshot *snapshot);
/* Drops its operations. */
void drop_message(wme_message *m);
/* All fields, also those that the kind has not. */
void expect_message(const wme_message *is, const wme_message *was);

/* A part of test_peer_wire. */
void peer_boot_tests(suite *s);

#endif
