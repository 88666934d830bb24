#!/usr/bin/env bash
# Two `cryptsetup luksAddKey` of one volume at the same moment. libcryptsetup has locks
# (/run/cryptsetup), so one would guess that one of them waits, and that both passphrases open the
# volume in the end. cryptsetup 2.6.1 locks LUKS2 only, and the one that comes late does not wait
# there, it is refused. With LUKS1 both answer 0, both take the same free slot, and one of the two
# passphrases opens nothing.
#
# Who changes keys by program needs a lock of its own, and opens the volume with the new passphrase
# before the old one goes: the answer of the call does not tell.
set -euo pipefail
# shellcheck source=findings/lib/finding.sh
. "$(dirname "$0")/lib/finding.sh"
need cryptsetup-bin=2:2.6.1-4~deb12u2
enter_root

seen "$(in_root cryptsetup --version)"
for key in old first second; do printf '%s' "$key" >"$root/tmp/$key"; done
added_that_open() { # TYPE
  local key
  for key in first second; do
    in_root cryptsetup open --test-passphrase --key-file "/tmp/$key" "/tmp/$1" 2>/dev/null && echo "$key"
  done | wc -l
}
# Sets `codes`, sorted. OPTIONs say how a key is derived of a passphrase: for a second or more, so
# that both have read the header before one of them writes it.
add_two_at_once() { # TYPE OPTION...
  local volume=/tmp/$1 key code added=()
  truncate -s 32M "$root$volume"
  in_root cryptsetup -q luksFormat --type "$@" "$volume" /tmp/old
  for key in first second; do
    in_root cryptsetup -q luksAddKey "${@:2}" --key-file /tmp/old "$volume" "/tmp/$key" 2>>"$root/tmp/$1.said" &
    added+=($!)
  done
  codes=()
  for key in "${added[@]}"; do
    code=0
    wait "$key" || code=$?
    codes+=("$code")
  done
}
add_two_at_once luks1 --pbkdf-force-iterations 1000000
expect "LUKS1: exit codes" "0 0" "${codes[*]}"
expect "LUKS1: key slots in use" 2 "$(in_root cryptsetup luksDump /tmp/luks1 | grep -c ENABLED)"
expect "LUKS1: added passphrases that open it" 1 "$(added_that_open luks1)"

add_two_at_once luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000000
expect "LUKS2: exit codes, the lower one first" "0 1" "$(printf '%s\n' "${codes[@]}" | sort | xargs)"
expect "LUKS2: said" "Detected attempt for concurrent LUKS2 metadata update. Aborting operation." "$(cat "$root/tmp/luks2.said")"
expect "LUKS2: added passphrases that open it" 1 "$(added_that_open luks2)"
