/*
 * What this machine can do at best, to hold clusters against: one write that is on the disk, and
 * one round trip between two threads over TCP on loopback. build/floor DIRECTORY
 */
#include "histogram.h"
#include "json.h"
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, BYTES = 64 };

#define HALF_A_SECOND UINT64_C(500000000)

/* A page of a file that has its length already, as a database writes it. */
static bool measure_disk(const char *directory, histogram *took)
{
    char name[4096], page[PAGE] = {0};
    snprintf(name, sizeof name, "%s/floor-XXXXXX", directory);
    int file = mkstemp(name);
    if (file < 0)
        return false;
    unlink(name);
    bool is_fine = true;
    for (int i = 0; i < PAGES && is_fine; i++)
        is_fine = pwrite(file, page, PAGE, (off_t)i * PAGE) == PAGE;
    is_fine = is_fine && fsync(file) == 0;
    uint64_t until = now_ns() + HALF_A_SECOND;
    for (uint64_t i = 0; is_fine && now_ns() < until; i++) {
        uint64_t begun = now_ns();
        memset(page, (int)i, sizeof page);
        is_fine =
            pwrite(file, page, PAGE, (off_t)(i % PAGES * PAGE)) == PAGE && fdatasync(file) == 0;
        histogram_add(took, now_ns() - begun);
    }
    close(file);
    return is_fine;
}

/* Sends back whatever comes. */
static void *echo(void *context)
{
    int at = accept(*(int *)context, NULL, NULL);
    const int on = 1;
    char bytes[BYTES];
    ssize_t got;
    setsockopt(at, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while ((got = recv(at, bytes, sizeof bytes, 0)) > 0 && send(at, bytes, (size_t)got, 0) == got)
        ;
    close(at);
    return NULL;
}

static bool ping(int to, histogram *took)
{
    char bytes[BYTES] = {0};
    uint64_t until = now_ns() + HALF_A_SECOND;
    for (uint64_t begun; (begun = now_ns()) < until;) {
        if (send(to, bytes, sizeof bytes, 0) != BYTES ||
            recv(to, bytes, sizeof bytes, MSG_WAITALL) != BYTES)
            return false;
        histogram_add(took, now_ns() - begun);
    }
    return true;
}

static bool measure_network(histogram *took)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof here;
    const int on = 1;
    pthread_t other;
    int door = socket(AF_INET, SOCK_STREAM, 0);
    int to = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(door, (struct sockaddr *)&here, sizeof here) != 0 || listen(door, 1) != 0 ||
        getsockname(door, (struct sockaddr *)&here, &bytes) != 0 ||
        pthread_create(&other, NULL, echo, &door) != 0)
        return false;
    setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bool is_fine = connect(to, (struct sockaddr *)&here, sizeof here) == 0 && ping(to, took);
    shutdown(to, SHUT_RDWR);
    pthread_join(other, NULL);
    close(to);
    close(door);
    return is_fine;
}

int main(int argc, char **argv)
{
    static histogram disk, network;
    if (argc != 2) {
        fputs("Usage: floor DIRECTORY\n", stderr);
        return 64;
    }
    if (!measure_disk(argv[1], &disk) || !measure_network(&network)) {
        fprintf(stderr, "floor: %s: %s\n", argv[1], strerror(errno));
        return EXIT_FAILURE;
    }
    json j = json_start(stdout);
    json_open(&j, NULL, '{');
    json_real(&j, "fdatasync_ms", (double)histogram_at(&disk, 0.5) / 1e6);
    json_real(&j, "round_trip_ms", (double)histogram_at(&network, 0.5) / 1e6);
    json_close(&j, '}');
    return EXIT_SUCCESS;
}
