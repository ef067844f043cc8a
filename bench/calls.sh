#!/bin/sh
# Measures calls per second and CPU microseconds per call of one worker's path (core, rendering, HTTP, reading, verdict, spool)
# with a server that answers at once. Compares it with a bare loop on libcurl that sends the same requests, and with wrk,
# interleaved. The last line is the smallest ratio of the worker's calls per second to the bare loop's.
# usage: bench/calls.sh BIN_DIR [SECONDS] [ROUNDS]
set -eu
bin=${1:?usage: bench/calls.sh BIN_DIR [SECONDS] [ROUNDS]}
seconds=${2:-3}
rounds=${3:-3}
dir=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT INT TERM
[ -x "$bin/calls-server" ] || { echo "no $bin/calls-server: build it first" >&2; exit 2; }
"$bin/calls-server" >"$dir/port" &
server=$!
while [ ! -s "$dir/port" ]; do
    kill -0 "$server" # fails if the server has ended
    sleep 0.05
done
url="http://127.0.0.1:$(cat "$dir/port")/v1"
# a body of the size that the worker sends
{
    printf '{"model":"bench","messages":[{"role":"user","content":"'
    head -c 2755 /dev/zero | tr '\0' 'w'
    printf '"}],"max_tokens":200}'
} >"$dir/body"
cat >"$dir/post.lua" <<LUA
wrk.method = "POST"
local f = io.open("$dir/body")
wrk.body = f:read("*a")
wrk.headers["Content-Type"] = "application/json"
LUA
have_wrk=$(command -v wrk || true)
worst=
printf '%9s %7s | %9s %8s | %9s %8s | %9s %8s | %9s\n' in_flight round bare/s us/call worker/s us/call no-spool us/call wrk/s
for n in 64 256 1024; do
    bares=0 workers=0 bare_us=0 worker_us=0
    r=1
    while [ "$r" -le "$rounds" ]; do
        bare=$("$bin/calls-bare" "$url/chat/completions" "$n" "$seconds" "$dir/body")
        worker=$("$bin/calls-worker" "$url" "$n" "$seconds" "$dir/spool")
        plain=$("$bin/calls-worker" "$url" "$n" "$seconds")
        rm -rf "$dir/spool"
        wrk_rate=-
        if [ -n "$have_wrk" ]; then
            wrk_rate=$(wrk -t 1 -c "$n" -d "${seconds}s" -s "$dir/post.lua" "$url/chat/completions" |
                awk '/Requests\/sec/ { printf "%.0f", $2 }')
        fi
        # shellcheck disable=SC2086
        set -- $bare $worker $plain
        if [ "$3$6$9" != 000 ]; then
            echo "calls failed: bare $3, worker $6, without spool $9" >&2
            exit 1
        fi
        printf '%9s %7s | %9s %8s | %9s %8s | %9s %8s | %9s\n' "$n" "$r" "$1" "$2" "$4" "$5" "$7" "$8" "$wrk_rate"
        bares=$((bares + $1))
        workers=$((workers + $4))
        bare_us=$(awk -v a="$bare_us" -v b="$2" 'BEGIN { print a + b }')
        worker_us=$(awk -v a="$worker_us" -v b="$5" 'BEGIN { print a + b }')
        r=$((r + 1))
    done
    ratio=$(awk -v w="$workers" -v b="$bares" 'BEGIN { printf "%.2f", w / b }')
    cpu=$(awk -v w="$worker_us" -v b="$bare_us" 'BEGIN { printf "%.2f", b / w }')
    echo "$n in flight: ratio $ratio (by CPU a call: $cpu)"
    worst=$(awk -v a="${worst:-99}" -v b="$ratio" 'BEGIN { print (b < a ? b : a) }')
done
echo "ratio $worst"
