# shellcheck shell=bash
# A root file system whose systemd runs, in namespaces and a control group of its own. Sourced,
# after checks.sh; "work" is the script's own temporary folder. Ends the script with 77 where no
# systemd can be booted.

skip() { echo "skipped: $*"; exit 77; }

container=''
groups=()
# prepare_to_boot: makes the control groups, one in each hierarchy that systemd uses. The host's
# systemd, if there is one, is not asked.
prepare_to_boot() {
  local program hierarchy
  ((EUID == 0)) || skip "not root"
  for program in systemd-nspawn nsenter unshare; do command -v "$program" >/dev/null || skip "$program is not here"; done
  for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    if [[ -e $hierarchy/cgroup.procs ]]; then groups+=("$hierarchy/${work##*/}"); fi
  done
  ((${#groups[@]})) || skip "there is no control group hierarchy for systemd"
  mkdir "${groups[@]}" || skip "control groups cannot be made here"
}
# power_off: to be called when the script ends.
power_off() {
  local group
  if [[ $container ]]; then
    kill -KILL "$container" 2>/dev/null || true
    wait "$container" 2>/dev/null || true
    container=''
  fi
  for group in "${groups[@]}"; do
    for _ in $(seq 50); do
      find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
      [[ -d $group ]] || break
      sleep 0.1
    done
  done
}

# boot ROOT: $init is its systemd. The first process of the namespaces takes all others with
# it. What systemd-nspawn notes of its containers below /run ends with them, too.
boot() {
  local group
  for group in "${groups[@]}"; do echo $BASHPID >"$group/cgroup.procs"; done
  # shellcheck disable=SC2016 # expanded by the other shell
  unshare --mount --propagation private --pid --fork --kill-child bash -c '
    mount -t proc proc /proc && mount -t tmpfs tmpfs /run &&
    exec systemd-nspawn --quiet --directory "$1" --register=no --keep-unit --private-network --console=pipe --boot' \
    boot "$1" >"$work/console" 2>&1 </dev/null &
  container=$!
  for group in "${groups[@]}"; do echo $BASHPID >"${group%/*}/cgroup.procs"; done
  init=''
  for _ in $(seq 100); do if find_init; then break; fi; sleep 0.1; done
  if [[ ! $init ]]; then cat "$work/console"; skip "systemd does not boot here"; fi
}
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
booted() { inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; }
is_up() { is ActiveState active && inside rbd-addons probe >/dev/null 2>&1; }
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
