/*
 * Preloaded into a node: what names mean is in the file BATON_NAMES, with a line "NAME ADDRESS" for
 * each. An address may be "away": then the resolver is silent for as long as that stands there; or
 * "none". Other names are left to the system. Who asks and who is answered is written to
 * BATON_NAMES.asked, a '+' and a '-' for each.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static bool find(const char *name, char address[64])
{
    char line_name[64];
    FILE *names = fopen(getenv("BATON_NAMES"), "re");
    bool found = false;
    while (names != NULL && !found && fscanf(names, "%63s %63s", line_name, address) == 2)
        found = strcmp(line_name, name) == 0;
    if (names != NULL)
        fclose(names);
    return found;
}

static void note(char what)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.asked", getenv("BATON_NAMES"));
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, &what, 1) != 1)
        abort();
    close(file);
}

__attribute__((visibility("default"))) int getaddrinfo(const char *name, const char *port,
                                                       const struct addrinfo *hints,
                                                       struct addrinfo **found)
{
    char address[64];
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!find(name, address))
        return real(name, port, hints, found);
    note('+');
    while (strcmp(address, "away") == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        find(name, address);
    }
    int error = strcmp(address, "none") != 0 ? real(address, port, hints, found) : EAI_AGAIN;
    note('-');
    return error;
}
