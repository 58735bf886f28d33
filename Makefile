# What the project needs beyond Go, gcc, make, git and node is fetched by go itself.
GO ?= go
BIN := bin/pws
FUZZ_INPUTS ?= 5000

# UNCOLLECTED, with a size behind it, runs what lives for seconds without collecting garbage until it
# has that much memory: compilers take three quarters of the processor then, staticcheck a third.
UNCOLLECTED := env GOGC=off GOMEMLIMIT=

# Everything but the race detector is built in one way, the program included, so that nothing is
# compiled twice. Only compilers are UNCOLLECTED, not what they build.
export CGO_ENABLED ?= 0
export GOFLAGS ?= -trimpath '-toolexec=$(UNCOLLECTED)1GiB'

# PURE are the packages in which nothing is concurrent; internal/arch holds them to it. Only their tests
# whose names end in NeedNoLock have several goroutines, and the race detector.
PURE := identity internal/arch internal/cross internal/fault internal/id internal/logformat internal/sorted internal/unseen work work/diff work/edit work/license work/merge work/path

# DRIVERS drive the whole service or its program; nightly runs all of them with the race detector. The
# slowest are first. The scripts RACED_SCRIPTS, whose requests meet, start RACED_PROGRAM, which has the
# race detector; to have it in the tests too would cost the compile of all that they import.
DRIVERS := cmd/pws test/web api api/docs bench bench/replay bench/child bench/client
RACED_PROGRAM := bin/pws-raced
RACED_SCRIPTS := backup|claim|claim_next|crash|event|eventstream|idempotency|search|signal|snapshot|together|watch

# SCRIPTS are how many scripts run at the same time: half of their time they wait for the program.
SCRIPTS := 4

# PACKAGES are how many packages are tested at the same time, one more than the processors of a small machine:
# some tests wait for a clock.
PACKAGES := 3

# RACED are all others: a new package is among them until it is put elsewhere.
RACED = $(filter-out $(PURE:%=pws/%) $(DRIVERS:%=pws/%),$(shell $(GO) list ./...))
# NEED_NO_LOCK are the files of tests of PURE in which several goroutines read one value without a lock: they
# show that readers need none, so they run with the race detector.
NEED_NO_LOCK = $(shell git grep -l '^func Test.*NeedNoLock' -- $(PURE:%='%/*_test.go'))

# LONG are the tests that test leaves to long: those of the client's commands, of pws bench and of pws
# demo, and others that take eight seconds of the processor or more. Each is the name of one test.
LONG := TestClientScripts|TestAllRunsAgainstTheService|TestAttacks|TestGroupRunsSmall|TestGrowthRunsSmall|TestOverloadRunsSmall|TestResidentRunsSmall|TestHistoryOfEdgeCases|TestRandomHistory|TestReplayIntoTheService|TestMemoryOfMessagesAndDiscussions|TestMemoryStaysBelowItsCeiling|TestBackupOfABusyServer|TestDropSurvivesCrashes|TestFollowedDropSurvivesCrashes|TestGroupSim|TestWritesStopWhileASnapshotFits|TestDeclaredBodiesTakeNoMemory|TestUnreadAnswersAreBounded|TestUploadsAreBounded|TestProjectsHaveNoGaps|TestReadDuringExpire|TestMemoryBytesIsNotNegative|TestSimulationFindsMissingRules|TestHugeRequestsAreAnswered|TestMemoryIsFlat|TestIgnoredFilesAsGit|TestKilledAnywhere|TestManyChanges|TestInputThatIsTooLarge|TestCostOfHostileMarkdown|TestWalkInParts
export LONG_TESTS := ^($(LONG))$$
LONG_FOLDERS = $(patsubst %/,%,$(sort $(dir $(shell git grep -lwE '^func ($(LONG))' -- '*_test.go'))))
LONG_PLAIN = $(filter $(DRIVERS) $(PURE),$(LONG_FOLDERS))
LONG_RACED = $(filter-out $(DRIVERS) $(PURE),$(LONG_FOLDERS))

# CHECKS is how many random runs a model is compared in, RACED_SEEDS how many groups of servers are
# simulated with the race detector, and SOAK_SEEDS how many a soak simulates without it; SOAK_WHOLE_SEEDS
# are those of groups with their engines. By default a process with the race detector takes a second to
# end.
CHECKS := 30
RACED_SEEDS := 15
SIM_SEEDS := 1000
SOAK_SEEDS := 1000000
SOAK_WHOLE_SEEDS := 50000
RACE_EXIT := GORACE=atexit_sleep_ms=10
RACE = CGO_ENABLED=1 $(RACE_EXIT) RAPID_CHECKS=$(CHECKS) PWS_SEEDS=$(RACED_SEEDS) $(GO) test -race -vet=off

