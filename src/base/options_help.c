/* What is printed: complaints, and the help, within the width of a terminal. See options.h. */
#include "options.h"

#include <stdarg.h>
#include <string.h>

enum { WIDTH = 80, WIDEST_NAMES = 30 }; /* columns; a wider name has its line alone */

int options_wrong(const command_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", line->program);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see '%s --help'\n", line->program);
    va_end(arguments);
    return OPTIONS_EXIT_USAGE;
}

/* ---- text in lines ---- */

typedef struct page {
    FILE *out;
    int indent; /* of lines that a text goes on in */
    int column;
} page;

static void new_line(page *p)
{
    fputc('\n', p->out);
    p->column = 0;
}

/* A word, with what stands directly before and behind it. */
static void put_word(page *p, const char *before, const char *word, size_t bytes,
                     const char *behind)
{
    int width = (int)(strlen(before) + bytes + strlen(behind));
    if (p->column > p->indent && p->column + 1 + width > WIDTH)
        new_line(p);
    int gap = p->column < p->indent ? p->indent - p->column : p->column > p->indent;
    fprintf(p->out, "%*s%s%.*s%s", gap, "", before, (int)bytes, word, behind);
    p->column += gap + width;
}

/* Words fill lines; a newline in the text is one. */
static void put_text(page *p, const char *text)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, " \n");
        if (bytes > 0)
            put_word(p, "", text, bytes, "");
        text += bytes;
        if (*text == '\n')
            new_line(p);
        text += *text != '\0';
    }
}

static void put_paragraph(FILE *out, const char *text)
{
    page p = {.out = out};
    put_text(&p, text);
    if (*text != '\0')
        new_line(&p);
}

/* ---- rows ---- */

/* Of "  -l, --listen ADDR", or of the word for an argument. */
static int name_width(const option_row *row)
{
    size_t value = row->value != NULL ? strlen(row->value) : 0;
    size_t name = row->name != NULL ? strlen("  -l, --") + strlen(row->name) : 1;
    return (int)(name + (value > 0) + value);
}

static void put_name(FILE *out, const option_row *row)
{
    const char *value = row->value != NULL ? row->value : "";
    if (row->name == NULL)
        fprintf(out, "  %s", value);
    else if (row->letter != 0)
        fprintf(out, "  -%c, --%s%s%s", row->letter, row->name, *value != '\0' ? " " : "", value);
    else
        fprintf(out, "      --%s%s%s", row->name, *value != '\0' ? " " : "", value);
}

/* How wide the column of names is: as the widest of them, without those that are too wide. */
static int names_width(const command_line *line)
{
    int widest = name_width(options_next(&(command_line){0}, NULL));
    for (const option_row *row = line->rows; row != NULL && row->help != NULL; row++) {
        int width = name_width(row);
        if (width > widest && width <= WIDEST_NAMES)
            widest = width;
    }
    return widest;
}

static void put_row(FILE *out, const option_row *row, int width)
{
    page p = {out, width + 2, name_width(row)};
    put_name(out, row);
    if (p.column > width)
        new_line(&p);
    put_text(&p, row->help);
    if (row->env != NULL)
        put_word(&p, "($", row->env, strlen(row->env), ")");
    if (row->usual != NULL)
        put_word(&p, "(", row->usual, strlen(row->usual), ")");
    new_line(&p);
}

/* A paragraph that ends with a colon stands directly above its options. */
static bool leads(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon != NULL && colon[1] == '\0';
}

static void put_rows(FILE *out, const command_line *line)
{
    int width = names_width(line);
    const char *above = line->intro;
    for (const option_row *row = line->rows; row != NULL && row->help != NULL; row++) {
        if (row->name == NULL && row->value == NULL) {
            if (row->help[0] != '\0')
                fputc('\n', out);
            put_paragraph(out, row->help);
            above = row->help;
            continue;
        }
        if (above != NULL && !leads(above))
            fputc('\n', out);
        above = NULL;
        put_row(out, row, width);
    }
    if (above != NULL && !leads(above))
        fputc('\n', out);
    put_row(out, options_next(&(command_line){0}, NULL), width);
}

void options_help(const command_line *line, FILE *out)
{
    const char *usage = line->usage;
    for (const char *lead = "Usage:";; lead = "      ") {
        int bytes = (int)strcspn(usage, "\n");
        fprintf(out, "%s %s%s%.*s\n", lead, line->program, bytes > 0 ? " " : "", bytes, usage);
        usage += bytes;
        if (*usage++ == '\0')
            break;
    }
    put_paragraph(out, line->intro);
    put_rows(out, line);
    if (line->end != NULL) {
        fputc('\n', out);
        put_paragraph(out, line->end);
    }
}
