/* Sets of locks in memory of their own; apart from unit.c, since most tests have none. */
#include "unit.h"

#include <stdlib.h>

baton_locks *make_locks(const baton_locks_spec *spec)
{
    size_t bytes;
    baton_locks *locks;
    assert_int_equal(baton_locks_size(spec, &bytes), BATON_OK);
    void *memory = aligned_alloc(BATON_CACHE_LINE, bytes);
    assert_non_null(memory);
    assert_int_equal(baton_locks_create(spec, memory, bytes, &locks), BATON_OK);
    return locks;
}
