/* What a node shows over HTTP besides what every server shows; by the thread of the pages. */
#include "daemon.h"
#include "metrics.h"
#include "server.h"

#include <stdio.h>

lock_counts daemon_count(server *of)
{
    node_figures f = daemon_look(of);
    return node_lock_counts(&f);
}

bool daemon_is_open(server *of, char why[SERVE_WHY])
{
    node_figures f = daemon_look(of);
    if (f.why[0] != '\0') {
        snprintf(why, SERVE_WHY, "%s", f.why);
        return false;
    }
    if (f.majority)
        return true;
    snprintf(why, SERVE_WHY, "no majority: this node reaches %u of %u others, and suspects %u",
             f.reached, f.nodes - 1, f.suspected);
    return false;
}

static void write_messages(const node_counts *c, resp_out *text)
{
    metrics_counter(text, "baton_node_messages_sent_total", c->sent, "Messages to other nodes.");
    metrics_counter(text, "baton_node_messages_received_total", c->received,
                    "Messages from other nodes; heartbeats do not count.");
    metrics_counter(text, "baton_node_messages_dropped_total", c->dropped,
                    "Messages to nodes that were not reached, or too slow.");
}

static void write_consensus(const node_figures *f, resp_out *text)
{
    metrics_gauge(text, "baton_node_etcd_reached", f->outside_reached,
                  "1 if etcd would have taken a write when it was last asked.");
    metrics_counter(text, "baton_node_etcd_asked_total", f->counts.asked,
                    "Decisions that etcd was asked for.");
    metrics_counter(text, "baton_node_etcd_unanswered_total", f->counts.unanswered,
                    "Of these, those that it has not answered, or not in time.");
    metrics_counter(text, "baton_node_etcd_refused_total", f->counts.refused,
                    "Of these, those whose key was deleted, or is not what it should be.");
}

void daemon_metrics(server *of, resp_out *text)
{
    node_figures f = daemon_look(of);
    metrics_counter(text, "baton_node_epochs_total", f.counts.epochs,
                    "Changes of epoch, over all locks.");
    metrics_counter(text, "baton_node_operations_total", f.counts.operations,
                    "Operations executed on this node's copy, whoever issued them.");
    metrics_counter(text, "baton_node_ejections_total", f.counts.ejected,
                    "Sections at this node that the cluster has ended.");
    write_messages(&f.counts, text);
    if (f.outside)
        write_consensus(&f, text);
    metrics_counter(text, "baton_node_turns_total", f.counts.turns, "Turns of the event loop.");
    metrics_counter(text, "baton_node_commits_total", f.store.commits,
                    "Turns that wrote to the disk.");
    metrics_gauge(text, "baton_node_locks_resting", f.resting,
                  "Locks that nobody uses, on the disk and not in memory.");
    metrics_gauge(text, "baton_node_store_bytes", f.store.bytes, "Bytes of the data file.");
    metrics_gauge(text, "baton_node_store_max_bytes", f.store.max,
                  "Bytes that it may take: --max-bytes.");
    metrics_gauge(text, "baton_node_peers", f.nodes - 1, "Other nodes of the cluster.");
    metrics_gauge(text, "baton_node_peers_reached", f.reached,
                  "Other nodes that a connection to stands.");
    metrics_gauge(text, "baton_node_peers_suspected", f.suspected,
                  "Other nodes that are taken for dead.");
    metrics_gauge(text, "baton_node_settled", f.why[0] == '\0',
                  "0 while it does not count yet, or rejoins, or too many have forgotten.");
    metrics_gauge(text, "baton_node_majority", f.majority,
                  "1 if this node and those it reaches are a majority.");
}
