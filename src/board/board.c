/* Boards: made, found, removed; and the names of locks on them. */
#include "internal.h"
#include "layout.h"
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x6e6f746162647262ULL
/* Changes whenever the layout of a board does. */
#define LAYOUT 1U

enum { DEFAULT_PARTICIPANTS = 128, DEFAULT_LOCKS = 256 };

/* Where the parts begin, in bytes from the start. */
typedef struct plan {
    uint32_t participants;
    uint32_t locks;
    size_t rows;
    size_t card_owners;
    size_t cards;
    size_t bytes;
} plan;

static baton_collect_spec cards_spec(uint32_t participants)
{
    return (baton_collect_spec){
        .object = "matrix", /* costs in proportion to who takes part */
        .participants = participants,
        .collectors = 1, /* not used: a card is a word */
        .value_bytes = sizeof(baton_word),
    };
}

static int plan_board(uint32_t participants, uint32_t locks, plan *out)
{
    plan p = {.participants = participants, .locks = locks};
    size_t cards;
    baton_collect_spec spec = cards_spec(participants);
    if (locks == 0 || locks > BATON_MAX_LOCKS_ON_BOARD)
        return BATON_BAD_COUNT;
    int error = baton_collect_size(&spec, &cards);
    if (error != BATON_OK)
        return error;
    bool fits = extend(&p.rows, 1, sizeof(board_header));
    p.card_owners = p.rows;
    fits = fits && extend(&p.card_owners, locks, sizeof(board_row));
    p.cards = p.card_owners;
    fits = fits && extend(&p.cards, participants, sizeof(card_owner));
    p.bytes = p.cards;
    fits = fits && extend(&p.bytes, 1, cards);
    *out = p;
    return fits ? BATON_OK : BATON_BAD_COUNT;
}

/* ---- names and files ---- */

/* "/baton.NAME", as shm_open wants it; false if the name is not allowed. */
static bool file_name(const char *name, char file[BATON_BOARD_NAME_BYTES + 8])
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (name == NULL || name[0] == '\0' || name[0] == '.' ||
        strlen(name) >= BATON_BOARD_NAME_BYTES || name[strspn(name, allowed)] != '\0')
        return false;
    snprintf(file, BATON_BOARD_NAME_BYTES + 8, "/baton.%s", name);
    return true;
}

/*
 * Whether nobody but this user, or root, can have written what the file holds: whoever else could
 * may lie in it, or cut it off under the feet of those who have mapped it.
 */
static int check_owner(int file)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return BATON_SYSTEM;
    if (!S_ISREG(info.st_mode))
        return BATON_NOT_BOARD;
    if ((info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & 022) != 0)
        return BATON_OTHER_OWNER;
    return BATON_OK;
}

/* Closes without losing what errno says. */
static int give_up_file(int file, int error)
{
    int saved = errno;
    close(file);
    errno = saved;
    return error;
}

/*
 * Takes the lock under which a board is made and named; gives it back when the file it returns is
 * closed, also by the end of the process. Opened anew, since a lock belongs to an opening: so it
 * keeps out threads and forked children as well. -1 if that fails.
 */
static int take_file_lock(int file)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return -1;
    int result;
    do
        result = flock(own, LOCK_EX);
    while (result != 0 && errno == EINTR);
    return result == 0 ? own : give_up_file(own, -1);
}

/* ---- making and finding ---- */

static uint64_t header_checksum(const board_header *header)
{
    return checksum_of(&header->layout, &header->checksum);
}

static void set_up(baton_board *board, void *memory, const plan *p)
{
    board->header = memory;
    board->row = (board_row *)(void *)((char *)memory + p->rows);
    board->card_owner = (card_owner *)(void *)((char *)memory + p->card_owners);
    board->bytes = p->bytes;
    board->participants = p->participants;
    board->locks = p->locks;
}

