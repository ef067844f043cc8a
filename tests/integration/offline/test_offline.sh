#!/bin/sh
# Runs the real vibeq-offline and talks to it with curl: start and stop, the log, every fault of the wire as a client
# meets it, many connections. Usage: test_offline.sh BINARY SOURCE_DIR
set -u

binary=$1
source=$2
command -v curl >/dev/null || { echo "SKIPPED: curl is not installed"; exit 77; }

work=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# start OPTIONS...: a server with a fresh log; sets $url
start() {
    rm -f "$work/port" "$work/log"
    "$binary" --port-file "$work/port" --log "$work/log" "$@" >"$work/out" 2>"$work/err" &
    server=$!
    tries=0
    while [ ! -s "$work/port" ]; do
        tries=$((tries + 1))
        kill -0 "$server" 2>/dev/null && [ $tries -lt 1000 ] || { fail "no start: $(cat "$work/err")"; return 1; }
        sleep 0.02
    done
    url=http://127.0.0.1:$(cat "$work/port")/v1
}

# stop: ends the server with SIGTERM and checks how it ended
stop() {
    kill -TERM "$server"
    wait "$server"
    code=$?
    [ $code = 0 ] || fail "exit code $code after SIGTERM: $(cat "$work/err")"
    server=
}

# ask OPTIONS...: one judge call; the body to $work/body; sets $rc (curl's code) and $status
ask() {
    status=$(curl -s -o "$work/body" -w '%{http_code}' --data-binary "@$work/question" "$@" "$url/chat/completions")
    rc=$?
}

cat >"$work/question" <<'END'
{"model":"offline-a","messages":[{"role":"user","content":"<prompt>\nHow?\n</prompt>\n<output_a>\nHello dear friend!\n</output_a>\n<output_b>\nNo.\n</output_b>\n<axis>\nName: Warmth\nLow: cold\nHigh: warm\n</axis>"}]}
END

# --- the happy path, and what is printed and logged
start
grep -q "^listening on $url\$" "$work/out" || fail "first line: $(cat "$work/out")"
ask -H 'Authorization: Bearer sk-canary-1' -H 'X-Client-Request-Id: call-77'
[ "$rc $status" = "0 200" ] || fail "happy path: $rc $status"
grep -q 'Model: A' "$work/body" || fail "no verdict: $(cat "$work/body")"
cp "$work/body" "$work/first"
grep -q '"event":"request".*"call":"call-77"' "$work/log" || fail "the log lacks the request"
grep -q '"event":"answer".*"status":200.*"paid":true' "$work/log" || fail "the log lacks the answer"
grep -q 'canary' "$work/log" "$work/out" "$work/err" && fail "a key was written down"
[ "$(curl -s -o "$work/body" -w '%{http_code}' "${url%/v1}/healthz")" = 200 ] || fail "healthz"
curl -s "$url/models" | grep -q '"offline-b"' || fail "models"
[ "$(wc -l <"$work/log")" = 2 ] || fail "other paths are no calls"
# Two calls on one connection.
curl -s --data-binary "@$work/question" "$url/chat/completions" -o /dev/null --next -s -w '%{num_connects}' \
    -o /dev/null --data-binary "@$work/question" "$url/chat/completions" | grep -q '^0$' || fail "keep-alive"
stop

# --- what was logged survives SIGKILL
start
ask
kill -KILL "$server"
wait "$server" 2>/dev/null
server=
[ "$(wc -l <"$work/log")" = 2 ] || fail "SIGKILL lost lines"

# --- bad options and other addresses are refused
for options in "--bind 0.0.0.0" "--bind 192.168.1.1" "--bind localhost" "--port 70000" "--fault nothing=1" \
    "--faults /nowhere" "--oracle /nowhere" "--latency soon" "--limits rpm" "--limits p:keys=x,rpm=1" "--limits rpm=1,window_ms=10" "--require-key=xyz" "--what" "word"; do
    # shellcheck disable=SC2086
    "$binary" $options >"$work/out" 2>"$work/err"
    code=$?
    [ $code = 2 ] || fail "$options: exit code $code"
    [ -s "$work/err" ] || fail "$options: says nothing"
done
start
taken=$(cat "$work/port")
"$binary" --port "$taken" >/dev/null 2>"$work/err"
code=$?
[ $code = 2 ] || fail "taken port: exit code $code"
stop

# --- faults of the wire: curl's exit code for each (28 timed out, 52 nothing came, 56 reset, 18 cut short)
wire() {
    fault=$1
    want=$2
    start --fault "$fault"
    ask -m 1
    case " $want " in
    *" $rc "*) ;;
    *) fail "$fault: curl says $rc, want $want" ;;
    esac
    # The server is still well: another path answers.
    curl -s -o /dev/null "${url%/v1}/healthz" || fail "$fault: the server is gone"
    stop
    # What the client did not get is in the log as lost, and a paid answer as paid.
    [ -z "${3:-}" ] || grep -q "\"event\":\"answer\".*\"fault\":\"${fault%%=*}\".*\"paid\":$3" "$work/log" ||
        fail "$fault: want paid $3: $(cat "$work/log")"
    [ "$rc" = 0 ] || grep -q '"event":"lost"' "$work/log" || fail "$fault: not logged as lost"
}
wire hang_before_headers=1 28 false
wire hang_mid_headers=1 28 true
wire hang_mid_body=1 28 true
wire hang_after_body=1 28 true
wire close=1 52 false
wire reset=1 56 false
wire lost_answer=1 56 true
wire cut_body=1 18 true
wire reset_mid_body=1 56 true
wire long_length=1 18 true
wire bad_chunk=1 56 true
wire garbage=1 "1 8 56" false
wire endless_headers=1,bytes=5000000 "56 27" false
wire drip=1,interval_ms=400 28 true
wire huge_body=1,bytes=3000000 0 true
[ "$(wc -c <"$work/body")" -gt 3000000 ] || fail "huge_body was not huge"
wire short_length=1 0 true
[ "$(wc -c <"$work/body")" -lt "$(wc -c <"$work/first")" ] || fail "short_length was not short"

