/*
 * Looks at a data file before LMDB does. LMDB trusts its pages: a wrong number in one may end the
 * process, or let it write over what is in use. Here every number is checked: pages lie within the
 * file and are used once, trees are in order, and so is each record. What LMDB 0.9 writes:
 *
 *   file     page 0 and 1: meta, one after the other, the one with the higher commit counts; then
 *            pages of two trees, ours and that of free pages (commit -> list of pages)
 *   page     0: own number (8)  10: flags (2)  12: end of the offsets (2)  14: begin of nodes (2)
 *            16: offsets of nodes (2 each), in the order of keys    nodes, up to the page's end
 *   node     0: size of the data (4)  4: flags (2)  6: size of the key (2)  8: key, data
 *            in a branch the first six bytes are the number of a page
 *   long data are on pages of their own: 12: how many (4), 16: the data; the node has the number
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BRANCH = 1, /* flags of a page */
    LEAF = 2,
    LONG = 4,
    META = 8,
    IS_LONG = 1, /* flag of a node */
    HEADER = 16, /* bytes of a page, and of a node */
    NODE = 8,
    META_BYTES = 136,
    META_TREES = 24, /* in a meta, behind the header */
    META_LAST = 120,
    META_COMMIT = 128,
    TREE_BYTES = 48,
    LMDB_FORMAT = 1,
    MAX_DEPTH = 32,
    MAX_TAIL = 65536, /* pages at the end that were used and freed at once are never written */
};

#define MAGIC_NUMBER 0xBEEFC0DEU

typedef struct file {
    void *map;
    const uint8_t *at;
    size_t bytes;
    size_t page_bytes;
    uint64_t last_page;
    uint64_t commit;
    uint8_t *seen; /* a bit for each page */
    record_check records;
    const char *wrong; /* the first thing */
} file;

typedef struct tree {
    bool of_free_pages;
    unsigned depth;
    uint64_t entries;  /* met so far */
    byte_string last;  /* key */
    byte_string least; /* what the next key must be at least; nothing if at is NULL */
} tree;

