# What is printed while the checkout is prepared.
# shellcheck shell=bash

# Set by `up --quiet` and `up --verbose`.
quiet='' verbose=''

say() {
  printf 'kubus: %s\n' "$*" >&2
}

fail() {
  say "$@"
  exit 1
}

# Runs a command that may take long: prints one line with what is done and how many seconds it took, while they pass on a terminal. With
# --verbose also what it prints, with --quiet only why it failed.
step() {
  local what=$1 started=$SECONDS ticker='' result=0 before
  shift
  before=$(wc -l <"$log")
  if [[ -n $verbose ]]; then
    say "$what"
    "$@" 2>&1 9>&- | tee -a "$log" >&2 || result=$?
    ((result == 0)) || fail "$what failed after $((SECONDS - started)) s"
    say "$what took $((SECONDS - started)) s"
    return
  fi
  [[ -n $quiet ]] || printf 'kubus: %s ... ' "$what" >&2
  if [[ -t 2 && -z $quiet ]]; then
    tick "$what" 9>&- &
    ticker=$!
  fi
  "$@" >>"$log" 2>&1 9>&- || result=$?
  if [[ -n $ticker ]]; then
    kill "$ticker"
    wait "$ticker" 2>/dev/null || true
    printf '\rkubus: %s ... ' "$what" >&2
  fi
  if ((result != 0)); then
    [[ -z $quiet ]] || printf 'kubus: %s ... ' "$what" >&2
    printf 'failed; %s ends with:\n' "${log#"$root"/}" >&2
    tail -n "+$((before + 1))" "$log" | tail -n 20 >&2
    exit 1
  fi
  [[ -n $quiet ]] || printf '%d s\n' $((SECONDS - started)) >&2
}

# Ends with the script: Ctrl-C does not reach a process in the background.
tick() {
  local started=$SECONDS
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    printf '\rkubus: %s ... %d s ' "$1" $((SECONDS - started)) >&2
  done
}

# Every step is done again as a whole if it was not completed.
interrupted() {
  printf '\n' >&2
  say 'interrupted: the same command goes on where it was'
  exit 130
}
