# shellcheck shell=bash disable=SC2034 # used by those who source this
# What the scripts share: how they print, and what Ctrl-C does. Sourced.

# Messages are parsed nowhere, but sorted lists and sudo's environment differ without it.
export LC_ALL=C.UTF-8

# usage: prints the comment at the top of the script, from the root of the checkout.
usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "scripts/${0##*/}"; }

terminal=
if [[ -t 1 && ${TERM:-dumb} != dumb ]]; then terminal=1; fi
width=100
if [[ $terminal ]]; then
  read -r _ width < <(stty size <&1 2>/dev/null || echo 24 80)
  width=$((width < 40 ? 80 : width > 120 ? 120 : width))
fi

# Colours and the tick are for people at a terminal; https://no-color.org
bold='' dim='' red='' green='' plain='' tick=ok
if [[ $terminal && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m' tick=✓
fi

# wrapped INDENT TEXT: as many lines as it takes; words are never broken.
wrapped() {
  local indent=$1 line='' word
  shift
  set -f
  # shellcheck disable=SC2048,SC2086 # split into words
  set -- ${*//$'\n'/ }
  set +f
  for word; do
    if [[ $line ]] && ((${#indent} + ${#line} + 1 + ${#word} > width)); then
      printf '%s%s\n' "$indent" "$line"
      line="  $word" # what goes on stands a little to the right
    else
      line=${line:+$line }$word
    fi
  done
  if [[ $line ]]; then printf '%s%s\n' "$indent" "$line"; fi
}

# progress TEXT: what goes on just now. On a terminal one line that is written over and
# over; elsewhere a line of its own, at most one in ten seconds.
progress_shown=-10
progress() {
  if [[ $terminal ]]; then
    printf '\r\e[K%s' "${1:0:width-1}"
  elif ((SECONDS - progress_shown >= 10)); then
    printf '%s\n' "$1"
    progress_shown=$SECONDS
  fi
}
progress_at_once() { progress_shown=-10; } # the next one
progress_done() {
  if [[ $terminal ]]; then printf '\r\e[K'; fi
}

is_below() { # PID OTHER: it is the other one, or was started by it or below it
  local pid=$1
  while [[ $pid ]] && ((pid > 1)); do
    ((pid != $2)) || return 0
    pid=$(awk '/^PPid:/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
  done
  return 1
}

duration() { # SECONDS
  if (($1 < 60)); then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}

die() {
  progress_done
  wrapped "" "${red}${0##*/}: $*${plain}" >&2
  exit 1
}

# Makes the folder in which a run of tests has all it makes, and removes it at the end.
use_temporary_folder() {
  # UNIX sockets allow 107 bytes of path, so this one is short.
  TMPDIR=$(mktemp -d /tmp/rbda.XXXXXX)
  export TMPDIR
  trap remove_temporary_folder EXIT
}
remove_temporary_folder() {
  local bed
  # A test that was killed could not end its clusters itself.
  for bed in "$TMPDIR"/*/.rbd-addons-testbed; do
    if [[ -e $bed ]]; then scripts/testbed down "${bed%/*}" || true; fi
  done
  rm -rf "$TMPDIR"
}

# To be called once by each script: Ctrl-C is no failure.
on_interrupt_say_so() {
  trap 'interrupted' INT
  trap 'exit 143' TERM HUP
}
interrupted() {
  trap '' INT TERM HUP # cleaning up is not to be interrupted
  progress_done
  printf '\ninterrupted\n' >&2
  exit 130
}
