#!/usr/bin/env bash
# The main job before one's eyes: a volume moves between two real Ceph sites, by plan
# and in a disaster, through the daemon's gRPC socket, and the data is checked.
#
#   scripts/demo.sh          runs, checks, cleans up; the exit code tells
#   scripts/demo.sh --keep   leaves clusters and sockets up and says how to use them
#
# Everything runs on loopback, below one temporary folder. Nothing of the system is
# changed but for installed packages.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh

keep=
case ${1:-} in
  --keep) keep=1 ;;
  '') ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac

# The shortest that the daemon allows, instead of 90 s, so that the disaster is a
# short one: reports of rbd-mirror are 30 s apart.
settle=60
work=$(mktemp -d /tmp/rbda-demo.XXXXXX)
bed=$work/bed
pool=replicapool
declare -A daemon_pid=()
step_number=0
step_started=0

say() { printf '%s\n' "$*"; }
now() { date +%s; }

step() {
  finish_step
  step_number=$((step_number + 1))
  step_started=$(now)
  printf '\n[%d] %s\n' "$step_number" "$*"
}
finish_step() {
  if ((step_number > 0 && step_started > 0)); then
    printf '    (%d s)\n' $(($(now) - step_started))
  fi
}
proves() { printf '    proves: %s\n' "$*"; }
fail() {
  printf '\nFAILED in step %d: %s\n' "$step_number" "$*" >&2
  for site in a b; do
    [[ -f $work/$site.log ]] && {
      printf -- '--- last lines of the daemon at site %s\n' "$site" >&2
      tail -n 15 "$work/$site.log" >&2
    }
  done
  exit 1
}

clean_up() {
  local status=$? site
  if [[ $keep && $status -eq 0 ]]; then return; fi
  for site in "${!daemon_pid[@]}"; do
    kill "${daemon_pid[$site]}" 2>/dev/null || true
    wait "${daemon_pid[$site]}" 2>/dev/null || true
  done
  scripts/testbed down "$bed" || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

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
  say "    site $1: $2 -> OK ${output//$'\n'/ }"
}

# expect_code CODE SITE METHOD ID [JSON]
expect_code() {
  local code=$1 output
  shift
  if output=$(verb "$@" 2>&1); then
    fail "$2 on site $1 answered OK, expected $code"
  fi
  [[ $output == *"$code"* ]] || fail "$2 on site $1: expected $code, got: $output"
  say "    site $1: $2 -> ${output//$'\n'/ }"
}

