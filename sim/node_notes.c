/* What a picture (svg.h) is told of a fleet: messages, states of locks, deaths and pauses. */
#include "node_fleet.h"

void note_message(const fleet *f, uint8_t from, uint8_t to, uint64_t sent, const peer_said *said)
{
    if (f->teller == NULL || said->verb != PEER_MESSAGE)
        return;
    f->teller->tell(f->teller, &(note){.kind = NOTE_SENT,
                                       .at = sent,
                                       .until = f->now,
                                       .node = from,
                                       .other = to,
                                       .lock = (uint8_t)(said->words.at[1] - '0'),
                                       .message = &said->message});
}

void note_states(const fleet *f, uint8_t node)
{
    if (f->teller == NULL)
        return;
    for (uint8_t lock = 0; lock < f->settings.locks; lock++) {
        const char name[] = {'l', (char)('0' + lock)};
        const node_lock *p = node_lock_find(&f->machines[node].node, name, sizeof name);
        if (p != NULL)
            f->teller->tell(f->teller, &(note){.kind = NOTE_STATE,
                                               .at = f->now,
                                               .node = node,
                                               .lock = lock,
                                               .stub = &p->replica.stub});
    }
}

void note_machine(const fleet *f, note_kind kind, uint8_t node)
{
    if (f->teller != NULL)
        f->teller->tell(f->teller, &(note){.kind = kind, .at = f->now, .node = node});
}

void note_pause(const fleet *f, const mishap *m)
{
    fault pause = {.kind = FAULT_PAUSE, .nodes = m->nodes, .length = m->length};
    if (f->teller != NULL)
        f->teller->tell(f->teller, &(note){.kind = NOTE_FAULT, .at = f->now, .fault = &pause});
}
