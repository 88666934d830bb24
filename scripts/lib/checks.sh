# shellcheck shell=bash
# What scripts that check one thing after the other share: a line for each, and how many
# failed. Sourced; "work" is the script's own temporary folder.

failures=0
held() { printf 'ok %s\n' "$*"; }
failed() {
  printf 'not ok %s\n' "$*"
  failures=$((failures + 1))
}

# check WHAT COMMAND...: its output is shown when it fails.
check() {
  local what=$1
  shift
  if "$@" >"${work:?}/output" 2>&1; then held "$what"; else failed "$what: $(tail -n 15 "$work/output")"; fi
}
