#!/usr/bin/env bash
# The main verbs of a daemon, one after the other, against two throwaway Ceph sites of this
# machine: for daemons that were built elsewhere, on another release (scripts/matrix.sh).
#
#   scripts/main-verbs.sh [BIN]   BIN: folder with rbd-addonsd and rbd-addons, by default
#                                 build/debug/bin; two to six minutes
#
# Each line says what held ("ok") or did not ("not ok"); the exit code is that of all.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) printf "main-verbs.sh: there is no option '%s' (see --help)\n" "$1" >&2; exit 2 ;;
esac
bin=$(realpath "${1:-build/debug/bin}")

# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh
# shellcheck source=scripts/lib/two_sites.sh
. scripts/lib/two_sites.sh
make_work verbs

# call SITE METHOD JSON: the answer, or the error, is in $work/answer.
call() {
  "$bin/rbd-addons" call --endpoint "unix://$work/$1.sock" --secrets-file "$bed/$1/secrets.json" \
    --timeout "${timeout:-150}" "$2" - <<<"$3" >"$work/answer" 2>&1
}
verb() { # SITE METHOD [FIELDS]
  call "$1" "replication.Controller/$2" "{\"replication_source\":{\"volume\":{\"volume_id\":\"$id\"}}${3:+,$3}}"
}
answer() { tr '\n' ' ' <"$work/answer"; }

# expect CODE WHAT COMMAND...: CODE is OK or the name of an error.
expect() {
  local code=$1 what=$2 got=OK
  shift 2
  "$@" || got=$(sed 's/:.*//;q' "$work/answer")
  if [[ $got == "$code" ]]; then held "$what: $(answer)"; else failed "$what: $(answer), expected $code"; fi
}
# until_true SECONDS WHAT COMMAND...
until_true() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if ((SECONDS >= end)); then failed "$what: $(answer)"; return 0; fi
    sleep 1
  done
  held "$what"
}
# What a client reads; `rbd export` of a secondary can tell of something else.
sum() {
  /usr/bin/python3 -c '
import hashlib, rados, rbd, sys
conf, pool, name = sys.argv[1:]
total = hashlib.sha256()
with rados.Rados(conffile=conf) as cluster, cluster.open_ioctx(pool) as ioctx:
    with rbd.Image(ioctx, name, read_only=True) as image:
        size = image.size()
        for at in range(0, size, 4 << 20):
            total.update(image.read(at, min(4 << 20, size - at)))
print(total.hexdigest())
' "$bed/$1/ceph.conf" "$pool" "$image" || printf 'site %s could not be read\n' "$1"
}
fill() { rbd "$1" bench --io-type write --io-size 64K --io-total 8M --io-pattern rand "$pool/$image" >/dev/null 2>&1; }

scripts/testbed up "$bed" --mirror
for site in a b; do printf 'site %s: %s\n' "$site" "$(scripts/testbed ceph "$bed" "$site" --version)"; done
for site in a b; do
  "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com --csi-addons-endpoint "unix://$work/$site.sock" \
    --admin-endpoint "unix://$work/$site.admin.sock" \
    --config-dir "$bed/$site/csi-config" --settle-time 60s 2>"$work/$site.log" &
  daemons+=($!)
done
probe() { "$bin/rbd-addons" probe --endpoint "unix://$work/$1.sock" >"$work/answer" 2>&1; }
for site in a b; do until_true 40 "the daemon of site $site answers" probe "$site"; done

id=$(scripts/testbed volume "$bed" a pvc-verbs)
image=csi-vol-${id: -36}
fill a
schedule='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1h"}'
expect OK 'enable on a' verb a EnableVolumeReplication "$schedule"
expect OK 'enable again' verb a EnableVolumeReplication "$schedule"
expect OK 'promote on a, which is primary' verb a PromoteVolume "$schedule"
listed() { rbd a mirror snapshot schedule ls --pool "$pool" --image "$image" >"$work/answer" 2>&1 && grep -q 'every 1h' "$work/answer"; }
until_true 10 'the schedule is set' listed
copied() { verb a GetVolumeReplicationInfo && grep -q 'last_sync_time\|lastSyncTime' "$work/answer"; }
until_true 150 'info on a tells of the first copy' copied
scripts/testbed peer-journal "$bed" b "$id" >/dev/null

before=$(sum a)
expect OK 'demote on a' verb a DemoteVolume
expect OK 'promote on b' verb b PromoteVolume "$schedule"
if [[ $(sum b) == "$before" ]]; then held 'site b has the data'; else failed 'site b has other data'; fi

fill b
rbd b mirror image snapshot "$pool/$image" >/dev/null
newest() { rbd a mirror image status --format json "$pool/$image" >"$work/answer" && [[ $(sum a) == "$(sum b)" ]]; }
until_true 90 'site a has what was written on b' newest
written=$(sum b)
scripts/testbed stop "$bed" b all
timeout=20
expect UNAVAILABLE 'promote on a while b has just gone silent' verb a PromoteVolume "$schedule"
told() { ! verb a PromoteVolume "$schedule" && grep -q '^FAILED_PRECONDITION' "$work/answer"; }
until_true 200 'promote on a says that forcing is right' told
timeout=150
expect OK 'forced promote on a' verb a PromoteVolume "\"force\":true,$schedule"
if [[ $(sum a) == "$written" ]]; then held 'site a has the last complete snapshot'; else failed 'site a has other data'; fi
fill a
after=$(sum a)
scripts/testbed cont "$bed" b all
expect OK 'demote on b, which has come back' verb b DemoteVolume
ready() { verb b ResyncVolume '"force":true' && grep -q '"ready": *true' "$work/answer"; }
until_true 240 'resync on b' ready
rbd a mirror image snapshot "$pool/$image" >/dev/null
again() { [[ $(sum b) == "$after" ]]; }
until_true 90 'site b has the data of a' again
healthy() { verb a GetVolumeReplicationInfo && grep -q 'HEALTHY' "$work/answer"; }
until_true 120 'info on a is healthy' healthy

fence() { call a "fence.FenceController/$1" "{\"parameters\":{\"clusterID\":\"site-a\"},\"cidrs\":[{\"cidr\":\"$2\"}]}"; }
list() { call a fence.FenceController/ListClusterFence '{"parameters":{"clusterID":"site-a"}}' && grep -q "$1" "$work/answer"; }
expect OK 'fence of a node' fence FenceClusterNetwork 192.0.2.16/28
expect OK 'the fence is listed' list 192.0.2.16/28
expect OK 'the same fence again' fence FenceClusterNetwork 192.0.2.16/28
expect FAILED_PRECONDITION 'fence of the cluster itself' fence FenceClusterNetwork 127.0.0.0/8
expect OK 'unfence' fence UnfenceClusterNetwork 192.0.2.16/28
not_listed() { ! list 192.0.2.16/28; }
until_true 5 'the fence is gone' not_listed

expect OK 'disable on a' verb a DisableVolumeReplication
expect OK 'disable again' verb a DisableVolumeReplication
id=$(scripts/testbed volume "$bed" a pvc-plain)
expect OK 'reclaim' call a reclaimspace.ReclaimSpaceController/ControllerReclaimSpace "{\"volume_id\":\"$id\"}"

if ((failures)); then
  for site in a b; do printf -- '--- log of the daemon of site %s\n' "$site"; tail -n 40 "$work/$site.log"; done
fi
printf '%d failures\n' "$failures"
((failures == 0))
