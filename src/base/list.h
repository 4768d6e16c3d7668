/*
 * Doubly linked lists, for the whole house. A link lies in what it links, so a list needs no
 * memory, and what is in one can be taken out at once. Who has a link finds what it lies in by
 * OWNER_OF.
 *
 *   head <-> first <-> ... <-> last <-> head       an empty list: a head that is linked to itself
 *
 * A head is a link, too. It must be started before it is used, and must not be moved. A link must
 * be started only if it may be removed, or asked whether it is in a list, before it was in one.
 */
#ifndef BATON_BASE_LIST_H
#define BATON_BASE_LIST_H

#include "owner.h"

#include <stdbool.h>

typedef struct list_link {
    struct list_link *next, *previous;
} list_link;

typedef list_link list_head;

/* A head of an empty list, or a link that is in none. */
static inline void list_start(list_link *alone)
{
    alone->next = alone->previous = alone;
}

static inline bool list_is_empty(const list_head *of)
{
    return of->next == of;
}

static inline bool list_is_linked(const list_link *link)
{
    return link->next != link;
}

/* One comes right after the other. */
static inline void list_join(list_link *previous, list_link *next)
{
    previous->next = next;
    next->previous = previous;
}

static inline void list_push_front(list_head *of, list_link *link)
{
    list_join(link, of->next);
    list_join(of, link);
}

static inline void list_push_back(list_head *of, list_link *link)
{
    list_join(of->previous, link);
    list_join(link, of);
}

/* Out of whatever list it is in, if any; then it is in none. */
static inline void list_remove(list_link *link)
{
    list_join(link->previous, link->next);
    list_start(link);
}

/* NULL if the list is empty. */
static inline list_link *list_first(const list_head *of)
{
    return list_is_empty(of) ? NULL : of->next;
}

/* The same, and takes it out. */
static inline list_link *list_pop(list_head *of)
{
    list_link *first = list_first(of);
    if (first != NULL) {
        list_join(of, first->next);
        list_start(first);
    }
    return first;
}

/* All links of one list to the end of another. */
static inline void list_move_all(list_head *from, list_head *to)
{
    if (list_is_empty(from))
        return;
    list_join(to->previous, from->next);
    list_join(from->previous, to);
    list_start(from);
}

/* For each link of a list, from the first on. That link may be taken out, others may not. */
#define LIST_EACH(link, of)                                                     \
    for (list_link *link = (of)->next, *link##_next = link->next; link != (of); \
         link = link##_next, link##_next = link->next)

#endif
