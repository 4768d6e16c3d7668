/*
 * What a lock must not forget, as bytes: two records, that of the stub and what consensus has
 * accepted, with the operations that they name. An operation that both name is written once.
 */
#ifndef BATON_RESOURCE_DURABLE_H
#define BATON_RESOURCE_DURABLE_H

#include "op.h"
#include "replica.h"

/* Bytes: two operations, and two records without them. */
enum { MAX_DURABLE = 2 * WME_MAX_OP + 2048 };

size_t durable_encode(const replica_durable *d, uint8_t bytes[MAX_DURABLE]);
/*
 * Keeps operations of its own. False if these bytes are no such thing, or there is no memory; then
 * there is nothing in it.
 */
bool durable_decode(byte_string bytes, replica_durable *d);

#endif
