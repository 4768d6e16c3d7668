/*
 * Where the servers are. A name is looked up when the client begins, by a thread of its own, and
 * what was found is kept: who connects later does not depend on a service of names, nor wait for
 * one that does not answer. Once in a while, and when nobody was reached, it is looked up again
 * beside that. Addresses that are numbers are known from the beginning.
 */
#ifndef BATON_CLIENT_BOOK_H
#define BATON_CLIENT_BOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { BOOK_ADDRESSES = 8 }; /* of one name; more are left out */

typedef struct book_address {
    struct sockaddr_storage at;
    socklen_t bytes;
} book_address;

typedef struct book_entry {
    uint32_t count;
    book_address address[BOOK_ADDRESSES];
} book_entry;

/* Outlives who has opened it, if a name is being looked up then. */
typedef struct address_book address_book;

/* Of HOST:PORT or [HOST]:PORT each; paths are left out. NULL, with errno, if there is no memory. */
address_book *book_open(const char *const *addresses, uint32_t count);
void book_close(address_book *b);
/*
 * What is known of one of them. If that is nothing yet, waits for it, until then (clock_now).
 * False, with errno, if there is nothing to be known.
 */
bool book_find(address_book *b, uint32_t which, uint64_t until, book_entry *found);
/* Nobody was reached there: it may be elsewhere by now. */
void book_doubt(address_book *b, uint32_t which);

#endif
