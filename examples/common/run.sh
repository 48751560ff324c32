# What the `run` scripts of the examples share: it is sourced by them, with the name of the example in $example. benches/rewrites/run has
# its processes and its folder from here, too.
#
# Every part is started in the order in which it is needed, and ended in the end, whatever happened.
#
#   PROGRAM     the program; without it, it is built                            [target/debug/parity]
#   SAMPLE      the rewrite as a program; without it, it is built               [target/debug/examples/NAME]
#   LEGACY, CANDIDATE, LISTEN, ADMIN   addresses                                [those of parity.toml]
#   REQUESTS    how many the clients send                                       [8000]
#   MAX_RATE    share that may differ                                           [0.001]
#   WITHOUT     toolchains that are not used although they are there, such as "go node"
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/parity-$example.XXXXXX")
listen=${LISTEN:-127.0.0.1:8080}
legacy=${LEGACY:-127.0.0.1:7001}
candidate=${CANDIDATE:-127.0.0.1:7002}
bug=
children=()

say() { echo "$example: $*" >&2; }

# Ends what was started and is still there, the last one first.
end_all() {
    local at
    for ((at = ${#children[@]} - 1; at >= 0; at--)); do
        kill -TERM "${children[at]}" 2>/dev/null || continue
        wait "${children[at]}" 2>/dev/null || true
    done
    children=()
}

finish() {
    end_all
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Reads the flags: --bug turns on the first of the bugs that are named, --bug=NAME another one.
flags() {
    local bugs=("$@")
    for flag in "${given[@]}"; do
        case $flag in
            --bug) bug=${bugs[0]} ;;
            --bug=*)
                bug=${flag#--bug=}
                [[ " ${bugs[*]} " == *" $bug "* ]] || { say "no bug is called $bug; there are: ${bugs[*]}"; exit 2; }
                ;;
            *) echo "usage: examples/$example/run [--bug[=NAME]]; the bugs are: ${bugs[*]}" >&2; exit 2 ;;
        esac
    done
}

build() {
    program=${PROGRAM:-}
    sample=${SAMPLE:-}
    if [ -z "$program" ]; then
        (cd "$root" && cargo build --quiet --bin parity)
        program=$root/target/debug/parity
    fi
    if [ -z "$sample" ]; then
        (cd "$root" && cargo build --quiet --example "$example")
        sample=$root/target/debug/examples/$example
    fi
}

# Starts a process; its output goes into a file, of which the end is shown if it ends too early.
start() {
    local name=$1
    shift
    "$@" >"$work/$name.log" 2>&1 &
    children+=("$!")
    last=$!
}

serves() {
    case $1 in
        unix:*) [ -S "${1#unix:}" ] ;;
        *) (: <>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null ;;
    esac
}

# What serves an address already would be taken for what is to be started.
vacant() {
    local address
    for address in "$@"; do
        ! serves "$address" || { say "something else serves $address already; ../common/run.sh says how to choose another address"; exit 2; }
    done
}

# Waits until the process that was started last serves an address.
await() {
    local name=$1 address=$2 tries
    for ((tries = 0; tries < 600; tries++)); do
        kill -0 "$last" 2>/dev/null || break
        ! serves "$address" || return 0
        sleep 0.05
    done
    say "$name does not serve $address:"
    tail -n 20 "$work/$name.log" >&2
    exit 2
}

has() { [[ " ${WITHOUT:-} " != *" $1 "* ]] && command -v "$1" >/dev/null; }

# The service before the rewrite in an example's folder, with its page of metrics. Go builds from one folder only.
build_legacy() {
    rm -rf "$work/go"
    mkdir "$work/go"
    cp "$1/legacy.go" "$root/examples/common/page.go" "$work/go"
    (cd "$work/go" && GOFLAGS='' GO111MODULE=off GOTOOLCHAIN=local go build -o "$work/legacy" legacy.go page.go)
}

# Starts the service before the rewrite: in its own language where the toolchain is there, else its stand-in.
start_legacy() {
    local toolchain=$1
    vacant "$legacy" "$candidate" "$listen" "${ADMIN:-127.0.0.1:9900}"
    if ! has "$toolchain"; then
        say "$toolchain is not here: a stand-in in Rust answers as the legacy"
        start legacy "$sample" legacy "$legacy"
    elif [ "$toolchain" = go ]; then
        build_legacy "$here"
        start legacy "$work/legacy" "$legacy"
    else
        start legacy "$toolchain" "$here/legacy.js" "$legacy"
    fi
    await legacy "$legacy"
}

start_candidate() {
    [ -z "$bug" ] || say "the bug \"$bug\" is on"
    BUG=$bug start candidate "$sample" candidate "$candidate"
    await candidate "$candidate"
}

url() {
    case $1 in
        unix:*) echo "$1" ;;
        *) echo "http://$1" ;;
    esac
}

# Mirrors what the clients send, and decides. The gate's exit code is that of the whole.
mirror_and_decide() {
    local mirror store="sqlite:$work/parity.db"
    start mirror "$program" mirror --config "$here/parity.toml" --store "$store" --listen "$listen" \
        --admin "${ADMIN:-127.0.0.1:9900}" --legacy "$(url "$legacy")" --candidate "$(url "$candidate")"
    mirror=$last
    await mirror "$listen"
    say "the clients send ${REQUESTS:-8000} requests to http://$listen"
    "$sample" clients "$listen" "${REQUESTS:-8000}"
    # The drain ends with the last comparison.
    kill -TERM "$mirror"
    wait "$mirror" || { say "the mirror failed:"; tail -n 20 "$work/mirror.log" >&2; exit 2; }
    "$program" report --config "$here/parity.toml" --store "$store"
    decided=0
    "$program" gate --config "$here/parity.toml" --store "$store" --max-mismatch-rate "${MAX_RATE:-0.001}" || decided=$?
}

given=("$@")