/* Fills a file that nobody else uses: new, or left by a maker that died before it had finished. */
static int make(int file, const plan *p, uint64_t name_space, void **memory)
{
    if (ftruncate(file, 0) != 0 || ftruncate(file, (off_t)p->bytes) != 0)
        return BATON_SYSTEM;
    *memory = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (*memory == MAP_FAILED)
        return BATON_SYSTEM;
    board_header *header = *memory; /* all else is zero, as it should be */
    header->layout = LAYOUT;
    header->word_bytes = sizeof(baton_word);
    header->participants = p->participants;
    header->locks = p->locks;
    header->name_space = name_space;
    header->bytes = p->bytes;
    header->checksum = header_checksum(header);
    baton_collect *cards;
    baton_collect_spec spec = cards_spec(p->participants);
    int error =
        baton_collect_create(&spec, (char *)*memory + p->cards, p->bytes - p->cards, &cards);
    if (error == BATON_OK)
        atomic_store_explicit(&header->magic, MAGIC, memory_order_release);
    else
        munmap(*memory, p->bytes);
    return error;
}

/*
 * What kind of board a file holds, read from the file: nothing of it is mapped before it is known.
 */
static int read_header(int file, uint64_t name_space, plan *p)
{
    struct stat info;
    board_header header;
    if (fstat(file, &info) != 0)
        return BATON_SYSTEM;
    ssize_t got = pread(file, &header, sizeof header, 0);
    if (got < 0)
        return BATON_SYSTEM;
    if (got < (ssize_t)sizeof header || header.magic != MAGIC)
        return BATON_NOT_BOARD;
    if (header.layout != LAYOUT || header.word_bytes != sizeof(baton_word))
        return BATON_OTHER_VERSION;
    if (header.checksum != header_checksum(&header) ||
        plan_board(header.participants, header.locks, p) != BATON_OK || p->bytes != header.bytes)
        return BATON_NOT_BOARD;
    if ((uint64_t)info.st_size < header.bytes)
        return BATON_TOO_SMALL;
    return header.name_space == name_space ? BATON_OK : BATON_OTHER_NAMESPACE;
}

/* Whether nobody has finished making it: to be asked by who has the file's lock. */
static bool is_unmade(int file)
{
    uint64_t magic = 0;
    ssize_t got = pread(file, &magic, sizeof magic, 0);
    return got == 0 || (got == (ssize_t)sizeof magic && magic == 0);
}

static int map(int file, const plan *p, bool writable, void **memory)
{
    *memory =
        mmap(NULL, p->bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file, 0);
    return *memory != MAP_FAILED ? BATON_OK : BATON_SYSTEM;
}

static int make_or_map(int file, plan *wanted, uint64_t name_space, void **memory)
{
    int lock = take_file_lock(file);
    if (lock < 0)
        return BATON_SYSTEM;
    int error = BATON_OK;
    if (is_unmade(file)) {
        error = make(file, wanted, name_space, memory);
    } else {
        error = read_header(file, name_space, wanted);
        if (error == BATON_OK)
            error = map(file, wanted, true, memory);
    }
    return give_up_file(lock, error);
}

/* The handle of what is mapped; owns the file and the mapping from now on. */
static int finish(int file, const plan *p, void *memory, bool writable, baton_board **board)
{
    baton_board *made = calloc(1, sizeof *made);
    int error = made != NULL ? BATON_OK : BATON_SYSTEM;
    if (error == BATON_OK)
        error = baton_collect_attach((char *)memory + p->cards, p->bytes - p->cards, &made->cards);
    if (error == BATON_OK)
        error = find_parts(made->cards, &made->cards_in);
    if (error == BATON_OK && (made->cards_in.participants != p->participants ||
                              made->cards_in.value_bytes != sizeof(baton_word)))
        error = BATON_NOT_BOARD;
    if (error != BATON_OK) {
        free(made);
        munmap(memory, p->bytes);
        return error == BATON_NOT_COLLECT ? BATON_NOT_BOARD : error;
    }
    set_up(made, memory, p);
    made->file = file;
    made->writable = writable;
    *board = made;
    return BATON_OK;
}

static bool is_supported(void)
{
    return sizeof(baton_word) == 8;
}

