#!/usr/bin/env bash
# The main job before one's eyes: a volume moves between two real Ceph sites, by plan
# and in a disaster, through the daemon's gRPC socket, and the data is checked.
#
#   scripts/demo.sh          runs, checks, cleans up; the exit code tells
#   scripts/demo.sh --short  ends after the planned move and a fence, without the disaster
#   scripts/demo.sh --keep   leaves two sites and a replicated volume, and says how to use them
#
# Everything runs on loopback, below one temporary folder. What is needed is installed from
# Debian's packages, and their services are neither started nor enabled; nothing else of the
# system is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=scripts/lib/common.sh
. scripts/lib/common.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/build.sh
. scripts/lib/build.sh

keep='' short=''
for argument; do
  case $argument in
    --keep) keep=1 ;;
    --short) short=1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf "demo.sh: there is no option '%s'\n\n" "$argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done

# The shortest that the daemon allows, instead of 90 s, so that the disaster is a
# short one: reports of rbd-mirror are 30 s apart.
settle=60
work=$(mktemp -d /tmp/rbda-demo.XXXXXX)
bed=$work/bed
pool=replicapool
declare -A daemon_pid=()
waiting_pid=''
step_number=0
step_started=0

say() { wrapped "    " "$*"; }
show() { # standard input, as it is where it fits
  local line
  while IFS= read -r line; do
    if ((${#line} + 4 > width)); then say "$line"; else printf '    %s\n' "$line"; fi
  done
}
now() { date +%s; }

step() {
  finish_step
  step_number=$((step_number + 1))
  step_started=$(now)
  printf '\n%s[%d] %s%s\n' "$bold" "$step_number" "$*" "$plain"
}
finish_step() {
  if ((step_number > 0 && step_started > 0)); then
    printf '    %s(%d s)%s\n' "$dim" $(($(now) - step_started)) "$plain"
  fi
}
proves() { wrapped "    " "$green$tick proves:$plain $*"; }
fail() {
  progress_done
  echo >&2
  wrapped "" "${red}FAILED in step $step_number:$plain $*" >&2
  for site in a b; do
    [[ -f $work/$site.log ]] && {
      printf -- '--- last lines of the daemon at site %s\n' "$site" >&2
      tail -n 15 "$work/$site.log" | while IFS= read -r line; do wrapped "    " "$line"; done >&2
    }
  done
  exit 1
}

clean_up() {
  local status=$? site
  if [[ $keep && $status -eq 0 ]]; then return; fi
  if [[ $waiting_pid ]]; then kill "$waiting_pid" 2>/dev/null || true; fi
  for site in "${!daemon_pid[@]}"; do
    kill "${daemon_pid[$site]}" 2>/dev/null || true
    wait "${daemon_pid[$site]}" 2>/dev/null || true
  done
  scripts/testbed down "$bed" || true
  rm -rf "$work"
}
trap clean_up EXIT
on_interrupt_say_so

# call SITE METHOD JSON: one gRPC call through the daemon's socket, as the operator's
# sidecar does. The Ceph key comes from a file and never stands on a command line.
call() {
  local site=$1 method=$2 json=$3
  "$bin/rbd-addons" call --endpoint "unix://$work/$site.sock" \
    --secrets-file "$bed/$site/secrets.json" --timeout "${call_timeout:-180}" \
    "$method" - <<<"$json"
}

# verb SITE METHOD ID [EXTRA JSON FIELDS]
verb() {
  call "$1" "replication.Controller/$2" \
    "{\"replication_source\":{\"volume\":{\"volume_id\":\"$3\"}}${4:+,$4}}"
}

expect_ok() {
  local output
  if ! output=$(verb "$@" 2>&1); then fail "$2 on site $1: $output"; fi
  say "site $1: $2 -> OK $output"
}

# expect_code CODE SITE METHOD ID [JSON]
expect_code() {
  local code=$1 output
  shift
  if output=$(verb "$@" 2>&1); then
    fail "$2 on site $1 answered OK, expected $code"
  fi
  [[ $output == *"$code"* ]] || fail "$2 on site $1: expected $code, got: $output"
  say "site $1: $2 -> $output"
}

# until_true SECONDS WHAT COMMAND...: repeats COMMAND, and shows what is waited for and for
# how long. Where `words` names a file, the daemon's words in it are shown when they change.
words=''
until_true() {
  local limit=$1 what=$2 began heard=''
  shift 2
  began=$(now)
  while true; do
    "$@" &
    waiting_pid=$!
    while kill -0 "$waiting_pid" 2>/dev/null; do
      progress "    waiting until $what: $(($(now) - began)) s"
      sleep 0.3
    done
    if wait "$waiting_pid"; then break; fi
    waiting_pid=''
    if [[ $words && -s $words && $(<"$words") != "$heard" ]]; then
      heard=$(<"$words")
      progress_done
      say "after $(($(now) - began)) s: $heard"
    fi
    (($(now) - began < limit)) || fail "$what: not within $limit s"
    for _ in 1 2 3 4; do
      progress "    waiting until $what: $(($(now) - began)) s"
      sleep 0.5
    done
  done
  waiting_pid=''
  progress_done
  say "waited until $what: $(($(now) - began)) s"
}

write_data() { # SITE TEXT
  CEPH_CONF=$bed/$1/ceph.conf /usr/bin/python3 - "$pool" "$image" "$2" <<'PY'
import os, sys, rados, rbd
pool, image, text = sys.argv[1:]
cluster = rados.Rados(conffile=os.environ["CEPH_CONF"])
cluster.connect()
with cluster.open_ioctx(pool) as ioctx, rbd.Image(ioctx, image) as disk:
    block = (text + "\n").encode().ljust(4096, b".")
    for offset in range(0, disk.size(), 1 << 20):
        disk.write(block, offset)
    disk.flush()
cluster.shutdown()
PY
}
# Reads through librbd. What `rbd export` gives of a secondary is not always what
# reading it gives.
read_image() { # SITE -> the whole image
  CEPH_CONF=$bed/$1/ceph.conf /usr/bin/python3 - "$pool" "$image" <<'PY'
import os, sys, rados, rbd
pool, image = sys.argv[1:]
cluster = rados.Rados(conffile=os.environ["CEPH_CONF"])
cluster.connect()
with cluster.open_ioctx(pool) as ioctx, rbd.Image(ioctx, image, read_only=True) as disk:
    for offset in range(0, disk.size(), 4 << 20):
        sys.stdout.buffer.write(disk.read(offset, min(4 << 20, disk.size() - offset)))
cluster.shutdown()
PY
}
data_of() { # SITE -> checksum of the whole image
  read_image "$1" | sha256sum | cut -d' ' -f1
}
first_line_of() { # SITE
  # Only the first bytes are wanted, so the reader may end in a broken pipe.
  { read_image "$1" 2>/dev/null || true; } | head -n 1
}
same_data() { # SITE CHECKSUM
  local found
  found=$(data_of "$1")
  [[ $found == "$2" ]] || fail "data on site $1 is '$(first_line_of "$1")' ($found), expected $2"
  say "$green$tick$plain data on site $1: '$(first_line_of "$1")', checksum as written"
}

start_daemon() { # SITE
  # In a session of its own: neither Ctrl-C nor the end of the terminal concerns it.
  setsid "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com \
    --csi-addons-endpoint "unix://$work/$1.sock" --admin-endpoint "unix://$work/$1.admin.sock" \
    --config-dir "$bed/$1/csi-config" --settle-time "${settle}s" \
    2>"$work/$1.log" &
  daemon_pid[$1]=$!
}
probe() { "$bin/rbd-addons" probe --endpoint "unix://$work/$1.sock" >/dev/null 2>&1; }
has_copy() { verb "$1" GetVolumeReplicationInfo "$2" >"$work/info" 2>/dev/null && grep -q last_sync_time\\\|lastSyncTime "$work/info"; }
answers() { # the cluster behind the daemon, whatever the answer is
  verb "$1" GetVolumeReplicationInfo "$2" >"$work/answer" 2>&1 ||
    ! grep -qE '^(UNAVAILABLE|DEADLINE_EXCEEDED)' "$work/answer"
}
snapshot_arrived() { # on the site that receives: newest mirror snapshot is complete and is that of the primary
  [[ $(data_of "$1") == "$2" ]]
}
resync_ready() {
  verb "$1" ResyncVolume "$2" '"force":true' >"$work/resync" 2>&1 &&
    grep -q '"ready": *true' "$work/resync"
}

forcing_is_right() { # VOLUME_ID: site a refuses to promote, with the code that lets the operator force
  call_timeout=20
  ! verb a PromoteVolume "$1" >/dev/null 2>"$work/promote" && grep -q FAILED_PRECONDITION "$work/promote"
}

started=$(now)
check_machine demo
step "Install what is missing, and build"
install_for demo
# One that is to be shipped is shown where there is one.
preset=demo
if [[ -f build/release/CMakeCache.txt ]]; then preset=release; fi
configure "$preset" || fail "cmake"
build "$preset" rbd-addonsd rbd-addons || fail "the build"
bin=$root/build/$preset/bin

step "Start two throwaway Ceph sites, a and b, that mirror each other"
scripts/testbed up "$bed" --mirror --objectstore bluestore
for site in a b; do
  say "site $site: $(scripts/testbed ceph "$bed" "$site" fsid), pool '$pool' has id $(<"$bed/$site/pool-id")"
done
proves "real monitors, managers, OSDs and rbd-mirror daemons; nothing is simulated"

step "Start rbd-addonsd on each site"
for site in a b; do start_daemon "$site"; done
for site in a b; do until_true 30 "the daemon on site $site is ready" probe "$site"; done
"$bin/rbd-addons" call --endpoint "unix://$work/a.sock" identity.Identity/GetIdentity | show
proves "the socket answers, and says who it is"

step "Make a volume as ceph-csi does, on site a"
id_a=$(scripts/testbed volume "$bed" a pvc-demo --size 64M)
image=csi-vol-${id_a: -36}
say "volume id: $id_a"
say "image: $pool/$image"
write_data a "written on site a before replication"
proves "the daemon needs no database of its own: ceph-csi's journal says it all"

samples=deploy/samples/ceph-csi
# of_class FILE: the parameters as the operator sends them, without those that are for itself.
of_class() {
  local fields
  fields=$(sed -n 's/^    \([a-zA-Z]*\): \(.*\)$/"\1":"\2"/p' "$samples/$1" | sed 's/^\("schedulingInterval":\).*/\1"1m"/' | paste -sd ,)
  printf '"parameters":{%s}' "$fields"
}
class=$(of_class volumereplicationclass.yaml)

step "Switch replication on, with a snapshot every minute"
say "class: $samples/volumereplicationclass.yaml, but every minute"
expect_ok a EnableVolumeReplication "$id_a" "$class"
expect_ok a PromoteVolume "$id_a" "$class"
expect_ok a EnableVolumeReplication "$id_a" "$class"
say "schedule: $(scripts/testbed rbd "$bed" a mirror snapshot schedule ls --pool "$pool" --image "$image")"
until_true 120 "site b has its first copy" has_copy a "$id_a"
show <"$work/info"
id_b=$(scripts/testbed peer-journal "$bed" b "$id_a")
say "on site b the volume has the id $id_b"
destination=$(call a replication.Controller/GetReplicationDestinationInfo \
  "{\"replication_source\":{\"volume\":{\"volume_id\":\"$id_a\"}}}")
[[ $destination == *"$id_b"* ]] || fail "the destination is $destination, expected $id_b"
proves "every call may be repeated; the destination id is what site b calls the volume"

step "Write on site a, then move to site b by plan"
write_data a "written on site a before the planned move"
before=$(data_of a)
# The same id works on both sites: cluster-mapping.json translates it.
expect_ok a DemoteVolume "$id_a"
expect_ok b PromoteVolume "$id_a" "$class"
same_data b "$before"
proves "nothing is lost: the promotion waited until the demotion had arrived whole"

disaster_and_return() {
  step "Write on site b and let it reach site a"
  write_data b "written on site b, copied to site a"
  copied=$(data_of b)
  scripts/testbed rbd "$bed" b mirror image snapshot "$pool/$image" >/dev/null
  until_true 90 "site a has the copy" snapshot_arrived a "$copied"
  proves "after the move the copying goes the other way, by itself"
  write_data b "written on site b, never copied"

  step "Disaster: every daemon of site b dies"
  scripts/testbed kill "$bed" b all
  call_timeout=20
  expect_code UNAVAILABLE a PromoteVolume "$id_a"
  proves "the other side may only be slow: the operator is told to wait, not to force"
  say "Site b is silent only when its last reports are older than $settle s (--settle-time)."
  words=$work/promote
  until_true 240 "the daemon on site a says that forcing is right" forcing_is_right "$id_a"
  words=''
  show <"$work/promote"
  call_timeout=180
  expect_ok a PromoteVolume "$id_a" "\"force\":true,$class"
  same_data a "$copied"
  proves "site a has the last complete snapshot, whole, and can be written"
  write_data a "written on site a after the disaster"
  after=$(data_of a)

  step "Site b comes back, and still believes to be primary"
  scripts/testbed start "$bed" b all
  until_true 60 "the cluster of site b answers" answers b "$id_b"
  expect_ok b DemoteVolume "$id_b"
  until_true 240 "site b has thrown its copy away and made it anew" resync_ready b "$id_b"
  scripts/testbed rbd "$bed" a mirror image snapshot "$pool/$image" >/dev/null
  until_true 90 "site b has the data of site a" snapshot_arrived b "$after"
  same_data b "$after"
  proves "the resync ran once, from a living primary, and ended with the same data"
}

# A node of site a.
fence_a_node() {
  local cidr
  cidr=$(sed -n 's/^    - \(.*\)$/\1/p' "$samples/networkfence.yaml")
  fence() { call a "fence.FenceController/$1" "{$(of_class networkfenceclass.yaml),\"cidrs\":[{\"cidr\":\"$cidr\"}]}" >"$work/fence" 2>&1 || fail "$1: $(<"$work/fence")"; }
  fenced() { [[ $(scripts/testbed ceph "$bed" a osd blocklist ls 2>/dev/null) == *"${cidr%/*}"* ]]; }
  step "Cut a dead node off, and let it in again"
  say "which: $samples/networkfence.yaml, $cidr"
  fence FenceClusterNetwork
  fenced || fail "the blocklist of site a does not have $cidr"
  say "$(grep -o 'fenced cluster=.*' "$work/a.log" | tail -n 1)"
  fence UnfenceClusterNetwork
  ! fenced || fail "the blocklist of site a still has $cidr"
  proves "the OK to a fence comes when the OSDs refuse the node, not before"
}

# ask_group SITE METHOD [FIELDS]: for the group of that site
ask_group() {
  call "$1" "replication.Controller/$2" "{\"replication_source\":{\"volumegroup\":{\"volume_group_id\":\"${group_of[$1]}\"}}${3:+,$3}}" \
    >"$work/group" 2>&1
}
group_call() { ask_group "$@" || fail "$2 of the group on site $1: $(<"$work/group")"; }
declare -A group_of=()
group_has_copies() { ask_group a GetVolumeReplicationInfo && grep -q 'last_sync_time\|lastSyncTime' "$work/group"; }
a_group_moves() {
  local image ids=() site members of_group sums=()
  members=$(of_class volumereplicationclass-groups.yaml)
  step "Two more volumes, as one group: move them to site b together"
  say "classes: $samples/volumegroupreplicationclass.yaml, and for the members volumereplicationclass-groups.yaml"
  for name in pvc-demo-data pvc-demo-log; do
    ids+=("$(scripts/testbed volume "$bed" a "$name" --size 16M)")
    image=csi-vol-${ids[-1]: -36}
    write_data a "$name, written on site a"
  done
  for site in a b; do
    # The class of each site names its own cluster.
    of_group=$(of_class volumegroupreplicationclass.yaml)
    call "$site" volumegroup.Controller/CreateVolumeGroup \
      "{\"name\":\"vgrcontent-demo\",${of_group/site-a/site-$site},\"volume_ids\":[\"${ids[0]}\",\"${ids[1]}\"]}" >"$work/group" 2>&1 ||
      fail "CreateVolumeGroup on site $site: $(<"$work/group")"
    group_of[$site]=$(sed -n 's/.*"volume_*[gG]roup_*[iI]d": *"\([^"]*\)".*/\1/p' "$work/group")
    if [[ $site == b ]]; then break; fi
    group_call a EnableVolumeReplication "$members"
    group_call a PromoteVolume "$members"
    until_true 120 "site b has a copy of both" group_has_copies
    for id in "${ids[@]}"; do scripts/testbed peer-journal "$bed" b "$id" >/dev/null; done
  done
  say "the group is ${group_of[a]} on site a, ${group_of[b]} on site b"
  for id in "${ids[@]}"; do image=csi-vol-${id: -36} && sums+=("$(data_of a)"); done
  group_call a DemoteVolume
  group_call b PromoteVolume "$members"
  for i in 0 1; do image=csi-vol-${ids[i]: -36} && same_data b "${sums[i]}"; done
  proves "none is promoted before all have arrived: the group is of one moment"
  group_call b DisableVolumeReplication
  for site in b a; do
    call "$site" volumegroup.Controller/ModifyVolumeGroupMembership "{\"volume_group_id\":\"${group_of[$site]}\",\"volume_ids\":[]}" >/dev/null
    call "$site" volumegroup.Controller/DeleteVolumeGroup "{\"volume_group_id\":\"${group_of[$site]}\"}" >/dev/null
  done
}

disable() {
  step "Disable replication"
  expect_ok "$secondary" DisableVolumeReplication "$id_b"
  expect_ok "$primary" DisableVolumeReplication "$id_a"
  expect_ok "$primary" DisableVolumeReplication "$id_a"
  left=$(scripts/testbed rbd "$bed" "$primary" mirror snapshot schedule ls \
    --pool "$pool" --image "$image" 2>/dev/null || true)
  [[ -z $left || $left == '[]' ]] || fail "a schedule is left: $left"
  proves "on the secondary it did nothing, on the primary it removed mirroring and schedule"

  step "Give back the space that the volume does not need, as $samples/reclaimspacejob.yaml"
  local id=id_$primary
  call "$primary" reclaimspace.ReclaimSpaceController/ControllerReclaimSpace "{\"volume_id\":\"${!id}\"}" >"$work/reclaim" 2>&1 ||
    fail "ControllerReclaimSpace: $(<"$work/reclaim")"
  show <"$work/reclaim"
  proves "a volume that nobody has open is looked through for zeros"
}

primary=a secondary=b
if [[ $short ]]; then
  primary=b secondary=a
else
  disaster_and_return
  a_group_moves
fi
fence_a_node
if [[ ! $keep ]]; then disable; fi
finish_step
step_started=0

printf '\n%s%s All %d steps held, in %s.%s\n' "$green" "$tick" "$step_number" \
  "$(duration $(($(now) - started)))" "$plain"
if [[ $keep ]]; then
  # One program for each site, so that nothing below is long or depends on the folder.
  for site in a b; do
    id=id_$site
    cat >"$work/call-$site" <<CALL
#!/bin/sh
# call-$site METHOD ['"MORE": "FIELDS"']: one call for the volume on site $site
exec '$bin/rbd-addons' call --endpoint 'unix://$work/$site.sock' \\
  --secrets-file '$bed/$site/secrets.json' --timeout 180 "replication.Controller/\${1:?method}" \\
  "{\"replication_source\":{\"volume\":{\"volume_id\":\"${!id}\"}}\${2:+,\$2}}"
CALL
  done
  cat >"$work/end" <<END
#!/bin/sh
# Ends the daemons and clusters and removes this folder.
kill ${daemon_pid[a]} ${daemon_pid[b]}
'$root/scripts/testbed' down '$bed'
rm -rf '$work'
END
  chmod 755 "$work/call-a" "$work/call-b" "$work/end"
  cat <<KEEP

Left running: volume pvc-demo, primary on site $primary, copied to site $secondary every minute.
From any folder:
  $work/call-$primary GetVolumeReplicationInfo
  $work/call-$primary DemoteVolume      # a planned move, and
  $work/call-$secondary PromoteVolume     # its second half
  $root/scripts/testbed rbd $bed $primary mirror pool status $pool
  $root/scripts/testbed kill $bed $primary all     # a disaster; then
  $work/call-$secondary PromoteVolume '"force": true'
  tail -f $work/a.log $work/b.log
  $work/end                      # ends and removes all of it
KEEP
fi
