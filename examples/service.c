/*
 * A lock that processes on many machines share. Start a server, and this as often as you like:
 *
 *     baton serve &
 *     cc service.c $(pkg-config --cflags --libs baton) && ./a.out 127.0.0.1:7700
 */
#include <baton/client.h>

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    baton_client *client;
    uint64_t token;
    if (argc != 2) {
        puts("Start a server with 'baton serve', then this with its address: 127.0.0.1:7700");
        return 0;
    }
    baton_client_options options = {.address = argv[1], .lease_ms = 10000};
    int result = baton_client_open(&options, &client);
    if (result != BATON_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], baton_strerror(result));
        return 1;
    }
    result = baton_client_lock(client, "nightly", 60000, &token);
    if (result == BATON_OK) {
        printf("inside, with token %" PRIu64 "\n", token);
        result = baton_client_exit(client, "nightly", token);
    }
    if (result != BATON_OK)
        fprintf(stderr, "nightly: %s\n", baton_strerror(result));
    baton_client_close(client);
    return result == BATON_OK ? 0 : 1;
}
