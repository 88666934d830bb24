#!/usr/bin/env bash
# Builds the tree and runs its tests on every Debian that it supports, each in a root
# file system of its own, and prints a table. What has passed is not run again, so an
# interrupted run goes on where it ended.
#
#   scripts/matrix.sh                               everything
#   scripts/matrix.sh --only forky --label unit     a part of it; both may be repeated
#   scripts/matrix.sh --record                      records the answers of each Ceph anew, for
#                                                   the parsers' tests (record-fixtures.sh)
#   scripts/matrix.sh --table                       only prints what the last runs gave
#   scripts/matrix.sh --clean                       removes roots, builds and results
#
# The rows (--only):
#   bookworm  Debian 12, Ceph 16.2        forky  Debian testing, Ceph 20.2
#   trixie    Debian 13, Ceph 18.2
#   bookworm-on-forky, bookworm-on-trixie, forky-on-bookworm  the daemon of one against the
#                                         clusters of the other, with keys that both can use
#   bookworm-with-trixie, bookworm-with-forky, trixie-with-bookworm, trixie-with-forky,
#   forky-with-bookworm, forky-with-trixie
#                                         two sites: a with the Ceph of the first, b with that of
#                                         the second; daemons and tests are the first one's
# The columns (--label): unit rpc contract integration, and verbs: scripts/main-verbs.sh with
#   a debug build. Rows of two releases have verbs, and integration tests of verbs.
#
#   --dir DIR      where roots, build trees and results are kept (some 25 GB), by default
#                  /var/tmp/rbd-addons-matrix
#   --again        runs also what has passed; updates the packages first
#   --jobs N       tests that run at once (4)
#   --mirror URL   Debian's archive, by default http://deb.debian.org/debian
#
# Needs root, debootstrap, unshare (util-linux) and ip (iproute2). Whatever runs in a root
# has mounts, processes and, after the packages, a loopback network of its own, which end
# with it: nothing is left behind, however the run ends.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD

readonly all_rows=(bookworm trixie forky bookworm-on-forky bookworm-on-trixie forky-on-bookworm
  bookworm-with-trixie bookworm-with-forky trixie-with-bookworm trixie-with-forky forky-with-bookworm forky-with-trixie)
readonly all_labels=(unit rpc contract verbs integration)
# What the two releases of a cross run do with each other, in suites of the integration tests.
readonly cross_suites='EnableTest|PlannedMoveTest|DisasterTest|DemoteTest|DisableTest|ResyncTest|InfoTest|ScheduleTest|FenceTest|ReclaimTest'
# What two sites of different releases do with each other.
readonly pair_suites='PlannedMoveTest|DisasterTest|TakeoverTest|PointsProofTest|UserSnapshotRescueTest'
readonly pair_programs=(rbd-addonsd rbd-addons replication_integration_test points_integration_test)

dir=/var/tmp/rbd-addons-matrix
mirror=http://deb.debian.org/debian
jobs=4
again=
only_table=
only_record=
rows=()
labels=()

# has_cell ROW LABEL: rows of two releases, A-on-B and A-with-B, have two columns.
has_cell() { [[ $1 != *-*-* || $2 == verbs || $2 == integration ]]; }
usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '/^set/d'; }
wrong() { printf 'matrix.sh: %s (see --help)\n' "$*" >&2; exit 2; }
one_of() { # NAME CHOICE...
  local name=$1 choice
  shift
  for choice; do [[ $name == "$choice" ]] && return 0; done
  wrong "'$name' is none of: $*"
}

clean=
while (($#)); do
  case $1 in
    --only | --label | --dir | --jobs | --mirror) [[ ${2:-} ]] || wrong "$1 needs a value" ;;
  esac
  case $1 in
    --only) one_of "$2" "${all_rows[@]}"; rows+=("$2"); shift ;;
    --label) one_of "$2" "${all_labels[@]}"; labels+=("$2"); shift ;;
    --dir) dir=$(realpath -m -- "$2"); shift ;;
    --jobs) [[ $2 =~ ^[1-9][0-9]*$ ]] || wrong "--jobs needs a number"; jobs=$2; shift ;;
    --mirror) mirror=$2; shift ;;
    --again) again=yes ;;
    --table) only_table=yes ;;
    --record) only_record=yes ;;
    --clean) clean=yes ;;
    -h | --help) usage; exit 0 ;;
    *) wrong "unknown option '$1'" ;;
  esac
  shift
