/* The course of every `baton bench`: open the plot's file, measure, print, draw. */
#include "bench.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens the plot's file before anything is measured: what cannot be written should be said now. */
static int open_plot(const char *name)
{
    int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        fprintf(stderr, "baton bench: cannot write the plot to %s: %s\n", name, strerror(errno));
    return file;
}

static const char *show(const bench_kind *kind, const bench_view *view, int file)
{
    (view->as_json ? kind->print_json : kind->print_text)(kind->results);
    if (file < 0)
        return NULL;
    if (ftruncate(file, 0) != 0 && errno != EINVAL) /* EINVAL: a pipe, which has no length */
        return "cannot write the plot";
    return kind->draw(kind->results, file);
}

int bench_run(const bench_kind *kind, const bench_view *view)
{
    int file = -1;
    if (view->plot != NULL && (file = open_plot(view->plot)) < 0)
        return EXIT_FAILED;
    const char *trouble = kind->measure(kind->results);
    if (view->with_progress)
        fputs("\r\033[K", stderr);
    if (trouble == NULL)
        trouble = show(kind, view, file);
    if (file >= 0 && close(file) != 0 && trouble == NULL)
        trouble = "cannot write the plot";
    if (trouble != NULL) {
        fprintf(stderr, "baton bench: %s\n", trouble);
        return EXIT_FAILED;
    }
    return finish_output("bench");
}