int baton_board_open(const char *name, const baton_board_spec *spec, baton_board **board)
{
    char path[BATON_BOARD_NAME_BYTES + 8];
    plan p;
    void *memory = NULL;
    if (board == NULL)
        return BATON_BAD_ARGUMENT;
    if (!is_supported())
        return BATON_UNSUPPORTED;
    if (!file_name(name, path))
        return BATON_BAD_NAME;
    uint32_t participants = spec != NULL ? spec->participants : 0;
    uint32_t locks = spec != NULL ? spec->locks : 0;
    int error = plan_board(participants != 0 ? participants : DEFAULT_PARTICIPANTS,
                           locks != 0 ? locks : DEFAULT_LOCKS, &p);
    if (error != BATON_OK)
        return error;
    uint64_t name_space = life_name_space();
    if (name_space == 0)
        return BATON_SYSTEM;
    int file = shm_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return BATON_SYSTEM;
    error = check_owner(file); /* before it is locked: others could keep the lock for ever */
    if (error == BATON_OK)
        error = make_or_map(file, &p, name_space, &memory);
    if (error == BATON_OK)
        error = finish(file, &p, memory, true, board);
    return error == BATON_OK ? error : give_up_file(file, error);
}

int baton_board_find(const char *name, baton_board **board)
{
    char path[BATON_BOARD_NAME_BYTES + 8];
    plan p;
    void *memory = NULL;
    if (board == NULL)
        return BATON_BAD_ARGUMENT;
    if (!is_supported())
        return BATON_UNSUPPORTED;
    if (!file_name(name, path))
        return BATON_BAD_NAME;
    int file = shm_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0); /* at once, if it is a pipe */
    if (file < 0)
        return errno == ENOENT ? BATON_NO_BOARD : BATON_SYSTEM;
    int error = check_owner(file);
    if (error == BATON_OK)
        error = read_header(file, life_name_space(), &p);
    if (error == BATON_OK)
        error = map(file, &p, false, &memory);
    if (error == BATON_OK)
        error = finish(file, &p, memory, false, board);
    return error == BATON_OK ? error : give_up_file(file, error);
}

void baton_board_close(baton_board *board)
{
    if (board == NULL)
        return;
    munmap(board->header, board->bytes);
    close(board->file);
    free(board);
}

int baton_board_remove(const char *name)
{
    char path[BATON_BOARD_NAME_BYTES + 8];
    if (!file_name(name, path))
        return BATON_BAD_NAME;
    if (shm_unlink(path) == 0)
        return BATON_OK;
    return errno == ENOENT ? BATON_NO_BOARD : BATON_SYSTEM;
}

/* ---- locks ---- */

static bool is_lock_name(const char *name)
{
    size_t length = name != NULL ? strlen(name) : 0;
    if (length == 0 || length >= BATON_BOARD_LOCK_NAME_BYTES)
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        if (*c < ' ' || *c == 127)
            return false;
    return true;
}

static bool find_lock(const baton_board *board, const char *name, uint32_t *lock)
{
    for (uint32_t i = 0; i < baton_board_locks(board); i++)
        if (strncmp(board->row[i].name, name, BATON_BOARD_LOCK_NAME_BYTES) == 0) {
            *lock = i;
            return true;
        }
    return false;
}

int baton_board_lock(baton_board *board, const char *name, uint32_t *lock)
{
    if (board == NULL || lock == NULL)
        return BATON_BAD_ARGUMENT;
    if (!is_lock_name(name))
        return BATON_BAD_NAME;
    if (find_lock(board, name, lock))
        return BATON_OK;
    if (!board->writable)
        return BATON_READ_ONLY;
    int held = take_file_lock(board->file);
    if (held < 0)
        return BATON_SYSTEM;
    int error = BATON_OK;
    uint32_t rows = baton_board_locks(board);
    if (find_lock(board, name, lock)) { /* somebody else has named it meanwhile */
        error = BATON_OK;
    } else if (rows == board->locks) {
        error = BATON_FULL;
    } else {
        memset(board->row[rows].name, 0, sizeof board->row[rows].name);
        memcpy(board->row[rows].name, name, strlen(name));
        reg_write(&board->header->rows, rows + 1, release); /* the name before that it is there */
        *lock = rows;
    }
    return give_up_file(held, error);
}
