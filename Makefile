# What the project needs beyond Go, gcc, make, git and node is fetched by go itself.
GO ?= go
BIN := bin/pws
FUZZ_INPUTS ?= 5000

.PHONY: build run test test-mcp test-openapi lint-openapi vet cross lint unit scripts race golden fuzz bench demo soak clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/pws

# run serves on 127.0.0.1:8080 with ./data.
run: build
	$(BIN) serve

# test is what has to pass before a change lands.
test: vet lint race fuzz

vet:
	$(GO) vet ./...
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted"; exit 1; fi

# cross checks that the program and its tests compile where its users are. The server itself runs on
# Unix systems, everything else on Windows too.
cross:
	@for system in darwin freebsd windows; do \
		echo "vet for $$system" && GOOS=$$system CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
	done

lint:
	$(GO) tool staticcheck ./...

# unit is the quick run while working.
unit:
	$(GO) test -short ./...

# race runs everything, the scenarios against the real program included.
race:
	CGO_ENABLED=1 $(GO) test -race -timeout 14m ./...

scripts:
	CGO_ENABLED=1 $(GO) test -race -run 'TestScripts' ./cmd/pws

# test-mcp drives the service with the TypeScript clients of MCP and its conformance suite, by the
# versions of a lock file that names no host.
test-mcp: build
	@! grep '"resolved"' test/mcp/package-lock.json
	cd test/mcp && npm ci --no-progress
	cd test/mcp && PWS=$(CURDIR)/$(BIN) node --test --test-concurrency=1 \
		--test-reporter=spec clients.test.mjs conformance.test.mjs

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
	$(GO) test ./work -run 'Frozen' -update
	$(GO) test ./cmd/pws -run 'TestScripts' -update

# fuzz gives each target some thousand inputs.
fuzz:
	./internal/arch/fuzz.sh $(FUZZ_INPUTS)

bench: build
	$(BIN) bench

demo: build
	$(BIN) demo --repo .

# soak runs the crash tests for longer than a change has to wait for, and cuts the log at every byte.
soak:
	CGO_ENABLED=1 PWS_CRASH_ROUNDS=50 PWS_CUT_ALL=1 $(GO) test -race -timeout 2h \
		-run 'Crash|LogCut' ./actors

clean:
	rm -rf bin
