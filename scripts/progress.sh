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

# Runs a command that may take long: prints one line with what is done, which package of how many, and the seconds as they pass. With
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
  if [[ -z $quiet ]]; then
    printf 'kubus: %s ... ' "$what" >&2
    tick "$what" 9>&- &
    ticker=$!
  fi
  "$@" >>"$log" 2>&1 9>&- || result=$?
  if [[ -n $ticker ]]; then
    kill "$ticker"
    wait "$ticker" 2>/dev/null || true
    # Nothing is left of a longer line.
    [[ ! -t 2 ]] || printf '\r%*s\rkubus: %s ... ' $((${#what} + 50)) '' "$what" >&2
  fi
  if ((result != 0)); then
    [[ -z $quiet ]] || printf 'kubus: %s ... ' "$what" >&2
    printf 'failed; %s ends with:\n' "${log#"$root"/}" >&2
    tail -n "+$((before + 1))" "$log" | tail -n 20 >&2
    exit 1
  fi
  [[ -n $quiet ]] || printf '%d s\n' $((SECONDS - started)) >&2
}

# Each second in place on a terminal, else every ten seconds. It ends with the script: Ctrl-C does not reach a process in the background.
tick() {
  local started=$SECONDS every=10 format='%s%d s ... '
  [[ ! -t 2 ]] || every=1 format="\rkubus: $1 ... %s%d s "
  # What is left of it holds no pipe of a reader that waits for the end of the output.
  while sleep $every >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    # shellcheck disable=SC2059
    printf "$format" "$(package_of_all)" $((SECONDS - started)) >&2
  done
}

# `package 3 of 17, `, as the log has it (scripts/build-programs.mjs).
package_of_all() {
  tail -n 50 "$log" | sed -n 's/^.*\(package [0-9]* of [0-9]*\): .*/\1, /p' | tail -n 1
}

# Every step is done again as a whole if it was not completed.
interrupted() {
  # That of the step that was running.
  [[ -z ${ticker-} ]] || kill "$ticker" || true
  printf '\n' >&2
  say 'interrupted: the same command goes on where it was'
  exit 130
}