.PHONY: build install dist run test nemesis test-mcp test-web screenshots test-hosts test-openapi lint-openapi vet format cross crossvet lint unit plain \
	long raced-program scripts race sim nightly golden fuzz bench demo soak clean

# VERSION is the tag of the commit without its v, with what has changed since. Without a tag the
# program has the version in cmd/pws/main.go. Symbols and debug information are left out: profiles and
# stack traces do not need them.
VERSION ?= $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null))
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(VERSION:%=-X main.version=%)' -o $(BIN) ./cmd/pws

# install puts the program where PREFIX says; packagers set DESTDIR to install below another root.
PREFIX ?= /usr/local
install: build
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 0755 $(BIN) '$(DESTDIR)$(PREFIX)/bin/pws'

# dist makes the programs of a release: static, equal for the same commit and Go, with checksums.
PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64 windows-arm64
RELEASE := $(or $(VERSION),$(shell sed -n 's/^var version = "\(.*\)"$$/\1/p' cmd/pws/main.go))
dist:
	rm -rf dist
	@set -e; for platform in $(PLATFORMS); do \
		file=pws-$(RELEASE)-$$platform; \
		case $$platform in windows-*) file=$$file.exe ;; esac; \
		echo "dist/$$file"; \
		GOOS=$${platform%-*} GOARCH=$${platform#*-} CGO_ENABLED=0 $(GO) build -trimpath \
			-ldflags '-s -w $(VERSION:%=-X main.version=%)' -o dist/$$file ./cmd/pws; \
	done
	cd dist && (sha256sum pws-* || shasum -a 256 pws-*) > SHA256SUMS

# run serves on 127.0.0.1:8080 with ./data.
run: build
	$(BIN) serve

# test is what a change passes first: every test once, except those of long, TestGroup… of cmd/pws (see
# nemesis) and the browser tests (see test-web). The race detector covers all packages except PURE and
# DRIVERS; of the drivers, it covers only the server in the scripts RACED_SCRIPTS. Fuzz targets run what is
# kept for them. A table, an example or a frozen sample that differs from what golden would write fails.
# .ci/run adds the others BEFORE a change is merged, and nightly covers everything.
test: vet lint plain race

format:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi

vet: format
	$(GO) vet ./...

# cross checks that the types of the program, its tests and all they import are right where its users
# are; crossvet has them compiled and vetted too. The server itself runs on Unix systems, everything
# else on Windows too.
SYSTEMS := darwin freebsd windows
cross:
	$(UNCOLLECTED)3GiB $(GO) run ./internal/cross $(SYSTEMS)

crossvet:
	@for system in $(SYSTEMS); do \
		echo "vet for $$system" && GOOS=$$system CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
	done

lint:
	$(UNCOLLECTED)3GiB $(GO) tool staticcheck ./...

# unit is the quick run while working.
unit:
	$(GO) test -short ./...

# plain runs without the race detector what has nothing to find in it, or too little for what it costs.
plain: raced-program
	$(RACE_EXIT) PWS_RACED_PROGRAM='$(CURDIR)/$(RACED_PROGRAM)' PWS_RACED_SCRIPTS='$(RACED_SCRIPTS)' \
		$(GO) test -vet=off -p $(PACKAGES) -parallel $(SCRIPTS) -timeout 14m -skip "$$LONG_TESTS" \
		$(filter-out ./test/web,$(DRIVERS:%=./%)) $(PURE:%=./%)
	$(GO) test -vet=off -run 'TestSimulation$$' ./journal/replica
	@echo 'SKIPPED: the web page was not tested in a browser; make test-web does that in three minutes.'

raced-program:
	CGO_ENABLED=1 $(GO) build -race -o $(RACED_PROGRAM) ./cmd/pws

# race runs everything else with it, and of what plain runs the tests in which readers meet.
race:
	$(RACE) -p $(PACKAGES) -timeout 14m -skip "$$LONG_TESTS" $(RACED)
	$(RACE) -run 'NeedNoLock$$' $(sort $(dir $(NEED_NO_LOCK:%=./%)))

# long runs the tests LONG, those of concurrent packages with the race detector.
long:
	$(RACE_EXIT) $(GO) test -vet=off -p $(PACKAGES) -parallel $(SCRIPTS) -timeout 14m -run "$$LONG_TESTS" \
		$(LONG_PLAIN:%=./%)
	$(RACE) -p $(PACKAGES) -timeout 14m -run "$$LONG_TESTS" $(LONG_RACED:%=./%)

scripts:
	$(GO) test -run 'TestScripts' ./cmd/pws

# sim simulates groups of whole servers, as many as take a minute; make test simulates a few of them with
# the race detector.
sim:
	PWS_SEEDS=$(SIM_SEEDS) $(GO) test -vet=off -run 'TestGroupSim$$' ./actors

# nemesis disturbs groups of real servers under load for two minutes; make test does so for seconds. Then
# other groups are damaged, changed and upgraded, each in one way.
nemesis:
	PWS_NEMESIS_TIME=2m $(GO) test -vet=off -run 'TestNemesis(Partitions)?$$' ./cmd/pws
	PWS_GROUPS=1 $(GO) test -vet=off -parallel $(SCRIPTS) -run 'TestGroup' ./cmd/pws

# nightly is what takes longer than a change has to wait for: every test with the race detector, every
# byte cut and flipped, many rounds of crashes, large crowds, and fuzzing.
nightly: vet crossvet lint soak fuzz

# test-mcp drives the service and pws mcp with the TypeScript clients and the conformance suite, by the
# versions of a lock file that names no host.
test-mcp: build
	@! grep '"resolved"' test/mcp/package-lock.json
	cd test/mcp && npm ci --no-progress
	cd test/mcp && PWS=$(CURDIR)/$(BIN) node --test --test-concurrency=1 \
		--test-reporter=spec clients.test.mjs bridge.test.mjs conformance.test.mjs

# test-web looks at every page of the web page in a real browser, which it installs where there is
# none, as people with and without scripts, pointers and good eyes do. It keeps pictures of the pages in
# test/web/screens.
test-web: build
	@! grep '"resolved"' test/web/package-lock.json
	cd test/web && npm ci --no-progress
	test/web/chromium.sh install
	PWS=$(CURDIR)/$(BIN) PWS_BROWSER=required $(GO) test -vet=off -count=1 -parallel 3 ./test/web

# screenshots makes the pictures of README.md again.
screenshots: build
	PWS=$(CURDIR)/$(BIN) PWS_BROWSER=required $(GO) test ./test/web -run TestPicturesOfReadme -update

# test-hosts installs Claude Code, Codex and Gemini CLI, puts pws into their settings, and runs a session
# of each with a stand-in for its model. Only Claude Code has a script of its own to install.
test-hosts: build
	@! grep '"resolved"' test/hosts/package-lock.json
	cd test/hosts && npm ci --no-progress && node node_modules/@anthropic-ai/claude-code/install.cjs
	cd test/hosts && PWS=$(CURDIR)/$(BIN) node --test --test-concurrency=1 \
		--test-reporter=spec hosts.test.mjs

# lint-openapi judges the interface, as the program prints it, by a public linter.
lint-openapi: build
	@! grep '"resolved"' test/openapi/package-lock.json
	cd test/openapi && npm ci --no-progress
	mkdir -p test/openapi/build
	$(BIN) openapi > test/openapi/build/openapi.json
	cd test/openapi && npm run --silent lint

# test-openapi generates the types of a TypeScript client, compiles it, and uses a service by it.
test-openapi: lint-openapi
	cd test/openapi && npm run --silent generate && npm run --silent compile
	cd test/openapi && PWS=$(CURDIR)/$(BIN) node run.mjs

# golden rewrites the expected outputs; the tree has to stay clean.
golden:
	$(GO) test ./identity -run 'Table' -update
	$(GO) test ./work -run 'Frozen|Activities' -update
	$(GO) test ./api -run 'FieldComments' -update
	$(GO) test ./client/setup -run 'TestHosts' -update
	$(GO) test ./cmd/pws -run 'TestScripts' -update

# fuzz gives each target some thousand inputs that are made from the kept ones.
fuzz:
	./internal/arch/fuzz.sh $(FUZZ_INPUTS)

bench: build
	$(BIN) bench

demo: build
	$(BIN) demo --repo .

# soak runs every test without the race detector, for some measure memory, and with it. PWS_CUT_ALL takes
# every byte, bit and step where ordinary runs take samples, and crowds of full size; PWS_CRASH_ROUNDS is
# how often a process is killed.
soak: CHECKS := 100
soak: export PWS_CUT_ALL := 1
soak: export PWS_GROUPS := 1
soak:
	$(GO) test -vet=off -timeout 1h ./...
	PWS_SEEDS=$(SOAK_SEEDS) $(GO) test -vet=off -timeout 6h -run 'TestSimulation$$' ./journal/replica
	PWS_SEEDS=$(SOAK_WHOLE_SEEDS) $(GO) test -vet=off -timeout 6h -run 'TestGroupSim$$' ./actors
	PWS_UPGRADE_FROM=HEAD~1 $(GO) test -vet=off -timeout 20m -run 'TestGroupRollingUpgrade' ./cmd/pws
	PWS_NEMESIS_TIME=60m $(GO) test -vet=off -parallel 1 -timeout 2h -run 'TestNemesis' ./cmd/pws
	PWS_CRASH_ROUNDS=50 $(RACE) -timeout 4h ./...

clean:
	rm -rf bin dist
