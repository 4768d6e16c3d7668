/* From a part of a struct to the struct: for lists and tables whose links lie in what they link. */
#ifndef BATON_BASE_OWNER_H
#define BATON_BASE_OWNER_H

#include <stddef.h>

static inline void *owner_at(const void *part, size_t offset)
{
    return part == NULL ? NULL : (char *)part - offset;
}

/* The struct of that type whose member `part` points to; NULL for NULL. */
#define OWNER_OF(part, type, member) ((type *)owner_at(part, offsetof(type, member)))

#endif
