/* Reads the subject's source for people's sake; nothing that is checked depends on it. */
#include "source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 16, LINE = 256 };

static struct {
    char name[LINE];
    char (*line)[LINE];
    int lines;
} files[MAX_FILES];
static int file_count;

/* Meson gives names relative to its build folder, or to the root; a user's own lie here. */
static FILE *open_source(const char *name)
{
    static const char *const folders[] = {"", "build/", "../"};
    char path[2 * LINE];
    const char *root = getenv("BATON_SOURCE");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s%s", folders[i], name);
        FILE *file = fopen(path, "r");
        if (file != NULL)
            return file;
    }
    const char *inner = strstr(name, "src/");
    if (root == NULL || inner == NULL)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", root, inner);
    return fopen(path, "r");
}

static int file_number(const char *name)
{
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i].name, name) == 0)
            return i;
    if (file_count == MAX_FILES)
        return -1;
    snprintf(files[file_count].name, LINE, "%s", name);
    FILE *in = open_source(name);
    char text[LINE];
    int capacity = 0;
    while (in != NULL && fgets(text, sizeof text, in) != NULL) {
        if (files[file_count].lines == capacity) {
            capacity = capacity == 0 ? 256 : 2 * capacity;
            void *more = realloc(files[file_count].line, (size_t)capacity * LINE);
            if (more == NULL)
                break;
            files[file_count].line = more;
        }
        text[strcspn(text, "\n")] = '\0';
        memcpy(files[file_count].line[files[file_count].lines++], text, LINE);
    }
    if (in != NULL)
        fclose(in);
    return file_count++;
}

/* The line as it stands, or NULL. */
static const char *raw(const char *file, int line)
{
    int f = file_number(file);
    return f >= 0 && line >= 1 && line <= files[f].lines ? files[f].line[line - 1] : NULL;
}

const char *source_text(const char *file, int line)
{
    static char text[LINE];
    const char *from = raw(file, line);
    if (from == NULL)
        return "";
    while (isspace((unsigned char)*from))
        from++;
    snprintf(text, sizeof text, "%s", from);
    char *comment = strstr(text, "/*");
    if (comment != NULL)
        *comment = '\0';
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

const char *source_paper_line(const char *file, int line)
{
    static char number[16];
    const char *from = raw(file, line);
    const char *comment = from != NULL ? strstr(from, "/* ") : NULL;
    size_t length = comment != NULL ? strspn(comment + 3, "0123456789") : 0;
    if (length == 0 || length >= sizeof number)
        return "";
    memcpy(number, comment + 3, length);
    number[length] = '\0';
    return number;
}

/* ---- names of registers ---- */

static struct {
    const char *file;
    int line;
    unsigned count;
} seen[64];
static size_t seen_count;

void source_names_restart(void)
{
    seen_count = 0;
}

/* How many registers this line has initialised before. */
static unsigned count_of(const char *file, int line)
{
    for (size_t i = 0; i < seen_count; i++)
        if (seen[i].line == line && strcmp(seen[i].file, file) == 0)
            return ++seen[i].count;
    if (seen_count < sizeof seen / sizeof seen[0]) {
        seen[seen_count].file = file;
        seen[seen_count].line = line;
        seen[seen_count++].count = 0;
    }
    return 0;
}

/* Where the loop that surrounds the line starts to count its variable. */
static unsigned loop_start(const char *variable, const char *file, int line)
{
    char pattern[LINE + 8];
    snprintf(pattern, sizeof pattern, " %s = ", variable);
    for (int above = line; above >= 1 && above > line - 12; above--) {
        const char *text = raw(file, above);
        const char *found = text != NULL ? strstr(text, pattern) : NULL;
        if (found != NULL)
            return (unsigned)strtoul(found + strlen(pattern), NULL, 10);
    }
    return 0;
}

/* Copies without what every name has in front. */
static void strip(const char *expression, char *out, size_t bytes)
{
    static const char *const prefixes[] = {"&", "lock->", "me->", "me_", "fme_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(expression, prefixes[i], strlen(prefixes[i])) == 0)
            expression += strlen(prefixes[i]);
    snprintf(out, bytes, "%s", expression);
    char *argument = strstr(out, "(lock, ");
    if (argument != NULL)
        memmove(argument + 1, argument + 7, strlen(argument + 7) + 1);
}

void source_name_register(const char *expression, const char *file, int line, char *name,
                          size_t bytes)
{
    char plain[LINE];
    strip(expression, plain, sizeof plain);
    unsigned count = count_of(file, line);
    char *open = strpbrk(plain, "([");
    if (open == NULL) { /* in no loop of its own: numbered only if there are several */
        if (count == 0)
            snprintf(name, bytes, "%s", plain);
        else
            snprintf(name, bytes, "%s#%u", plain, count);
        return;
    }
    char variable[LINE];
    snprintf(variable, sizeof variable, "%.*s", (int)strcspn(open + 1, ")]"), open + 1);
    char close = *open == '(' ? ')' : ']';
    snprintf(name, bytes, "%.*s%c%u%c", (int)(open - plain), plain, *open,
             loop_start(variable, file, line) + count, close);
}

void source_name_owned(const char *plain, uint32_t owner, char *name, size_t bytes)
{
    /* flag(2) and the like say whose they are; the fields of a participant do not. */
    if (strpbrk(plain, "([") != NULL) {
        snprintf(name, bytes, "%s", plain);
        return;
    }
    bool of_node = strncmp(plain, "node->", 6) == 0;
    char field[LINE];
    snprintf(field, sizeof field, "%s", of_node ? plain + 6 : plain);
    char *number = strchr(field, '#');
    unsigned count = number != NULL ? (unsigned)strtoul(number + 1, NULL, 10) : 0;
    if (number != NULL)
        *number = '\0';
    if (of_node) /* two nodes each: q_p[0] and q_p[1] of the paper */
        snprintf(name, bytes, "p%u[%u].%s", owner, count % 2, field);
    else
        snprintf(name, bytes, "p%u.%s", owner, field);
}
