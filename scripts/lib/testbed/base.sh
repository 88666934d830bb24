# shellcheck shell=bash
# What all files of the test bed use: messages, one-line files, waiting. Sourced by scripts/testbed.

START_US=${EPOCHREALTIME/./}
VERBOSE='' # yes: say() speaks

# elapsed: prints the seconds since the start.
elapsed() {
  local us=$((${EPOCHREALTIME/./} - START_US))
  printf '%d.%06d' $((us / 1000000)) $((us % 1000000))
}

# say TEXT...: with -v, what was just reached, and when.
say() { if [[ $VERBOSE ]]; then printf '%7.2f %s\n' "$(elapsed)" "$*" >&2; fi; }

# die TEXT...: it could not be done.
die() { printf '%s: %s\n' "$PROG" "$*" >&2; exit 1; }

# usage_error TEXT...: the command line is not understood.
usage_error() { printf '%s: %s (try: %s --help)\n' "$PROG" "$*" "$PROG" >&2; exit 2; }

# first_line FILE: prints it; fails without a word when there is none. (Where FILE may be missing $(<FILE) is
# no choice: bash 5.2 then ends the whole script, whatever || follows.)
first_line() {
  local line
  { IFS= read -r line <"$1"; } 2>/dev/null || return 1
  printf '%s' "$line"
}

# new_uuid: prints one.
new_uuid() { first_line /proc/sys/kernel/random/uuid; }

# wait_for WHAT LOGFILE COMMAND...: repeats COMMAND until it succeeds, at most WAIT seconds.
wait_for() {
  local what=$1 log=$2 end=$((SECONDS + WAIT))
  shift 2
  until "$@"; do
    is_bed || die "$what: the bed was brought down meanwhile"
    ((SECONDS < end)) || die "$what: not within $WAIT s, see $log"
    sleep 0.05
  done
}
