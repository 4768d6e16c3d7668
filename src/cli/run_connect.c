/* `baton run`: which server, and a client of it, which is opened once whoever answers. */
#include "cli.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* Milliseconds. */
static const uint64_t USUAL_LEASE = 10000;
static const uint64_t GRACE_WITHOUT_LEASE = 5000;
/*
 * A cluster takes a lock from a node that died after about 0.4 s. The lease is long enough to go on
 * at another node then; but if this cannot be, the command should not run for much longer.
 */
static const uint64_t CLUSTER_LEASE = 3000;
static const uint64_t CLUSTER_GRACE = 100;

/* Whether it runs within the command of another `baton run` with the same lock. */
static bool is_nested(const run *r)
{
    const char *name = getenv("BATON_LOCK");
    const char *at = getenv("BATON_AT");
    return name != NULL && at != NULL && strcmp(name, r->name) == 0 && strcmp(at, r->at) == 0;
}

bool run_find_server(run *r)
{
    path_server(NULL, r->socket_path);
    if (r->at == NULL || r->at[0] == '\0')
        r->at = r->socket_path;
    r->is_nested = is_nested(r);
    r->is_private = strcmp(r->at, r->socket_path) == 0; /* or BATON_AT is that of a run around us */
    if (r->by.password_file == NULL || r->is_private)
        return true;
    r->password = read_password("run", r->by.password_file);
    r->code = EXIT_FAILED;
    return r->password != NULL;
}

/* What was not asked for depends on whether it is a cluster. */
static uint64_t lease_for(const run *r, bool is_cluster)
{
    return r->lease != RUN_NOT_GIVEN ? r->lease : is_cluster ? CLUSTER_LEASE : USUAL_LEASE;
}

static uint64_t grace_for(const run *r, bool is_cluster, uint64_t lease)
{
    if (r->grace != RUN_NOT_GIVEN)
        return r->grace;
    return is_cluster ? CLUSTER_GRACE : lease == 0 ? GRACE_WITHOUT_LEASE : lease / 4;
}

int run_open_client(run *r)
{
    const baton_client_options how = {.address = r->at,
                                      .password = r->password,
                                      .tls_ca = r->by.tls_ca,
                                      .tls_cert = r->by.tls_cert,
                                      .tls_key = r->by.tls_key,
                                      .lease_ms = (uint32_t)lease_for(r, false),
                                      .cluster_lease_ms = (uint32_t)lease_for(r, true)};
    int result = baton_client_open(&how, &r->client);
    if (result != BATON_OK)
        return result;
    bool is_cluster = baton_client_is_cluster(r->client);
    uint64_t lease = lease_for(r, is_cluster);
    r->lease_ms = (int64_t)lease;
    r->grace_ms = (int64_t)grace_for(r, is_cluster, lease);
    return BATON_OK;
}

int run_connect(run *r)
{
    return r->is_private ? run_connect_private(r) : run_open_client(r);
}
