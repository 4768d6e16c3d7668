/*
 * What etcd answers, under libFuzzer, as the answer about epoch 3 of one lock. Whatever comes in:
 * an answer is understood or complained of, a verdict is what the version says, and nothing is
 * believed that does not say of which etcd it is, and of which key.
 */
#include "etcd_txn.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EPOCH = 3 };

static void require(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const etcd_bytes key = {"baton/l", 7};
    char words[ETCD_COMPLAINT] = "";
    etcd_answer a;
    /* A copy of just that size, so that a read beyond its end is seen. */
    char *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    etcd_bytes text = {bytes, size};
    if (etcd_read(text, key, EPOCH, &a, words)) {
        require(a.verdict == outside_judge(EPOCH, a.version));
        require(a.verdict != OUTSIDE_MINE && a.cluster != 0 && a.revision != 0);
        require((a.value != NULL) == (a.value_bytes > 0));
        require(a.value_bytes * 4 / 3 <= size);
        require(a.version == 0 || memmem(bytes, size, "kvs", 3) != NULL ||
                memchr(bytes, '\\', size) != NULL); /* or written by numbers of its letters */
    } else {
        require(words[0] != '\0' && a.value == NULL);
    }
    free(a.value);
    free(etcd_read_error(text));
    free(bytes);
    return 0;
}