# until_true SECONDS WHAT COMMAND...: repeats COMMAND, with a sign of progress.
until_true() {
  local end=$(($(now) + $1)) what=$2
  shift 2
  printf '    waiting until %s ' "$what"
  until "$@"; do
    (($(now) < end)) || { printf '\n'; fail "$what: not in time"; }
    printf '.'
    sleep 2
  done
  printf ' yes\n'
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
data_of() { # SITE -> checksum of the whole image
  scripts/testbed rbd "$bed" "$1" export --no-progress "$pool/$image" - 2>/dev/null | sha256sum | cut -d' ' -f1
}
first_line_of() { # SITE
  # Only the first bytes are wanted, so the export may end in a broken pipe.
  { scripts/testbed rbd "$bed" "$1" export --no-progress "$pool/$image" - 2>/dev/null || true; } | head -n 1
}
same_data() { # SITE CHECKSUM
  local found
  found=$(data_of "$1")
  [[ $found == "$2" ]] || fail "data on site $1 is '$(first_line_of "$1")' ($found), expected $2"
  say "    data on site $1: '$(first_line_of "$1")', checksum as written"
}

start_daemon() { # SITE
  "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com \
    --csi-addons-endpoint "unix://$work/$1.sock" \
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

started=$(now)
step "Install what is missing, and build"
install_packages "${build_packages[@]}" "${ceph_packages[@]}"
cmake --preset release >"$work/configure.log" || { cat "$work/configure.log" >&2; exit 1; }
cmake --build --preset release -- --quiet || fail "the build"
bin=$root/build/release/bin

step "Start two throwaway Ceph sites, a and b, that mirror each other"
scripts/testbed up "$bed" --mirror --objectstore bluestore
for site in a b; do
  say "    site $site: $(scripts/testbed ceph "$bed" "$site" fsid), pool '$pool' has id $(scripts/testbed ceph "$bed" "$site" osd pool ls detail -f json | python3 -c "import json,sys; print([p['pool_id'] for p in json.load(sys.stdin) if p['pool_name']=='$pool'][0])")"
done
proves "real monitors, managers, OSDs and rbd-mirror daemons; nothing is simulated"

step "Start rbd-addonsd on each site"
for site in a b; do start_daemon "$site"; done
for site in a b; do until_true 30 "the daemon on site $site is ready" probe "$site"; done
"$bin/rbd-addons" call --endpoint "unix://$work/a.sock" identity.Identity/GetIdentity | sed 's/^/    /'
proves "the socket answers, and says who it is"

step "Make a volume as ceph-csi does, on site a"
id_a=$(scripts/testbed volume "$bed" a pvc-demo --size 64M)
image=csi-vol-${id_a: -36}
say "    volume id: $id_a"
say "    image:     $pool/$image"
proves "the daemon needs no database of its own: ceph-csi's journal says it all"

step "Switch replication on, with a snapshot every minute"
expect_ok a EnableVolumeReplication "$id_a" '"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1m"}'
expect_ok a PromoteVolume "$id_a" '"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1m"}'
expect_ok a EnableVolumeReplication "$id_a" '"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1m"}'
say "    schedule: $(scripts/testbed rbd "$bed" a mirror snapshot schedule ls --pool "$pool" --image "$image")"
until_true 120 "site b has its first copy" has_copy a "$id_a"
sed 's/^/    /' "$work/info"
id_b=$(scripts/testbed peer-journal "$bed" b "$id_a")
say "    on site b the volume has the id $id_b"
destination=$(call a replication.Controller/GetReplicationDestinationInfo \
  "{\"replication_source\":{\"volume\":{\"volume_id\":\"$id_a\"}}}")
[[ $destination == *"$id_b"* ]] || fail "the destination is $destination, expected $id_b"
proves "every call may be repeated; the destination id is what site b calls the volume"

step "Write on site a, then move to site b by plan"
write_data a "written on site a before the planned move"
before=$(data_of a)
# The same id works on both sites: cluster-mapping.json translates it.
expect_ok a DemoteVolume "$id_a"
expect_ok b PromoteVolume "$id_a" '"parameters":{"schedulingInterval":"1m"}'
same_data b "$before"
proves "nothing is lost: the promotion waited until the demotion had arrived whole"

step "Write on site b and let it reach site a"
write_data b "written on site b, copied to site a"
copied=$(data_of b)
scripts/testbed rbd "$bed" b mirror image snapshot "$pool/$image" >/dev/null
until_true 90 "site a has the copy" snapshot_arrived a "$copied"
write_data b "written on site b, never copied"

step "Disaster: every daemon of site b dies"
scripts/testbed kill "$bed" b all
call_timeout=20
expect_code UNAVAILABLE a PromoteVolume "$id_a"
proves "the other side may only be slow: the operator is told to wait, not to force"
until_true 180 "the daemon on site a says that forcing is right" \
  bash -c "! '$bin/rbd-addons' call --endpoint 'unix://$work/a.sock' --secrets-file '$bed/a/secrets.json' --timeout 20 replication.Controller/PromoteVolume '{\"replication_source\":{\"volume\":{\"volume_id\":\"$id_a\"}}}' 2>'$work/promote' && grep -q FAILED_PRECONDITION '$work/promote'"
sed 's/^/    /' "$work/promote"
call_timeout=180
expect_ok a PromoteVolume "$id_a" '"force":true,"parameters":{"schedulingInterval":"1m"}'
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

step "Disable replication"
expect_ok b DisableVolumeReplication "$id_b"
expect_ok a DisableVolumeReplication "$id_a"
expect_ok a DisableVolumeReplication "$id_a"
left=$(scripts/testbed rbd "$bed" a mirror snapshot schedule ls --pool "$pool" --image "$image" 2>/dev/null || true)
[[ -z $left || $left == '[]' ]] || fail "a schedule is left: $left"
proves "on the secondary it did nothing, on the primary it removed mirroring and schedule"
finish_step
step_started=0

printf '\nAll %d steps held, in %d s.\n' "$step_number" $(($(now) - started))
if [[ $keep ]]; then
  cat <<KEEP

Left running for you (folder $work):
  a call:      $bin/rbd-addons call --endpoint unix://$work/a.sock --secrets-file $bed/a/secrets.json GetReplicationDestinationInfo '{"replication_source":{"volume":{"volume_id":"$id_a"}}}'
  the logs:    $work/a.log $work/b.log
  Ceph:        scripts/testbed ceph $bed a status    scripts/testbed rbd $bed b mirror pool status $pool
  the end:     kill ${daemon_pid[a]} ${daemon_pid[b]}; scripts/testbed down $bed; rm -rf $work
KEEP
fi
