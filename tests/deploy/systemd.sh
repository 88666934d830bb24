#!/usr/bin/env bash
# The unit under a real systemd: boots a root file system in which the packages are installed,
# in namespaces and a control group of its own, and looks at what the unit promises: it is
# ready when it answers, its sandbox is in force, the watchdog ends what hangs, what dies is
# started again, wrong flags are not tried twice, and a stop leaves nothing. Ends with 77
# where no systemd can be booted.
#
#   tests/deploy/systemd.sh ROOT [NEWER.deb]    NEWER.deb, a path in the root: an upgrade of it
# shellcheck disable=SC2016 # what is in single quotes is expanded elsewhere
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$(realpath "$1")
newer=${2:-}

skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "not root"
for program in systemd-nspawn nsenter unshare; do command -v "$program" >/dev/null || skip "$program is not here"; done

work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-systemd.XXXXXX")
# One of its own in each hierarchy that systemd uses. The host's systemd, if there is one, is
# not asked.
groups=()
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
  if [[ -e $hierarchy/cgroup.procs ]]; then groups+=("$hierarchy/${work##*/}"); fi
done
container=
clean_up() {
  if [[ $container ]]; then
    kill -KILL "$container" 2>/dev/null || true
    wait "$container" 2>/dev/null || true
  fi
  for group in "${groups[@]}"; do
    for _ in $(seq 50); do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
      [[ -d $group ]] || break
      sleep 0.1
    done
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh

((${#groups[@]})) || skip "there is no control group hierarchy for systemd"
mkdir "${groups[@]}" || skip "control groups cannot be made here"

mkdir -p "$root/etc/rbd-addons" "$root/etc/systemd/system/rbd-addonsd.service.d"
cp "$root/usr/share/doc/rbd-addonsd/examples/config.json.example" "$root/etc/rbd-addons/config.json"
# So that nobody waits for a minute.
printf '[Service]\nWatchdogSec=4s\nTimeoutAbortSec=2s\n' >"$root/etc/systemd/system/rbd-addonsd.service.d/test.conf"

# The first process of the namespaces takes all others with it. What systemd-nspawn notes of
# its containers below /run ends with them, too.
for group in "${groups[@]}"; do echo $BASHPID >"$group/cgroup.procs"; done
unshare --mount --propagation private --pid --fork --kill-child bash -c '
  mount -t proc proc /proc && mount -t tmpfs tmpfs /run &&
  exec systemd-nspawn --quiet --directory "$1" --register=no --keep-unit --private-network --console=pipe --boot' \
  boot "$root" >"$work/console" 2>&1 </dev/null &
container=$!
for group in "${groups[@]}"; do echo $BASHPID >"${group%/*}/cgroup.procs"; done

# The systemd inside is a descendant of the first process, behind systemd-nspawn.
find_init() {
  local pid=$container
  for _ in 1 2 3 4; do
    pid=$(<"/proc/$pid/task/$pid/children")
    pid=${pid%% *}
    [[ $pid ]] || return 1
    if [[ $(<"/proc/$pid/comm") == systemd ]]; then init=$pid && return 0; fi
  done 2>/dev/null
  return 1
}
inside() { nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd -- "$@"; }
property() { inside systemctl show --property "$1" --value rbd-addonsd; }
is() { [[ $(property "$1") == "$2" ]]; } # PROPERTY VALUE
until_true() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if ((SECONDS >= end)); then
      failed "$what"
      inside systemctl --no-pager --lines 10 status rbd-addonsd 2>&1 | sed 's/^/    /' || true
      return 0
    fi
    sleep 0.1
  done
  held "$what"
}

init=
for _ in $(seq 100); do if find_init; then break; fi; sleep 0.1; done
if [[ ! $init ]]; then cat "$work/console"; skip "systemd does not boot here"; fi
booted() { inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; }
until_true 60 "systemd has booted: $(inside systemctl --version | head -n 1)" booted

is_up() { is ActiveState active && inside rbd-addons probe >/dev/null 2>&1; }
has_restarted() { ! is MainPID "$main" && is_up; }
until_true 30 "the unit is started at boot, and answers" is_up
until_true 1 "it was waited for until it said so (Type=notify)" is Type notify
until_true 1 "nothing had to be tried twice" is NRestarts 0

main=$(property MainPID)
status() { inside awk -v field="$1:" '$1 == field { print $2 }' "/proc/$main/status"; }
in_its_place() { inside nsenter --target "$main" --mount -- "$@" >/dev/null 2>&1; }
of_its_own_user() { [[ $(inside stat -c %U "/proc/$main") == rbd-addons ]]; }
bounded() { [[ $(status NoNewPrivs) == 1 && $(status Seccomp) == 2 && $(status CapBnd) =~ ^0+$ && $(status CapEff) =~ ^0+$ ]]; }
limited() { inside grep -q "^$1 * $2 " "/proc/$main/limits"; }
refuses() { ! in_its_place "$@"; }
check "it runs as its own user" of_its_own_user
check "no new privileges, a filter of system calls, no capability" bounded
check "no core dumps" limited 'Max core file size' 0
# A systemd without CAP_SYS_RESOURCE cannot give more than it has.
most=$(ulimit -Hn)
if [[ $most == unlimited ]] || ((most > 1048576)); then most=1048576; fi
check "$most descriptors" limited 'Max open files' "$most"
for place in /etc /usr /var; do check "nobody there could write to $place" refuses touch "$place/x"; done
may_not_configure() { ! inside nsenter --target "$main" --mount --setuid "$uid" --setgid "$uid" -- touch /etc/rbd-addons/x 2>/dev/null; }
uid=$(status Uid)
check "it cannot write its configuration" may_not_configure
check "its folder below /run can" in_its_place touch /run/rbd-addons/x
inside mkdir -p /home/somebody
check "it sees no homes" refuses ls /home/somebody
inside touch /tmp/of-others
check "its /tmp is its own" refuses ls /tmp/of-others
check "no devices but those of everybody" refuses ls /dev/console
mode() { [[ $(inside stat -c '%a %U' /run/rbd-addons) == '750 rbd-addons' ]]; }
check "its folder is closed to others" mode

reload() { inside systemctl reload rbd-addonsd; }
check "reload" reload
until_true 1 "and it is the same process" is MainPID "$main"

fed() { [[ $(property WatchdogTimestampMonotonic) != "$1" ]] && is MainPID "$main"; }
until_true 10 "the watchdog is fed" fed "$(property WatchdogTimestampMonotonic)"
inside systemctl kill --signal=STOP rbd-addonsd
until_true 30 "what hangs is ended by the watchdog, and started again" has_restarted
until_true 1 "that was counted" is NRestarts 1
main=$(property MainPID)
inside systemctl kill --signal=KILL rbd-addonsd
until_true 30 "what is killed is started again" has_restarted
until_true 1 "that was counted, too" is NRestarts 2

if [[ $newer ]]; then
  main=$(property MainPID)
  # Without it nothing may be started: that is how it was installed.
  rm -f "$root/usr/sbin/policy-rc.d"
  check "an upgrade" inside dpkg --install "$newer"
  until_true 30 "restarts it" has_restarted
fi

stopped() { is ActiveState inactive && is Result success; }
inside systemctl stop rbd-addonsd
until_true 1 "a stop is no failure" stopped
gone() { ! inside test -e /run/rbd-addons; }
check "nothing is left below /run" gone
echo RBD_ADDONS_LOG_LEVEL=none >>"$root/etc/default/rbd-addons"
starts_not() { ! inside systemctl --quiet start rbd-addonsd; }
check "wrong flags: the start fails" starts_not
until_true 5 "and says so" is ExecMainStatus 2
until_true 1 "and is not tried again" is ActiveState failed
sed -i '/^RBD_ADDONS_LOG_LEVEL=none$/d' "$root/etc/default/rbd-addons"
rm -r "$root/etc/systemd/system/rbd-addonsd.service.d" "$root/etc/rbd-addons/config.json"

printf '%d failures\n' "$failures"
((failures == 0))
