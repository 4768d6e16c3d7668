"""Which tests are to catch a mutant by chance: those of its room.

A row has rooms, or patterns of files in one, and tests from quick to slow. The first row that
fits counts. A test is a program of the build with its arguments, or a script with the programs that
it runs in parentheses; pytest runs those in Python. Arguments of a script that are such programs
stand for their paths. Tests that do not have the mutated source in them are left out.
"""
import dataclasses
import fnmatch
import re

from mutation import TREE, Trouble

TESTS = {
    "base/options*": "test_options; tests/e2e/cli.sh (baton)",
    "base/address.c": "test_address",
    "base": "test_base64; test_json; test_list; test_log; test_name_table; test_seen; test_options;"
    " test_lease; test_history; test_litmus; tests/e2e/cli.sh (baton); tests/e2e/test_http.py (baton)",
    "reg": "test_set; baton-check park -n 3 -m c11; baton-check park-lock; test_locks",
    "lock": "test_misuse; test_set; baton-check --all --quick; test_steps; test_locks",
    "collect": "test_board; baton-check --all --quick; test_collect;"
    " scripts/theorems L10-22k3 L10-7k3 L10-7f2 L10-8k3 L10-8f1 L10-8f2 (baton-check)",
    "board": "test_board",
    "resp": "test_resp; test_reply; test_sha256; test_proof; test_peers; test_peer_hello; test_lease;"
    " tests/e2e/test_password.py (baton)",
    "wdme": "test_wdme; test_lease; baton-sim wdme; baton-sim wdme --leases 1 --cuts 1",
    "wme": "test_detector; test_boot_check; test_wme; test_peer_wire; baton-sim wme --runs 500",
    "consensus": "test_paxos; test_wme; test_etcd; baton-sim wme --runs 500;"
    " baton-sim wme --consensus outside --runs 500",
    "replica": "test_wme; baton-sim wme --runs 500",
    "resource": "test_op; test_node; test_store;"
    " baton-sim node --faults power,kill,full --runs 200",
    "session": "test_lease; test_session; test_strangers; test_node;"
    " tests/e2e/test_password.py (baton); tests/e2e/test_serve.py (baton);"
    " tests/e2e/test_http.py (baton)",
    "cluster/peer*": "test_peers; test_peer_hello; test_peer_wire; test_node",
    "cluster": "test_node; baton-sim node --runs 100;"
    " tests/e2e/test_cluster_sessions.py (baton);"
    " tests/e2e/test_node_status.py (baton); tests/e2e/test_cluster_resume.py (baton);"
    " tests/e2e/test_node_drain.py (baton)",
    "tls": "test_tls; test_peer_tls; test_links; tests/e2e/test_peer_tls.py (baton)",
    "serve/lookup.c": "test_lookup",
    "serve/metrics.c": "test_metrics",
    "serve/listen.c": "test_listen; tests/e2e/test_serve.py (baton)",
    "serve/tokens.c": "test_tokens; tests/e2e/test_restart.py (baton)",
    "serve": "tests/e2e/test_password.py (baton); tests/e2e/test_restart.py (baton);"
    " tests/e2e/test_http.py (baton); tests/e2e/test_serve.py (baton);"
    " tests/e2e/test_crowd.py (baton); tests/e2e/test_attacks.py (baton);"
    " tests/e2e/test_node_drain.py (baton)",
    "etcd": "test_etcd; test_etcd_place; test_etcd_requests; tests/e2e/test_etcd_tls.py (baton);"
    " tests/e2e/test_etcd_engine.py (baton)",
    "node/engine.c": "tests/e2e/test_etcd_engine.py (baton); tests/e2e/test_cluster_etcd.py (baton)",
    "node": "test_links; test_peer_tls; tests/e2e/test_peer_tls.py (baton); tests/e2e/test_node_config.py (baton); tests/e2e/test_node_status.py (baton);"
    " tests/e2e/test_cluster_input.py (baton); tests/e2e/test_cluster_sessions.py (baton);"
    " tests/e2e/test_node_drain.py (baton)",
    "embed": "tests/e2e/with_scratch.sh embed_live (embed_live)",
    "client/book.c": "test_book; test_client_memory; test_client;"
    " tests/e2e/with_scratch.sh client_live baton (baton client_live)",
    "client/drift.c": "test_drift",
    "client/watch.c": "test_watch",
    "client": "test_client_memory; test_client;"
    " tests/e2e/with_scratch.sh client_live baton (baton client_live)",
    "cli/top* cli/text.c": "test_top; tests/e2e/top.sh (baton board_actor)",
    "cli/run_session.c": "tests/e2e/cluster_run.sh (baton)",
    "cli/run* cli/server_paths.c": "test_server_paths; tests/e2e/test_run_terminal.py (baton);"
    " tests/e2e/run.sh (baton)",
    "cli/held.c cli/release.c": "test_commands; tests/e2e/test_password.py (baton); tests/e2e/run.sh (baton)",
    "cli/ask.c cli/issue.c cli/read.c": "test_commands; tests/e2e/cluster_run.sh (baton)",
    "cli/bench*": "tests/e2e/cli.sh (baton); tests/e2e/test_bench_load.py (baton)",
    "cli/status*": "test_commands; tests/e2e/test_node_status.py (baton)",
    "cli/node.c cli/config.c": "tests/e2e/cli.sh (baton);"
    " tests/e2e/test_node_config.py (baton); tests/e2e/test_node_status.py (baton);"
    " tests/e2e/test_etcd_tls.py (baton)",
    "cli/serve.c cli/server_options.c": "tests/e2e/cli.sh (baton);"
    " tests/e2e/test_password.py (baton); tests/e2e/test_http.py (baton)",
    "cli": "test_commands; tests/e2e/cli.sh (baton); tests/e2e/test_http.py (baton)",
}


@dataclasses.dataclass(frozen=True)
class Test:
    command: str
    programs: tuple  # that it runs
    is_script: bool


def parse_test(text, tree):
    """'test_x -a' or 'tests/e2e/x.sh (program program)'."""
    command, programs = re.match(r"([^()]*?)(?: \(([^()]+)\))?$", text.strip()).groups()
    if programs is None:
        return Test(command, (command.split()[0],), False)
    if not (tree / command.split()[0]).exists():
        raise Trouble(f"there is no {command}: correct TESTS of scripts/mutation/rooms.py")
    return Test(command, tuple(programs.split()), True)


def room_of(source):
    return source.parts[1]


def row_of(source):
    """The key of the row for a source, src/ROOM/.../FILE.c."""
    inside = "/".join(source.parts[1:])
    for key in TESTS:
        patterns = [word if "/" in word else word + "/*" for word in key.split()]
        if any(fnmatch.fnmatchcase(inside, pattern) for pattern in patterns):
            return key
    raise Trouble(f"no row is for {source}: add one to TESTS of scripts/mutation/rooms.py")


def tests_of(source, tree=TREE):
    return [parse_test(text, tree) for text in TESTS[row_of(source)].split(";")]