# --- a script: the second request is refused, the third is answered
printf '%s\n' '# one storm' '{"fault":"rate_limit","nth":2,"retry_after":"7"}' >"$work/script"
start --faults "$work/script"
ask
[ "$status" = 200 ] || fail "script 1: $status"
ask -D "$work/head"
[ "$status" = 429 ] || fail "script 2: $status"
grep -qi '^retry-after: 7' "$work/head" || fail "script 2: Retry-After"
ask
[ "$status" = 200 ] || fail "script 3: $status"
stop

# --- keys, limits, oracle
start --require-key
ask
[ "$status" = 401 ] || fail "no key: $status"
ask -H 'Authorization: Bearer k'
[ "$status" = 200 ] || fail "a key: $status"
stop
start --limits rpm=1
ask
ask
[ "$status" = 429 ] || fail "limit: $status"
stop
VQ_TEST_KEY=sk-canary-3
export VQ_TEST_KEY
start --limits acme:keys=env:VQ_TEST_KEY,rpm=1 --limits rpm=2,per=all
for want in 200 429; do
    ask -D "$work/head" -H 'Authorization: Bearer sk-canary-3'
    [ "$status" = $want ] || fail "pool: $status, want $want"
    grep -qi '^openai-organization: org-acme' "$work/head" || fail "pool: no organisation: $(cat "$work/head")"
    grep -qi '^x-ratelimit-remaining-requests: 0' "$work/head" || fail "pool: no headers"
done
for want in 200 200 429; do
    ask
    [ "$status" = $want ] || fail "beside the pool: $status, want $want"
done
stop
"$binary" --limits "acme:keys=sk-canary-4,rpm=1" >"$work/out" 2>"$work/err"
code=$?
[ $code = 2 ] || fail "a key as an option: exit code $code"
grep -q canary "$work/out" "$work/err" "$work/log" && fail "a key of a pool was written down"
printf '%s\n' '{"axis":"Warmth","sample":"S1","score":-1}' >"$work/truth"
start --oracle "$work/truth"
ask
[ "$status" = 400 ] || fail "oracle without truth: $status"
sed 's/How?/[S1] How?/; s/Hello/[A] Hello/; s/No\./[B] No./' "$work/question" >"$work/question.2"
mv "$work/question.2" "$work/question"
ask
grep -q 'Model: B' "$work/body" || fail "oracle: $(cat "$work/body")"
grep -q 'offline-oracle' "$work/body" || fail "oracle: system_fingerprint"
stop

# --- many connections that all wait, and a stop in the middle of waiting
start --latency 300ms
i=0
: >"$work/many"
while [ $i -lt 400 ]; do
    [ $i = 0 ] || echo next >>"$work/many"
    printf 'url = "%s/chat/completions"\ndata-binary = "@%s"\noutput = "/dev/null"\nwrite-out = "%%{http_code}\\n"\n' \
        "$url" "$work/question" >>"$work/many"
    i=$((i + 1))
done
answered=$(curl -sS --no-progress-meter -Z --parallel-immediate --parallel-max 300 -K "$work/many" 2>"$work/err" | grep -c '^200$')
[ "$answered" = 400 ] || fail "many connections: $answered of 400 answered: $(tail -c 300 "$work/err")"
stop
start --latency 60s
ask -m 30 &
asking=$!
tries=0
while ! grep -q '"event":"request"' "$work/log" && [ $tries -lt 1000 ]; do
    tries=$((tries + 1))
    sleep 0.02
done
stop
wait $asking
grep -q '"event":"lost".*"stopped"' "$work/log" || fail "a stop does not tell what it dropped: $(cat "$work/log")"

# --- a parent that dies takes the server along
rm -f "$work/port"
sh -c '"$0" --parent-death --port-file "$1" >/dev/null & echo $! >"$2"; while [ ! -s "$1" ]; do sleep 0.02; done' \
    "$binary" "$work/port" "$work/pid"
pid=$(cat "$work/pid")
tries=0
while kill -0 "$pid" 2>/dev/null && [ $tries -lt 500 ]; do
    tries=$((tries + 1))
    sleep 0.02
done
[ $tries -lt 500 ] || { fail "the server outlived its parent"; kill "$pid"; }

# --- the demo data is what its script writes
if python3 -c 'import csv, random' 2>/dev/null; then
    python3 "$source/examples/make_friendly_vs_terse.py" "$work/demo.csv"
    cmp "$work/demo.csv" "$source/examples/friendly-vs-terse.csv" || fail "the demo data differs from its script's"
else
    echo "not checked: the demo data (python3 without csv)"
fi

[ $failures = 0 ] && echo "all passed" || { echo "$failures failed"; exit 1; }
