# Everything a newcomer types. Meson does the work; this file only knows the words.
#
#   make           build                      make demo       see it work, 15 seconds
#   make check     all tests                  make lint       format, static analysis, tidiness
#   make theorems  the papers' claims, run    make mutants    wrong locks that must be caught
#   make bench     measure for a minute       make check-speed, make check-freestanding, make bench-serve
#   make bench-flood      what a good client feels while 200 others flood the server
#   make mutants-random   N= SEED= ROOM=: how much the tests notice
#   make second-opinion   what GenMC says of the locks, if it is installed; ARGS="dt1 --every 1"
#   make soak      a cluster in trouble, 10 minutes   make bench-cluster, make bench-held
#   make install   PREFIX= DESTDIR=           make clean

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
NINJA    = ninja -C $(BUILD)

.PHONY: all deps demo bench bench-serve bench-flood bench-cluster bench-held soak check check-freestanding check-speed mutants mutants-random second-opinion theorems lint format install clean help

all: deps $(BUILD)/build.ninja
	@$(NINJA) --quiet

deps:
	@scripts/deps build

$(BUILD)/build.ninja:
	@meson setup $(BUILD) > $(BUILD).log || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

demo: all
	@scripts/demo $(BUILD)/baton
	@echo
	@scripts/demo-cluster $(BUILD)/baton

bench: all
	@$(BUILD)/baton bench --seconds 60 --rounds 9

# Handing a lock on, and TRY, against a redis-server on this machine; and memory.
bench-serve: all
	@scripts/deps bench-serve
	@scripts/bench-serve

# How long a good client waits while others flood the server.
bench-flood: all
	@scripts/bench-flood

# Nodes are killed, paused, cut off; the judge reads what their clients saw. SECONDS= SEED= NODES=
soak: all
	@scripts/deps soak
	@scripts/soak $(or $(SECONDS),600) $(or $(SEED),$(shell date +%s)) $(NODES)

# Against Debian's etcd, and ZooKeeper if it can be had; three and five nodes of each on this machine. The build
# looks for ZooKeeper's client once more, which may be here only now. ARGS="--only operations --rounds 3"
bench-cluster: all
	@scripts/deps bench-cluster
	@scripts/deps bench-zookeeper || echo "without ZooKeeper, then"
	@meson setup --reconfigure $(BUILD) > /dev/null && $(NINJA) --quiet
	@scripts/bench-cluster $(ARGS)

# A client that holds a million locks of three nodes.
bench-held: all
	@scripts/bench-held

check:
	@scripts/deps build check
	@scripts/check

check-freestanding:
	@scripts/deps freestanding
	@tests/e2e/freestanding.sh

# Wrong changes, each of which a check must catch: tests/mutants.
mutants: all
	@scripts/mutants

# Wrong changes by chance: how many of them the tests catch. N= SEED= ROOM=
mutants-random: all
	@scripts/deps check
	@scripts/mutants-random --count $(or $(N),200) --seed $(or $(SEED),1) $(if $(ROOM),--room $(ROOM))

# GenMC on the shipped locks and on some mutants, compared with baton-check. GENMC= names the program.
second-opinion: all
	@scripts/second-opinion $(ARGS)

# Every row of docs/theorems.md, run and compared.
theorems: all
	@scripts/theorems

check-speed: all
	@scripts/deps check
	@scripts/speed

lint:
	@scripts/deps build lint
	@scripts/lint

format:
	@scripts/deps lint
	@git ls-files '*.[ch]' | xargs clang-format -i

install: all
	@meson configure $(BUILD) --prefix=$(PREFIX) && $(NINJA) --quiet
	@DESTDIR=$(if $(DESTDIR),$(abspath $(DESTDIR))) meson install -C $(BUILD) --no-rebuild --quiet

clean:
	@rm -rf $(BUILD) build-*

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile
