/*
 * How the pure modules of wme say what is to be done. An action that is appended keeps every
 * operation that it names, in `op` and in its message, until wme_out_clear.
 */
#ifndef BATON_WME_OUT_H
#define BATON_WME_OUT_H

#include "wme.h"

/* A copy of it. */
void wme_out_append(wme_out *out, const wme_action *action);
/* The message to each node of `to`; nothing if that is nobody. */
void wme_out_send(wme_out *out, uint16_t to, const wme_message *message);
void wme_out_persist(wme_out *out);
/* Whether that was said before. */
bool wme_out_persists(const wme_out *out);

static inline uint16_t wme_bit(uint8_t node)
{
    return (uint16_t)(1U << node);
}

/* Everybody but oneself. */
static inline uint16_t wme_others(const wme_node *node)
{
    return (uint16_t)(((1U << node->nodes) - 1U) & ~(1U << node->me));
}

#endif
