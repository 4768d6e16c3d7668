/* See config.h. */
#include "config.h"
#include "cli.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 16 };

static char *read_all(const command_line *line, const char *file)
{
    FILE *from = fopen(file, "re");
    char *text = malloc(MAX_BYTES + 1);
    size_t bytes = from != NULL && text != NULL ? fread(text, 1, MAX_BYTES + 1, from) : 0;
    bool fine = from != NULL && text != NULL && !ferror(from) && bytes <= MAX_BYTES &&
                memchr(text, '\0', bytes) == NULL;
    if (!fine) {
        const char *why = from == NULL || ferror(from) ? strerror(errno) : "is no file of settings";
        fprintf(stderr, "%s: cannot read %s: %s\n", line->program, file, why);
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

/* "KEY = VALUE" */
static bool take_setting(const command_line *line, char *setting, void *into, void *unused,
                         options_got *got)
{
    char *equals = strchr(setting, '=');
    if (equals == NULL) {
        options_wrong(line, "a setting is KEY = VALUE");
        return false;
    }
    *equals = '\0';
    const char *key = trim(setting);
    const char *value = trim(equals + 1);
    return options_set(line, key, value, into, unused, got) == OPTIONS_FINE;
}

int config_read(const command_line *line, const char *file, char **text, void *into, void *unused,
                options_got *got)
{
    *text = read_all(line, file);
    if (*text == NULL)
        return EXIT_FAILED;
    uint32_t number = 0;
    for (char *rest = *text, *setting; (setting = strsep(&rest, "\n")) != NULL;) {
        number++;
        setting = trim(setting);
        if (*setting == '\0' || *setting == '#')
            continue;
        if (!take_setting(line, setting, into, unused, got)) {
            fprintf(stderr, "%s: that is in %s, line %u\n", line->program, file, number);
            return EXIT_USAGE;
        }
    }
    return EXIT_DONE;
}
