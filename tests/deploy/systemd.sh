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

work=$(mktemp -d "${TMPDIR:-/tmp}/rbda-systemd.XXXXXX")
clean_up() {
  power_off
  rm -rf "$work"
}
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh
# shellcheck source=scripts/lib/booted_root.sh
. scripts/lib/booted_root.sh
trap clean_up EXIT
trap 'exit 130' INT TERM
prepare_to_boot

mkdir -p "$root/etc/rbd-addons" "$root/etc/systemd/system/rbd-addonsd.service.d"
cp "$root/usr/share/doc/rbd-addonsd/examples/config.json.example" "$root/etc/rbd-addons/config.json"
# So that nobody waits for a minute.
printf '[Service]\nWatchdogSec=4s\nTimeoutAbortSec=2s\n' >"$root/etc/systemd/system/rbd-addonsd.service.d/test.conf"

boot "$root"
until_true 60 "systemd has booted: $(inside systemctl --version | head -n 1)" booted

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
