/* See config.h. */
#include "config.h"
#include "cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16 };

static char *read_all(const char *command, const char *file)
{
    FILE *from = fopen(file, "re");
    char *text = malloc(MOST_BYTES + 1);
    size_t bytes = from != NULL && text != NULL ? fread(text, 1, MOST_BYTES + 1, from) : 0;
    bool fine = from != NULL && text != NULL && !ferror(from) && bytes <= MOST_BYTES &&
                memchr(text, '\0', bytes) == NULL;
    if (!fine) {
        const char *why = from == NULL || ferror(from) ? strerror(errno) : "is no file of settings";
        fprintf(stderr, "baton %s: cannot read %s: %s\n", command, file, why);
        free(text);
        text = NULL;
    } else {
        text[bytes] = '\0';
    }
    if (from != NULL)
        fclose(from);
    return text;
}

/* Without blanks at both ends. */
static char *trim(char *text)
{
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

int config_read(const char *command, const char *file, char **text,
                int (*take)(void *context, const char *key, char *value), void *context)
{
    *text = read_all(command, file);
    if (*text == NULL)
        return EXIT_FAILED;
    uint32_t number = 0;
    for (char *rest = *text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        number++;
        char *key = trim(line);
        if (*key == '\0' || *key == '#')
            continue;
        char *equals = strchr(key, '=');
        if (equals != NULL)
            *equals = '\0';
        int error = equals != NULL ? take(context, trim(key), trim(equals + 1))
                                   : usage_error(command, "a setting is KEY = VALUE");
        if (error != EXIT_DONE) {
            fprintf(stderr, "baton %s: that is in %s, line %u\n", command, file, number);
            return error;
        }
    }
    return EXIT_DONE;
}
