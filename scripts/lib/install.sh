#!/usr/bin/env bash
# Installs packages and leaves the host's services as they were. Run as root:
#
#   install.sh PACKAGE...
#
# Ceph's packages bring services (ceph-crash, rbdmap, cron, lvm2, ...) that Debian starts
# and enables when it installs them. Here
#   - nothing new is started: policy-rc.d refuses to start what did not run before, as long
#     as the installation takes, unless the host has a policy of its own;
#   - nothing new stays enabled: Debian has no switch against that, so the links that appear
#     in /etc/systemd and /etc/rc*.d meanwhile are taken back, which is what "systemctl
#     disable" does, and later upgrades of the packages respect it.
# Rules of udev and the packages themselves stay.
set -euo pipefail
# shellcheck source=scripts/lib/common.sh
. "$(dirname "$0")/common.sh"

policy=/usr/sbin/policy-rc.d
work=$(mktemp -d /tmp/rbda-install.XXXXXX)
made_policy=
clean_up() {
  if [[ $made_policy ]]; then rm -f "$policy"; fi
  rm -rf "$work"
}
trap clean_up EXIT
on_interrupt_say_so

enabled() {
  find /etc/systemd/system /etc/systemd/user /etc/rc[S2-5].d \
    -type l \( -path '/etc/systemd/*' -o -name 'S*' \) 2>/dev/null | sort
}

prevent_starts() {
  [[ ! -e $policy ]] || return 0
  if [[ -d /run/systemd/system ]]; then
    systemctl list-units --state=active --plain --no-legend | awk '{print $1}' >"$work/active"
  else
    : >"$work/active"
  fi
  made_policy=1
  cat >"$policy" <<POLICY
#!/bin/sh
# For the time of one installation; $0 removes it. 101: do not.
# Without systemd, as in a container, units cannot be touched at all: the package
# ceph-mon of Debian testing tries, and fails for it.
if [ ! -d /run/systemd/system ]; then case "\$1" in *.*) exit 101 ;; esac; fi
case "\$2" in
  *restart*) exit 104 ;;
  *start*) grep -qxF -e "\$1" -e "\$1.service" $work/active && exit 104; exit 101 ;;
esac
exit 104
POLICY
  chmod 755 "$policy"
}

take_back_enabling() {
  local link name
  local -A names=()
  enabled >"$work/after"
  while IFS= read -r link; do
    name=${link##*/}
    if [[ $link == /etc/rc* ]]; then
      name=${name#S[0-9][0-9]}
      update-rc.d "$name" disable >>"$work/log" 2>&1 || true
    else
      rm -f "$link"
    fi
    names[$name]=1
  done < <(comm -13 "$work/before" "$work/after")
  ((${#names[@]})) || return 0
  if [[ -d /run/systemd/system ]]; then systemctl daemon-reload || true; fi
  wrapped "    " "neither started nor enabled, so that this host runs what it ran before:" \
    "$(printf '%s\n' "${!names[@]}" | sort | paste -sd ' ')"
}

# Reads apt's machine-readable status lines, "dlstatus:N:PERCENT:TEXT" and
# "pmstatus:PACKAGE:PERCENT:TEXT".
show_apt_progress() { # WHAT
  local kind what percent seen=
  while true; do
    if IFS=: read -r -t 1 kind what percent _; then
      case $kind in
        dlstatus) seen="downloading ${percent%.*}%" ;;
        pmstatus) seen="installing ${percent%.*}%, $what" ;;
      esac
    elif (($? <= 128)); then
      break
    fi
    progress "    $1: ${seen:-working}, $(duration $((SECONDS - began)))"
  done
  progress_done
}

apt() { # WHAT ARGUMENTS...
  local what=$1 status
  shift
  set +e
  DEBIAN_FRONTEND=noninteractive apt-get -y -q -o APT::Status-Fd=3 -o DPkg::Use-Pty=0 \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef \
    -o Dpkg::Options::=--force-confold "$@" 3>&1 >>"$work/log" 2>&1 </dev/null |
    show_apt_progress "$what"
  status=${PIPESTATUS[0]}
  set -e
  return "$status"
}

say_why() {
  grep -E '^(E|W|Err)[:[]' "$work/log" | tail -n 15 >&2 || tail -n 15 "$work/log" >&2
}

wrapped "    " "installing $# packages and what they need: $*"
began=$SECONDS
enabled >"$work/before"
prevent_starts
apt "lists of packages" update || {
  say_why
  echo "    apt-get update failed; trying with the lists that are there" >&2
}
status=0
apt "packages" install --no-install-recommends "$@" || status=$?
take_back_enabling
if ((status != 0)); then
  say_why
  die "apt-get could not install the packages"
fi
printf '    %s%s%s installed, in %s\n' "$green" "$tick" "$plain" "$(duration $((SECONDS - began)))"
