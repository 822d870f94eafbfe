# `just` lists the recipes. `just check` is what CI runs.

# A process with the race detector sleeps for a second before it ends, and the scripts start hundreds.
export GORACE := env("GORACE", "atexit_sleep_ms=0")

set shell := ["bash", "-euo", "pipefail", "-c"]

version := `git describe --tags --dirty --always 2>/dev/null || echo devel`

_default:
    @{{ quote(just_executable()) }} --list --unsorted

# Everything a change must pass before it is merged
check: lint race examples

# Build the program into ./bin
build:
    go build -trimpath -ldflags "-X main.buildVersion={{ version }}" -o bin/xrun ./cmd/xrun

# Unit tests and scripts; pass e.g. './internal/plan -run Sweep'
test *args="./...":
    go test {{ args }}

# The same under the race detector
race:
    go test -race ./...

# Rewrite golden files, scripts and generated pages; read the diff before you commit it
update:
    XRUN_UPDATE=1 go test ./cmd/xrun
    go test ./internal/report ./internal/plan/specfile -update
    git diff --stat

# Format Go and CUE
fmt:
    go tool gofumpt -w cmd internal schema
    go run cuelang.org/go/cmd/cue fmt ./schema ./examples/...

# Formatting, go vet, staticcheck
lint:
    @files=$(go tool gofumpt -l cmd internal schema); test -z "$files" || { echo "not formatted (just fmt):"; echo "$files"; exit 1; }
    go vet ./...
    GOOS=darwin go vet ./cmd/... ./internal/...
    go tool staticcheck ./...

# Check the examples with plain cue, plan and run them on this machine
examples:
    go run cuelang.org/go/cmd/cue fmt --check ./schema ./examples/...
    go run cuelang.org/go/cmd/cue vet ./examples/...
    for dir in examples/*/; do go run ./cmd/xrun vet "./$dir"; done
    state=$(mktemp -d); trap 'rm -rf "$state"' EXIT; go run ./cmd/xrun --state "$state" run ./examples/quickstart

# Figures beside those of peers, in one run; never fails
bench:
    -go test ./cmd/xrun -run '^$' -bench Figures -benchtime 1x -timeout 30m
    -go test ./cmd/xrun -run '^$' -bench 'Run|Report' -benchtime 1x
    -go test ./internal/... -run '^$' -bench .

# All repetitions in full: kills, fuzzing, races
soak:
    XRUN_SOAK=1 go test -count=1 -timeout 60m ./...
    go test -race -count=2 -timeout 60m ./internal/...
    {{ quote(just_executable()) }} fuzz 40s

# Fuzz each target for a while
fuzz time="20s":
    go test ./internal/plan -run '^$' -fuzz FuzzTemplate -fuzztime {{ time }} -fuzzminimizetime 1s
    go test ./internal/plan -run '^$' -fuzz FuzzNumberValue -fuzztime {{ time }} -fuzzminimizetime 1s
    go test ./internal/plan -run '^$' -fuzz FuzzNoScript -fuzztime {{ time }} -fuzzminimizetime 1s
    go test ./internal/plan/specfile -run '^$' -fuzz FuzzLoad -fuzztime {{ time }} -fuzzminimizetime 1s
    go test ./internal/engine/metric -run '^$' -fuzz FuzzExtract -fuzztime {{ time }} -fuzzminimizetime 1s

# Read the documentation of a package as users of it do
docs pkg="./internal/engine":
    go doc -all {{ pkg }}

# Lines by package, and the longest files
stats:
    @for d in $(go list -f '{{{{.Dir}}' ./...); do printf '%6d code %6d test  %s\n' "$(find "$d" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec cat {} + | wc -l)" "$(find "$d" -maxdepth 1 -name '*_test.go' -exec cat {} + | wc -l)" "${d#"$PWD"/}"; done
    @git ls-files '*.go' | grep -v _test.go | xargs wc -l | sort -rn | sed -n 2,8p

# Known vulnerabilities (needs its database, which is not reachable everywhere)
vuln:
    go run golang.org/x/vuln/cmd/govulncheck@latest ./...

# Build a release for the usual systems into ./bin
release:
    for t in linux/amd64 linux/arm64 darwin/arm64; do GOOS=${t%/*} GOARCH=${t#*/} CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.buildVersion={{ version }}" -o "bin/xrun-${t%/*}-${t#*/}" ./cmd/xrun; done