done
((${#rows[@]})) || rows=("${all_rows[@]}")
((${#labels[@]})) || labels=("${all_labels[@]}")

now() { date +%s; }
say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }

# --- in a root ------------------------------------------------------------------------

# Runs COMMAND in the root file system FS, with the checkout at its own path (read-only)
# and the root's build tree in it. GUEST ('' for none) is another root, seen at /mnt, with
# its own build tree; both share /tmp/x. This function is the first process of the new
# namespaces, so everything it mounts and starts ends with it.
enter() { # SOURCE FS BUILD GUEST_FS GUEST_BUILD SHARED COMMAND...
  local source=$1 fs=$2 build=$3 guest=$4 guest_build=$5 shared=$6 tree
  shift 6
  set -e
  ip link set lo up
  # "ip netns" and others change how "/" propagates mounts, so it has to be one.
  mount --bind "$fs" "$fs"
  furnish() { # TREE BUILD
    mkdir -p "$1$source"
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
    mount --bind "$source" "$1$source"
    mount -o remount,bind,ro "$1$source"
    mount --bind "$2" "$1$source/build"
    if [[ $shared ]]; then
      mkdir -p "$1/tmp/x"
      mount --bind "$shared" "$1/tmp/x"
    fi
  }
  furnish "$fs" "$build"
  if [[ $guest ]]; then
    furnish "$guest" "$guest_build"
    mount --rbind "$guest" "$fs/mnt"
  fi
  cp /etc/resolv.conf "$fs/etc/resolv.conf"
  # shellcheck disable=SC2016 # expanded in the root
  exec chroot "$fs" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive JOBS="$jobs" sh -c 'cd "$0" && exec "$@"' "$source" "$@"
}
export -f enter
export jobs

# inside [--offline] [--guest NAME] NAME COMMAND...
inside() {
  local options=(--mount --propagation private --pid --fork --kill-child) guest='' name shared=''
  if [[ $1 == --offline ]]; then options+=(--net); shift; fi
  if [[ $1 == --guest ]]; then guest=$2 shared=$dir/shared; shift 2; fi
  name=$1
  shift
  # shellcheck disable=SC2016 # expanded by the inner shell
  unshare "${options[@]}" bash -c 'enter "$@"' enter "$source" "$dir/roots/$name" "$dir/builds/$name" \
    "${guest:+$dir/roots/$guest}" "${guest:+$dir/builds/$guest}" "$shared" "$@" </dev/null &
  inner=$!
  wait "$inner"
}
inner=
exec {terminal}>&2 # a function's messages may go to a log
# The first process of a namespace takes no signal but this one, which ends all of it.
interrupted() {
  if [[ $inner ]]; then kill -KILL "$inner" 2>/dev/null || true; fi
  echo "interrupted; the same command goes on from here" >&"$terminal"
  exit 130
}
trap interrupted INT TERM

make_root() { # NAME
  local name=$1 fs=$dir/roots/$1 script=/usr/share/debootstrap/scripts/$1
  mkdir -p "$dir/builds/$name" "$dir/results/$name"
  if [[ ! -d $fs ]]; then
    say "$name: making the root file system"
    rm -rf "$fs.new"
    # What debootstrap does not know by name yet is made as sid is.
    [[ -e $script ]] || script=/usr/share/debootstrap/scripts/sid
    unshare --mount --propagation private --pid --fork --kill-child \
      debootstrap --variant=minbase "$name" "$fs.new" "$mirror" "$script" \
      >"$dir/results/$name/debootstrap.log" 2>&1 </dev/null &
    inner=$!
    wait "$inner" || { tail -n 3 "$dir/results/$name/debootstrap.log" >&2; return 1; }
    {
      printf 'deb %s %s main\n' "$mirror" "$name"
      if [[ $name != forky ]]; then # testing has neither
        printf 'deb %s %s-updates main\n' "$mirror" "$name"
        printf 'deb %s-security %s-security main\n' "$mirror" "$name"
      fi
    } >"$fs.new/etc/apt/sources.list"
    # A mirror may be some weeks old. What comes from it is signed all the same.
    printf 'Acquire::Check-Valid-Until "false";\n' >"$fs.new/etc/apt/apt.conf.d/90old-mirror"
    # Its packages start no daemons.
    printf '#!/bin/sh\nexit 101\n' >"$fs.new/usr/sbin/policy-rc.d"
    chmod 755 "$fs.new/usr/sbin/policy-rc.d"
    mv "$fs.new" "$fs"
  fi
  if [[ ! -e $fs/.ready || $again ]]; then
    say "$name: installing packages"
    # shellcheck disable=SC2016 # expanded in the root
    inside "$name" bash -ec '
      apt-get update -qq
      apt-get dist-upgrade -y -qq
      . scripts/lib/common.sh
      . scripts/lib/packages.sh
      install_for unit rpc contract integration demo
    ' >"$dir/results/$name/packages.log" 2>&1 || { tail -n 5 "$dir/results/$name/packages.log" >&2; return 1; }
    : >"$fs/.ready"
    again_rooted[$name]=yes
  fi
  # shellcheck disable=SC2016 # expanded in the root
  inside --offline "$name" sh -c '
    version() { dpkg-query -W -f "\${Version}" "$1" | sed "s/^[0-9]*://; s/[-+~].*//"; }
    printf "%s|%s|%s|%s|%s|%s\n" "$(cat /etc/debian_version)" "$(version ceph-common)" \
      "$(g++ -dumpfullversion)" "$(version libgrpc++-dev)" "$(version libprotobuf-dev)" "$(version libabsl-dev)"
  ' >"$dir/results/$name/versions"
}
declare -A again_rooted=()

# --- results --------------------------------------------------------------------------
# DIR/results/ROW/LABEL: TREE STATUS PASSED FAILED SKIPPED SECONDS, beside LABEL.log.

# A sum of every file that the tests build or read. Of the documents only the one that decides about
# more than the documents themselves.
tree_sum() {
  local files
  files=$(mktemp)
  # The checkout may belong to the one who called sudo.
  git -c safe.directory="$source" ls-files -z --cached --others --exclude-standard -- . ':!*.md' >"$files"
  printf 'docs/error-codes.md\0' >>"$files"
  { sort -zu "$files" | xargs -0 sha256sum -- 2>/dev/null || true; } | sha256sum | cut -c1-12
  rm -f "$files"
}

# count LOG: "passed failed skipped" of what ctest or main-verbs.sh printed.
count() {
  awk '
    /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
      if (/ Passed +[0-9.]+ sec/) passed++
      else if (/\*\*\*Skipped/) skipped++
      else failed++
    }
    /^ok / { passed++ }
    /^not ok / { failed++ }
    /^skipped: / { skipped++ } # within a program that ctest counts as one
    END { printf "%d %d %d", passed, failed, skipped }' "$1"
}

run_cell() { # ROW LABEL
  local row=$1 label=$2 result=$dir/results/$1/$2 log=$dir/results/$1/$2.log started tree status was counts
  tree=$(tree_sum)
  if [[ ! $again && -e $result ]]; then
    read -r was status _ <"$result"
    if [[ $was == "$tree" && $status == passed ]]; then say "$row $label: passed before"; return 0; fi
  fi
  say "$row $label: running, see $log"
  started=$(now)
  status=passed
  case $row/$label in
    *-on-*/*) run_cross "${row%-on-*}" "${row#*-on-}" "$label" ;;
    *-with-*/*) run_pair "${row%-with-*}" "${row#*-with-}" "$label" ;;
    */verbs) run_verbs "$row" ;;
    *) inside --offline "$row" scripts/test.sh "$label" ;;
  esac >"$log" 2>&1 || status=failed
  counts=$(count "$log")
  # Nothing ran: the build failed, or there is no such test.
  if [[ $counts == '0 0 0' ]]; then status=broken; fi
  printf '%s %s %s %s\n' "$tree" "$status" "$counts" $(($(now) - started)) >"$result"
  say "$row $label: $status (passed, failed, skipped: $counts)"
  [[ $status == passed ]]
}

build() { # NAME TARGET...
  # shellcheck disable=SC2016 # expanded in the root
  inside --offline "$1" bash -c '
    . scripts/lib/common.sh
    . scripts/lib/build.sh
    configure debug && cmake --build --preset debug --target "$@"
  ' bash "${@:2}"
}

run_verbs() { # NAME
  build "$1" rbd-addonsd rbd-addons && inside --offline "$1" scripts/main-verbs.sh
}

# The clusters and the tests of CLUSTERS, the daemon of DAEMON.
run_cross() { # DAEMON CLUSTERS LABEL
  local daemon=$1 clusters=$2 label=$3 program with
  rm -rf "$dir/shared"
  mkdir -p "$dir/shared"
  for program in rbd-addonsd rbd-addons; do
    printf '#!/bin/sh\nexec chroot /mnt %s "$@"\n' "$source/build/debug/bin/$program" >"$dir/shared/$program"
    chmod 755 "$dir/shared/$program"
  done
  build "$daemon" rbd-addonsd rbd-addons || return
  with=(--offline --guest "$daemon" "$clusters" env TMPDIR=/tmp/x TESTBED_OLD_KEYS=yes)
  if [[ $label == verbs ]]; then
    inside "${with[@]}" scripts/main-verbs.sh /tmp/x
  else
    build "$clusters" all || return
    run_suites "$cross_suites" "${with[@]}" RBD_ADDONS_TEST_DAEMON=/tmp/x/rbd-addonsd
  fi
}

# Site a, the daemons and the tests of HERE, site b of THERE, whose programs are run in the guest.
run_pair() { # HERE THERE LABEL
  local here=$1 there=$2 label=$3 with
  rm -rf "$dir/shared"
  mkdir -p "$dir/shared"
  with=(--offline --guest "$there" "$here" env TMPDIR=/tmp/x TESTBED_OLD_KEYS=yes 'TESTBED_WITH_B=chroot /mnt')
  if [[ $label == verbs ]]; then
    build "$here" rbd-addonsd rbd-addons || return
    inside "${with[@]}" scripts/main-verbs.sh
  else
    build "$here" "${pair_programs[@]}" || return
    run_suites "$pair_suites" "${with[@]}"
  fi
}

# Integration tests in what `inside WITH...` enters.
run_suites() { # SUITES WITH...
  local status=0
  inside "${@:2}" RBD_ADDONS_TEST_SKIPS=/tmp/x/skips \
    ctest --preset debug --parallel "$jobs" --no-tests=error -R "^integration\.($1)\$" || status=$?
  if [[ -s $dir/shared/skips ]]; then sed 's/^/skipped: /' "$dir/shared/skips"; fi
  return "$status"
}

table() {
  local row label line tree status passed failed skipped seconds versions current
  current=$(tree_sum)
  printf '| row | Debian | Ceph | g++ | gRPC | protobuf | abseil |'
  for label in "${all_labels[@]}"; do printf ' %s |' "$label"; done
  printf '\n|---|---|---|---|---|---|---|'
  for label in "${all_labels[@]}"; do printf -- '---|'; done
  printf '\n'
  for row in "${all_rows[@]}"; do
    versions='| | | | | |'
    if [[ -e $dir/results/$row/versions ]]; then
      IFS='|' read -ra line <"$dir/results/$row/versions"
      versions=$(printf '%s | ' "${line[@]}")
    fi
    printf '| %s | %s' "$row" "$versions"
    for label in "${all_labels[@]}"; do
      if [[ -e $dir/results/$row/$label ]]; then
        read -r tree status passed failed skipped seconds <"$dir/results/$row/$label"
        if [[ $status == broken ]]; then
          printf '| does not build '
        else
          printf '| %d passed, %d failed, %d skipped, %d min ' "$passed" "$failed" "$skipped" $(((seconds + 59) / 60))
        fi
        [[ $tree == "$current" ]] || printf '(of an earlier tree) '
      elif ! has_cell "$row" "$label"; then
        printf '| '
      else
        printf '| not run '
      fi
    done
    printf '|\n'
  done | sed 's/| *|/| |/g; s/| *| /| /'
}

# --- main -----------------------------------------------------------------------------

if [[ $only_table ]]; then table; exit 0; fi
((EUID == 0)) || { echo "matrix.sh: only root can make root file systems; run it as root" >&2; exit 1; }
missing=()
for program in debootstrap:debootstrap unshare:util-linux ip:iproute2 git:git; do
  command -v "${program%:*}" >/dev/null || missing+=("${program#*:}")
done
((${#missing[@]} == 0)) || { echo "matrix.sh: install ${missing[*]} first" >&2; exit 1; }
if [[ $clean ]]; then
  rm -rf --one-file-system "$dir"/{roots,builds,results,shared}
  exit 0
fi

mkdir -p "$dir"/{roots,builds,results} "$source/build"
exec {lock}>"$dir/lock"
flock -n "$lock" || { echo "matrix.sh: another run uses $dir" >&2; exit 1; }

if [[ $only_record ]]; then
  for row in "${rows[@]}"; do
    [[ $row != *-*-* ]] || continue
    make_root "$row"
    say "$row: recording, see $dir/results/$row/record.log"
    rm -rf "$dir/builds/$row/fixtures"
    inside --offline "$row" scripts/record-fixtures.sh --to build/fixtures >"$dir/results/$row/record.log" 2>&1 ||
      { tail -n 5 "$dir/results/$row/record.log" >&2; exit 1; }
    grep 'not seen' "$dir/results/$row/record.log" || true
    for release in "$dir/builds/$row/fixtures"/*; do
      rm -rf "tests/fixtures/ceph/${release##*/}"
      mkdir -p tests/fixtures/ceph
      cp -r "$release" tests/fixtures/ceph/
    done
  done
  exit 0
fi

failures=0
for row in "${rows[@]}"; do
  mkdir -p "$dir/results/$row"
  usable=yes
  names=${row/-on-/ }
  for name in ${names/-with-/ }; do
    [[ ${again_rooted[$name]:-} ]] || make_root "$name" || { usable=; say "$name: no root file system"; }
  done
  if [[ ! $usable ]]; then failures=$((failures + 1)); continue; fi
  for label in "${labels[@]}"; do
    has_cell "$row" "$label" || continue
    run_cell "$row" "$label" || failures=$((failures + 1))
  done
done
printf '\n'
table
((failures == 0))
