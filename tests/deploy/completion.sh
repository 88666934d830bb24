#!/usr/bin/env bash
# The completions and the manual page that the command line writes, read by the shells and by
# man themselves. What is not installed (zsh, fish, man, python3-yaml) is named and left out.
set -euo pipefail
: "${CLI:?the program rbd-addons}"
work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-completion.XXXXXX")
trap 'rm -rf "$work"' EXIT
bad=0
for shell in bash zsh fish; do "$CLI" completion "$shell" >"$work/$shell"; done
"$CLI" manual >"$work/rbd-addons.1"
has() { command -v "$1" >/dev/null || { printf 'left out: %s is not here\n' "$1" && return 1; }; }
# check WHAT GOT WANTED
check() {
  if [[ $2 == "$3" ]]; then return; fi
  printf 'FAILED: %s: got [%s], not [%s]\n' "$1" "$2" "$3"
  bad=1
}

# What the completions ask of a daemon: a program that knows one, and one that knows none.
mkdir "$work/bin"
cat >"$work/bin/rbd-addons" <<'ASKED'
#!/bin/sh
[ "$*" = 'known pools' ] && printf 'archive\nreplicapool\n'
[ "$*" = 'known volumes' ] && printf 'pvc-1\npvc-2\n'
[ "$*" = 'known parameters' ] && printf 'mirroringMode=snapshot\nschedulingInterval=\n'
ASKED
chmod +x "$work/bin/rbd-addons"
knows=$work/bin/rbd-addons

# in_bash WORD...: what the last word can become.
in_bash() {
  bash -euc '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rbd_addons; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$work/bash" "$@" | paste -sd ' '
}
check "bash: a verb" "$(in_bash rbd-addons oper)" operations
check "bash: a verb below a verb" "$(in_bash rbd-addons site fail)" 'failover failback'
check "bash: an option of a verb below a verb" "$(in_bash rbd-addons site failover --with)" --without-groups
check "bash: an option only where it is one" "$(in_bash rbd-addons probe --force)" ''
check "bash: what an option may be" "$(in_bash rbd-addons info X --output y)" yaml
check "bash: the same behind =" "$(in_bash rbd-addons info X --output = j)" json
check "bash: what an argument may be" "$(in_bash rbd-addons audit sched)" schedules
check "bash: a method" "$(in_bash rbd-addons call Promote)" PromoteVolume
check "bash: a value that nobody knows" "$(in_bash rbd-addons info --pool a)" ''
check "bash: a pool" "$(in_bash "$knows" status --pool rep)" replicapool
check "bash: a volume" "$(in_bash "$knows" info '')" 'pvc-1 pvc-2'
check "bash: a parameter" "$(in_bash "$knows" enable pvc-1 --parameter sch)" schedulingInterval=
check "bash: no daemon" "$(in_bash "$CLI" info --admin-endpoint x '')" ''
(cd "$work" && check "bash: a file" "$(in_bash rbd-addons info --secrets-file rbd)" rbd-addons.1 && ((!bad))) || bad=1

if has zsh; then
  zsh -n "$work/zsh" || bad=1
  # What it offers is printed where _describe would show it.
  in_zsh() {
    zsh -fc 'compdef() { :; }; _files() { print files; }; _message() { print value; }
      compadd() { print -r -- "${@:2}"; }
      _describe() { eval "print -rl -- \"\${${2}[@]%%:*}\""; }
      source "$1"; shift; words=("$@"); CURRENT=$#; _rbd-addons' zsh "$work/zsh" "$@" | paste -sd ' '
  }
  check "zsh: a verb below a verb" "$(in_zsh rbd-addons site '')" 'relocate failover failback'
  check "zsh: what an option may be" "$(in_zsh rbd-addons info X --output '')" 'text wide json yaml'
  check "zsh: a pool" "$(in_zsh "$knows" status --pool '')" 'archive replicapool'
  check "zsh: a volume" "$(in_zsh "$knows" info '' | sed 's/^ //')" 'pvc-1 pvc-2'
  check "zsh: a file" "$(in_zsh rbd-addons info --keyring '')" files
  [[ " $(in_zsh rbd-addons group create --) " == *' --volume '* ]] || { printf 'FAILED: zsh: an option\n' && bad=1; }
fi

if has fish; then
  in_fish() {
    # shellcheck disable=SC2016 # fish expands it
    fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$work/fish" "$1" | cut -f 1 | paste -sd ' '
  }
  check "fish: a verb" "$(in_fish 'rbd-addons oper')" operations
  check "fish: a verb below a verb" "$(in_fish 'rbd-addons site fail' | tr ' ' '\n' | sort | paste -sd ' ')" 'failback failover'
  check "fish: an option" "$(in_fish 'rbd-addons site failover --with')" --without-groups
  check "fish: a pool" "$(PATH=$work/bin:$PATH in_fish 'rbd-addons status --pool rep')" replicapool
  check "fish: a volume" "$(PATH=$work/bin:$PATH in_fish 'rbd-addons info pvc')" 'pvc-1 pvc-2'
  check "fish: what an option may be" "$(in_fish 'rbd-addons info X --output y')" yaml
fi

if has man; then
  man --warnings -l "$work/rbd-addons.1" >"$work/page" 2>"$work/warnings" || bad=1
  check "man: warnings" "$(cat "$work/warnings")" ''
  grep -q 'site failover POOL' "$work/page" || { printf 'FAILED: man: a verb below a verb\n' && bad=1; }
fi

# What others read as YAML is the same as the JSON.
if python3 -c 'import yaml' 2>/dev/null; then
  "$CLI" methods --output yaml >"$work/yaml"
  "$CLI" methods --output json >"$work/json"
  python3 -c 'import json, sys, yaml
sys.exit(yaml.safe_load(open(sys.argv[1])) != json.load(open(sys.argv[2])))' "$work/yaml" "$work/json" ||
    { printf 'FAILED: yaml\n' && bad=1; }
else
  printf 'left out: python3-yaml is not here\n'
fi
exit "$bad"