static uint16_t two(const uint8_t *at)
{
    uint16_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t four(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint64_t eight(const uint8_t *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static bool wrong(file *f, const char *what)
{
    if (f->wrong == NULL)
        f->wrong = what;
    return false;
}

/* ---- pages ---- */

static bool is_seen(const file *f, uint64_t page)
{
    return (f->seen[page / 8] >> page % 8 & 1) != 0;
}

/* Each page is used for one thing. */
static bool see(file *f, uint64_t page)
{
    if (page < 2 || page > f->last_page)
        return wrong(f, "it names a page that is not there");
    if (is_seen(f, page))
        return wrong(f, "a page is used twice");
    f->seen[page / 8] |= (uint8_t)(1 << page % 8);
    return true;
}

/* NULL if it is not in the file, or not that page. */
static const uint8_t *page_of_kind(file *f, uint64_t page, unsigned kind)
{
    if (!see(f, page))
        return NULL;
    const uint8_t *at = f->at + page * f->page_bytes;
    if ((page + 1) * f->page_bytes > f->bytes)
        wrong(f, "it is too short");
    else if (eight(at) != page || two(at + 10) != kind)
        wrong(f, "a page is not what it should be");
    else
        return at;
    return NULL;
}

static byte_string long_data(file *f, uint64_t page, size_t bytes)
{
    const uint8_t *at = page_of_kind(f, page, LONG);
    if (at == NULL)
        return (byte_string){0};
    uint64_t pages = four(at + 12);
    uint64_t needed = (HEADER + bytes + f->page_bytes - 1) / f->page_bytes;
    if (pages < needed || (page + needed) * f->page_bytes > f->bytes) {
        wrong(f, "a long record has lost its end");
        return (byte_string){0};
    }
    for (uint64_t i = 1; i < pages; i++)
        if (!see(f, page + i))
            return (byte_string){0};
    return (byte_string){at + HEADER, bytes};
}

/* ---- nodes ---- */

/* A node's place in its page; NULL if it is not within. */
static const uint8_t *node_at(file *f, const uint8_t *page, unsigned index)
{
    size_t offset = two(page + HEADER + 2 * (size_t)index);
    if (offset >= two(page + 14) && offset + NODE <= f->page_bytes &&
        offset + NODE + two(page + offset + 6) <= f->page_bytes)
        return page + offset;
    wrong(f, "a record lies outside of its page");
    return NULL;
}

static byte_string node_key(const uint8_t *node)
{
    return (byte_string){node + NODE, two(node + 6)};
}

static byte_string node_data(file *f, const uint8_t *page, const uint8_t *node)
{
    size_t bytes = four(node);
    size_t offset = (size_t)(node - page) + NODE + two(node + 6);
    bool is_long = two(node + 4) == IS_LONG;
    if (two(node + 4) > IS_LONG || offset + (is_long ? sizeof(uint64_t) : bytes) > f->page_bytes) {
        wrong(f, "a record lies outside of its page");
        return (byte_string){0};
    }
    return is_long ? long_data(f, eight(page + offset), bytes)
                   : (byte_string){page + offset, bytes};
}

static int compare(const tree *t, byte_string a, byte_string b)
{
    if (t->of_free_pages)
        return (eight(a.at) > eight(b.at)) - (eight(a.at) < eight(b.at));
    int order = memcmp(a.at, b.at, a.bytes < b.bytes ? a.bytes : b.bytes);
    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* Free pages: how many, and their numbers, from the highest to the lowest. */
static bool look_at_list(file *f, byte_string key, byte_string list)
{
    if (eight(key.at) == 0 || eight(key.at) > f->commit || list.bytes < sizeof(uint64_t) ||
        list.bytes / sizeof(uint64_t) - 1 < eight(list.at))
        return wrong(f, "the list of free pages is not in order");
    uint64_t before = UINT64_MAX;
    for (uint64_t i = 1; i <= eight(list.at); i++) {
        uint64_t page = eight(list.at + i * sizeof page);
        if (page >= before)
            return wrong(f, "the list of free pages is not in order");
        if (!see(f, page))
            return false;
        before = page;
    }
    return true;
}

static bool look_at_leaf_node(file *f, tree *t, const uint8_t *page, const uint8_t *node)
{
    byte_string data = node_data(f, page, node);
    if (f->wrong != NULL)
        return false;
    t->entries++;
    if (t->of_free_pages)
        return look_at_list(f, node_key(node), data);
    return record_check_next(&f->records, node_key(node), data) ||
           wrong(f, "a record has a wrong sum, or cannot be");
}

/* ---- trees ---- */

/* Keys grow, and none is less than what the branches above it promise. */
static bool key_is_next(file *f, tree *t, byte_string key)
{
    bool right = t->of_free_pages ? key.bytes == sizeof(uint64_t) : key.bytes > 0;
    if (!right || (t->last.at != NULL && compare(t, t->last, key) >= 0) ||
        (t->least.at != NULL && compare(t, t->least, key) > 0))
        return wrong(f, "keys are not in order");
    return true;
}

static bool look_at_leaf(file *f, tree *t, const uint8_t *page, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *node = node_at(f, page, i);
        if (node == NULL || !key_is_next(f, t, node_key(node)) ||
            !look_at_leaf_node(f, t, page, node))
            return false;
        t->last = node_key(node);
        t->least = (byte_string){0};
    }
    return true;
}

static bool look_at_page(file *f, tree *t, uint64_t number, unsigned level);

/*
 * A key in a branch is more than the last key before it, and no more than the first key below it:
 * so whoever looks for a key finds the page that has it. The first key of a branch means nothing.
 */
static bool look_at_branch(file *f, tree *t, const uint8_t *page, unsigned count, unsigned level)
{
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *node = node_at(f, page, i);
        if (node == NULL || (i > 0 && !key_is_next(f, t, node_key(node))))
            return false;
        if (i > 0)
            t->least = node_key(node);
        if (!look_at_page(f, t, four(node) | (uint64_t)two(node + 4) << 32, level + 1))
            return false;
    }
    return true;
}

static bool look_at_page(file *f, tree *t, uint64_t number, unsigned level)
{
    bool is_leaf = level == t->depth;
    const uint8_t *page = page_of_kind(f, number, is_leaf ? LEAF : BRANCH);
    if (page == NULL)
        return false;
    unsigned lower = two(page + 12);
    unsigned upper = two(page + 14);
    if (lower <= HEADER || lower % 2 != 0 || lower > upper || upper > f->page_bytes)
        return wrong(f, "a page is not what it should be");
    unsigned count = (lower - HEADER) / 2;
    return is_leaf ? look_at_leaf(f, t, page, count) : look_at_branch(f, t, page, count, level);
}

/* ---- the file ---- */

/* A tree as a meta tells it: 4: flags (2)  6: depth (2)  32: entries (8)  40: root (8) */
static bool look_at_tree(file *f, const uint8_t *told, unsigned flags, bool of_free_pages)
{
    tree t = {.of_free_pages = of_free_pages, .depth = two(told + 6)};
    uint64_t root = eight(told + 40);
    if (two(told + 4) != flags || t.depth > MAX_DEPTH || (t.depth == 0) != (root == UINT64_MAX))
        return wrong(f, "a tree is not what it should be");
    if (t.depth > 0 && !look_at_page(f, &t, root, 1))
        return false;
    return t.entries == eight(told + 32) || wrong(f, "records are missing");
}

/* NULL if it is none. */
static const uint8_t *meta_at(file *f, unsigned page)
{
    const uint8_t *at = f->at + page * f->page_bytes;
    if (f->bytes < page * f->page_bytes + HEADER + META_BYTES || two(at + 10) != META ||
        four(at + HEADER) != MAGIC_NUMBER || four(at + HEADER + 4) != LMDB_FORMAT)
        return NULL;
    return at + HEADER;
}

/* Both metas; the newer commit. Each writes the older one, odd numbers to page 1. */
static bool find_metas(file *f, const uint8_t *metas[2], uint64_t *commit)
{
    metas[0] = meta_at(f, 0);
    if (metas[0] == NULL)
        return false;
    f->page_bytes = four(metas[0] + META_TREES);
    if (f->page_bytes < 512 || f->page_bytes > 32768 || (f->page_bytes & (f->page_bytes - 1)) != 0)
        return false;
    metas[1] = meta_at(f, 1);
    if (metas[1] == NULL || four(metas[1] + META_TREES) != f->page_bytes)
        return false;
    uint64_t even = eight(metas[0] + META_COMMIT);
    uint64_t odd = eight(metas[1] + META_COMMIT);
    if (even % 2 != 0 || odd % 2 != 1 || (even + 1 != odd && odd + 1 != even))
        return false;
    *commit = even > odd ? even : odd;
    return true;
}

/* Pages behind the end of the file were never written: they must be free. */
static bool look_at_tail(file *f)
{
    for (uint64_t page = f->bytes / f->page_bytes; page <= f->last_page; page++)
        if (!is_seen(f, page))
            return wrong(f, "it is too short");
    return true;
}

/* All that this meta leads to. */
static bool look_at_commit(file *f, const uint8_t *meta)
{
    f->commit = eight(meta + META_COMMIT);
    f->last_page = eight(meta + META_LAST);
    f->records = (record_check){.of = f->records.of};
    f->wrong = NULL;
    if (f->last_page < 1 || f->last_page > f->bytes / f->page_bytes + MAX_TAIL)
        return wrong(f, "it is too short");
    free(f->seen);
    f->seen = calloc(f->last_page / 8 + 1, 1);
    if (f->seen == NULL)
        return wrong(f, "there is no memory to look at it");
    return look_at_tree(f, meta + META_TREES, MDB_INTEGERKEY, true) &&
           look_at_tree(f, meta + META_TREES + TREE_BYTES, 0, false) && look_at_tail(f) &&
           (record_check_end(&f->records) || wrong(f, "records are missing, or of another commit"));
}

static bool look_at_file(file *f)
{
    const uint8_t *metas[2];
    uint64_t commit;
    return find_metas(f, metas, &commit) ? look_at_commit(f, metas[commit % 2])
                                         : wrong(f, "its first pages are not what they should be");
}

static bool map_file(store *s, file *f)
{
    struct stat about;
    int opened = openat(s->directory, STORE_DATA, O_RDONLY | O_CLOEXEC);
    if (opened < 0 && errno == ENOENT)
        return store_lost(s, STORE_DATA);
    void *map = MAP_FAILED;
    if (opened >= 0 && fstat(opened, &about) == 0) {
        f->bytes = (size_t)about.st_size;
        map =
            mmap(NULL, f->bytes + 1, PROT_READ, MAP_PRIVATE, opened, 0); /* + 1: it may be empty */
    }
    int code = errno;
    if (opened >= 0)
        close(opened);
    f->map = map;
    f->at = map;
    return map != MAP_FAILED || store_fail(s, code, "read the data");
}

bool verify_file(store *s)
{
    file f = {.records.of = s};
    if (!map_file(s, &f))
        return false;
    bool fine = look_at_file(&f) || store_damaged(s, STORE_DATA, f.wrong);
    s->total = f.records.total;
    s->last_turn = f.records.turn;
    s->journal.salt = f.records.salt;
    s->journal.bytes = f.records.journal_bytes;
    free(f.seen);
    munmap(f.map, f.bytes + 1);
    return fine;
}
