#!/usr/bin/env bash
# The scripts' manners: --help explains and ends with 0; what they do not know is refused
# with 2 and an explanation; neither installs or builds anything. And tests without clusters
# do not install Ceph's daemons. Prints each offence.
set -euo pipefail
cd "$1"

# shellcheck source=tests/structure/lib/offences.sh
. tests/structure/lib/offences.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for program in apt-get sudo cmake ninja ctest clang-format; do
  # shellcheck disable=SC2016 # expanded by the program
  printf '#!/bin/sh\necho "$0 $*" >>%s/called\nexit 1\n' "$work" >"$work/bin/$program"
  chmod 755 "$work/bin/$program"
done

# ends_with STATUS SCRIPT ARGUMENT...: and says how it is used.
ends_with() {
  local expected=$1 status=0 output
  shift
  output=$(PATH=$work/bin:$PATH "$@" 2>&1 </dev/null) || status=$?
  ((status == expected)) || offend "$*: ended with $status, not $expected"
  [[ $output == *"  $1"* ]] || offend "$*: does not say how it is used"
}

for script in bench chaos demo dev fuzz lint packages release test; do
  ends_with 0 "scripts/$script.sh" --help
  ends_with 2 "scripts/$script.sh" --no-such-option
  ends_with 2 "scripts/$script.sh" no-such-word
done
ends_with 2 scripts/test.sh unit no-such-label
ends_with 2 scripts/dev.sh
status=0
output=$(SAMPLE=-1 scripts/test.sh unit 2>&1 </dev/null) || status=$?
[[ $status == 2 && $output == *SAMPLE* ]] || offend "SAMPLE=-1 scripts/test.sh: ended with $status: $output"
for wrong in SEED=x SEED=-1 GATE=no GATE_SECONDS=x GATE_SECONDS=0 'GATE=yes SAMPLE=3'; do
  status=0
  # shellcheck disable=SC2086 # words
  output=$(env $wrong scripts/test.sh integration 2>&1 </dev/null) || status=$?
  [[ $status == 2 && $output == 'test.sh: '* && $output != *$'\n'* ]] ||
    offend "$wrong scripts/test.sh: ended with $status: $output"
done
# The test bed's help tells all that a newcomer asks for, and each of its commands, options
# and variables; each of its functions has a line that says what it does.
help=$(scripts/testbed --help) || offend "scripts/testbed --help: ended with $?"
for word in 'Ends with 0' csi-rbd.key secrets.json csi-config/ pool-id pid/ log/ TESTBED_TIMEOUT \
  ceph-mon ceph-mgr ceph-osd rbd-mirror \
  $(sed -n '/^main() {/,/^}/s/^ *\([a-z| -]*\)) cmd_.*/\1/p' scripts/testbed | tr -d '|') \
  $(sed -nE 's/^ *(--?[a-z-]+)\) .*/\1/p' scripts/lib/testbed/*.sh) \
  $(grep -ohE '\bTESTBED_[A-Z_]+' scripts/lib/testbed/*.sh); do
  [[ $help == *"$word"* ]] || offend "scripts/testbed --help: says nothing about $word"
done
while IFS= read -r function; do
  offend "$function: no line before it says what it does"
done < <(awk '/^[a-z_]+\(\) \{/ && before !~ /^#/ { print FILENAME ": " $1 } { before = $0 }' \
  scripts/testbed scripts/lib/testbed/*.sh)
for wrong in no-such-command 'up --no-such-option' up; do
  status=0
  # shellcheck disable=SC2086 # words
  output=$(scripts/testbed $wrong 2>&1) || status=$?
  [[ $status == 2 && $output == *'--help'* ]] || offend "scripts/testbed $wrong: ended with $status: $output"
done
# A killed daemon has ended with its last thread, not with its first: until then an OSD holds the lock of its
# store, and the next one does not start. Here the first thread ends by itself.
if command -v python3 >/dev/null; then
  python3 -c '
import ctypes, os, threading, time
threading.Thread(target=time.sleep, args=(30,)).start()
ctypes.CDLL(None).syscall(93 if os.uname().machine == "aarch64" else 60, 0)' &
  two_threads=$!
  disown "$two_threads" # its end is not worth a word
  (
    # shellcheck source=scripts/lib/testbed/base.sh
    . scripts/lib/testbed/base.sh
    # shellcheck source=scripts/lib/testbed/processes.sh
    . scripts/lib/testbed/processes.sh
    proc_stat "$two_threads"
    since=$STARTED
    for _ in {1..200}; do
      proc_stat "$two_threads"
      if [[ $STATE == Z ]]; then break; fi
      sleep 0.05
    done
    [[ $STATE == Z ]] || exit 0 # this machine cannot show it
    ! has_ended "$two_threads" "$since" || exit 1
    kill -KILL "$two_threads"
    for _ in {1..200}; do
      if has_ended "$two_threads" "$since"; then exit 0; fi
      sleep 0.05
    done
    exit 1
  ) || offend "scripts/lib/testbed/processes.sh: has_ended does not tell when the last thread is gone"
  kill -KILL "$two_threads" 2>/dev/null || true
fi
[[ ! -e $work/called ]] || offend "$(sort -u "$work/called")"

for purpose in release unit rpc deploy; do
  names=$(scripts/packages.sh "$purpose")
  grep -qx librbd-dev <<<"$names" || offend "packages.sh $purpose: librbd-dev is missing"
  ! grep -qxE 'ceph-(mon|mgr|osd)|rbd-mirror' <<<"$names" ||
    offend "packages.sh $purpose: needs no daemons of Ceph"
done
for purpose in contract integration long demo; do
  grep -qx ceph-mon <<<"$(scripts/packages.sh "$purpose")" || offend "packages.sh $purpose: ceph-mon is missing"
done

# Packages and image are made from a clone, for which git is needed, or from an unpacked release.
for purpose in package image; do
  grep -qx git <<<"$(scripts/packages.sh "$purpose")" || offend "packages.sh $purpose: git is missing"
done
# dpkg-checkbuilddeps asks for it, whatever the package needs.
grep -qx build-essential <<<"$(scripts/packages.sh package)" || offend "packages.sh package: build-essential is missing"
mkdir -p "$work/unpacked/build" "$work/unpacked/scripts/lib"
echo text >"$work/unpacked/CHANGELOG.md"
touch -d @1000000000 "$work/unpacked/CHANGELOG.md"
(
  # shellcheck source=scripts/lib/source.sh
  . scripts/lib/source.sh
  cd "$work/unpacked"
  copy_source "$work/copied/source"
  [[ $(ls "$work/copied/source") == $'CHANGELOG.md\nscripts' && $(source_epoch) == 1000000000 ]]
) || offend "scripts/lib/source.sh: an unpacked release is not copied without its build folder"

((offences == 0)) || exit 1
echo "the scripts refuse what they do not know, and change nothing then"
