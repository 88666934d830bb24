#!/usr/bin/env bash
# docs/handover.md rehearsed, as far as it goes without Kubernetes, on two throwaway Ceph sites:
# volumes that are mirrored, a move that is half done, a group and a fence stand there as
# ceph-csi's built-in server leaves them; rbd-addonsd takes over on both sites and works with
# all of it; then it is given back, and what ceph-csi needs is as it was. Five minutes.
#
#   tests/deploy/handover.sh [BIN]   BIN: folder with the programs, default build/debug/bin
#
# Each line says what held ("ok") or did not ("not ok"); the exit code is that of all.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(realpath "${1:-build/debug/bin}")
# shellcheck source=scripts/lib/checks.sh
. scripts/lib/checks.sh
# shellcheck source=scripts/lib/two_sites.sh
. scripts/lib/two_sites.sh
have_ceph
make_work handover

ceph() { scripts/testbed ceph "$bed" "$@" 2>/dev/null; }
rados() { local site=$1 && shift && scripts/testbed rados "$bed" "$site" -p "$pool" "$@"; }
image_of() { printf '%s/csi-vol-%s' "$pool" "${1: -36}"; }
until_true() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >"$work/output" 2>&1; do
    if ((SECONDS >= end)); then failed "$what: $(tail -n 5 "$work/output" "$work/answer" 2>/dev/null)"; return 0; fi
    sleep 1
  done
  held "$what"
}
step() { printf -- '-- %s\n' "$*"; }

# --- what the built-in server leaves ---------------------------------------------------

# Mirroring and its schedule, and what it notes on the image when it demotes.
csi_enables() { # SITE VOLUME
  rbd "$1" mirror image enable "$(image_of "$2")" snapshot >/dev/null
  rbd "$1" mirror snapshot schedule add --pool "$pool" --image "csi-vol-${2: -36}" 1m
}
csi_demotes() { # SITE VOLUME
  rbd "$1" image-meta set "$(image_of "$2")" .rbd.image.creation_time 'seconds:1700000000 nanos:0'
  rbd "$1" mirror image demote "$(image_of "$2")"
}
csi_promotes() { # SITE VOLUME: not by force
  rbd "$1" mirror image promote "$(image_of "$2")"
  rbd "$1" mirror snapshot schedule add --pool "$pool" --image "csi-vol-${2: -36}" 1m
}
csi_groups() { # NAME UUID VOLUME...: on site a
  local group=csi-vol-group-$2 object=csi.volume.group.$2
  rados a setomapval csi.groups.default "csi.volume.group.$1" "$2"
  rados a create "$object"
  rados a setomapval "$object" csi.creationtime 2026-11-20T11:43:38.840418481Z
  rados a setomapval "$object" csi.groupname "$group"
  rados a setomapval "$object" csi.volname "$1"
  rbd a group create "$pool/$group"
  shift 2
  for volume; do
    rbd a group image add "$pool/$group" "$(image_of "$volume")"
    rados a setomapval "$object" "$volume" ''
  done
}

# All of ceph-csi's objects with their keys and values.
journal() { # SITE
  local object
  rados "$1" ls | grep '^csi\.' | sort | while read -r object; do
    printf '%s\n' "$object"
    rados "$1" listomapvals "$object"
  done
}
members() { rbd a group image list "$pool/csi-vol-group-$uuid" | sort; }
schedules() { rbd "$1" mirror snapshot schedule ls --pool "$pool" --recursive --format json; }
# What stands on an image but notes of this daemon (docs/handover.md).
notes() {
  rbd "$1" image-meta list "$(image_of "$2")" --format json 2>/dev/null | /usr/bin/python3 -c '
import json, re, sys
text = sys.stdin.read()
for key, value in sorted((json.loads(text) if text.strip() else {}).items()):
    if not re.match(r"\.?rbd-addons\.", key):
        print(key, value)'
}
data() { # SITE VOLUME: what a client reads
  /usr/bin/python3 -c '
import hashlib, rados, rbd, sys
conf, pool, name = sys.argv[1:]
with rados.Rados(conffile=conf) as cluster, cluster.open_ioctx(pool) as ioctx:
    with rbd.Image(ioctx, name, read_only=True) as image:
        print(hashlib.sha256(image.read(0, image.size())).hexdigest())' "$bed/$1/ceph.conf" "$pool" "csi-vol-${2: -36}"
}
fill() { rbd "$1" bench --io-type write --io-size 64K --io-total 4M --io-pattern rand "$(image_of "$2")" >/dev/null 2>&1; }

# --- the daemon ------------------------------------------------------------------------

start_daemons() {
  for site in a b; do
    "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com --csi-addons-endpoint "unix://$work/$site.sock" \
      --admin-endpoint "unix://$work/$site.admin.sock" --config-dir "$bed/$site/csi-config" 2>>"$work/$site.log" &
    daemons+=($!)
  done
  for site in a b; do until_true 40 "the daemon of site $site answers" "$bin/rbd-addons" probe --endpoint "unix://$work/$site.sock"; done
}
call() { # SITE METHOD JSON
  "$bin/rbd-addons" call --endpoint "unix://$work/$1.sock" --secrets-file "$bed/$1/secrets.json" --timeout 150 "$2" - <<<"$3" >"$work/answer" 2>&1 ||
    { cat "$work/answer" && return 1; }
}
verb() { call "$1" "replication.Controller/$2" "{\"replication_source\":{\"volume\":{\"volume_id\":\"$3\"}}${4:+,$4}}"; }
class='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1m"}'
answers() { local wanted=$1 && shift && "$@" && grep -q "$wanted" "$work/answer"; }
is_primary() { [[ $(rbd "$1" info "$(image_of "$2")") == *'mirroring primary: true'* ]]; }
is_secondary() { [[ $(rbd "$1" info "$(image_of "$2")") == *'mirroring primary: false'* ]]; }
same() { [[ $1 == "$2" ]] || diff <(printf '%s\n' "$1") <(printf '%s\n' "$2"); }

step 'Before: as the built-in server leaves it'
scripts/testbed up "$bed" --mirror
moved=$(scripts/testbed volume "$bed" a pvc-moved)
halfway=$(scripts/testbed volume "$bed" a pvc-halfway)
first=$(scripts/testbed volume "$bed" a pvc-first)
second=$(scripts/testbed volume "$bed" a pvc-second)
third=$(scripts/testbed volume "$bed" a pvc-third)
for volume in "$moved" "$halfway"; do
  fill a "$volume"
  csi_enables a "$volume"
done
for volume in "$moved" "$halfway"; do scripts/testbed peer-journal "$bed" b "$volume" >/dev/null; done
uuid=$(cat /proc/sys/kernel/random/uuid)
csi_groups vgrcontent-handed-over "$uuid" "$first" "$second"
group=${first%-"${first: -36}"}-$uuid
ceph a osd blocklist range add 192.0.2.16/28 157784760
follows() { [[ $(rbd b mirror image status "$(image_of "$1")") == *'replaying'*'last_update'* ]] && same "$(data a "$1")" "$(data b "$1")"; }
for volume in "$moved" "$halfway"; do until_true 90 "site b follows" follows "$volume"; done
csi_demotes a "$halfway"
content=$(data a "$moved")
journal_a=$(journal a) journal_b=$(journal b)
schedules_a=$(schedules a) members_a=$(members)
notes_halfway=$(notes a "$halfway")

step 'Over: the daemon works with all of it'
start_daemons
until_true 150 'a mirrored volume is healthy' answers HEALTHY verb a GetVolumeReplicationInfo "$moved"
check 'and knows when it was last copied' grep -q 'last_sync_time\|lastSyncTime' "$work/answer"
check 'its id on the other site' answers "site-b-.*${moved: -36}" verb a GetReplicationDestinationInfo "$moved"
check 'enable again is nothing' verb a EnableVolumeReplication "$moved" "$class"
check 'promote where it is primary, too' verb a PromoteVolume "$moved" "$class"
check 'the schedule is still the one' same "$schedules_a" "$(schedules a)"
until_true 150 'the move that was half done ends on the other site, without force' verb b PromoteVolume "$halfway" "$class"
check 'with its data' same "$(data a "$halfway")" "$(data b "$halfway")"
until_true 150 'and its old site is ready' answers '"ready": *true' verb a ResyncVolume "$halfway" '"force":true'
check 'a planned move: demote' verb a DemoteVolume "$moved"
check 'a planned move: promote on the other site' verb b PromoteVolume "$moved" "$class"
check 'nothing is lost' same "$content" "$(data b "$moved")"

group_json="{\"volume_group_id\":\"$group\""
check 'the group is shown' answers "${second: -36}" call a volumegroup.Controller/ControllerGetVolumeGroup "$group_json}"
check 'and listed' answers "$uuid" call a volumegroup.Controller/ListVolumeGroups '{}'
check 'create it again: it is the same' answers "$uuid" call a volumegroup.Controller/CreateVolumeGroup \
  "{\"name\":\"vgrcontent-handed-over\",\"parameters\":{\"clusterID\":\"site-a\",\"pool\":\"$pool\"},\"volume_ids\":[\"$first\",\"$second\"]}"
modify() { local ids && ids=$(printf ',"%s"' "$@") && call a volumegroup.Controller/ModifyVolumeGroupMembership "$group_json,\"volume_ids\":[${ids#,}]}"; }
check 'a volume joins, another leaves' modify "$first" "$third"
changed() { members | grep -q "${third: -36}" && ! members | grep -q "${second: -36}"; }
check 'also in the rbd group' changed
check 'and back' modify "$first" "$second"

fences() { call a fence.FenceController/ListClusterFence '{"parameters":{"clusterID":"site-a"}}'; }
check 'the fence is listed' answers 192.0.2.16/28 fences
fence() { call a "fence.FenceController/$1" '{"parameters":{"clusterID":"site-a"},"cidrs":[{"cidr":"192.0.2.16/28"}]}'; }
check 'fenced again is fenced' fence FenceClusterNetwork
check 'it is lifted' fence UnfenceClusterNetwork
no_fence() { [[ $(ceph a osd blocklist ls) != *192.0.2.16* ]]; }
check 'and gone' no_fence
check 'one of this daemon' fence FenceClusterNetwork

step 'Home, and back to the built-in server'
for volume in "$moved" "$halfway"; do
  follows_b() { verb b GetVolumeReplicationInfo "$volume" && grep -q HEALTHY "$work/answer"; }
  until_true 150 'site a follows' follows_b
  check 'demote' verb b DemoteVolume "$volume"
  until_true 150 'promote' verb a PromoteVolume "$volume" "$class"
done
stop_daemons
check "ceph-csi's journal on site a is as it was" same "$journal_a" "$(journal a)"
check "ceph-csi's journal on site b is as it was" same "$journal_b" "$(journal b)"
check 'the rbd group is as it was' same "$members_a" "$(members)"
check 'one schedule for each volume' same "$schedules_a" "$(schedules a)"
# This daemon writes it as ceph-csi does, whose resync needs it.
marked() { [[ $(notes a "$1") == '.rbd.image.creation_time seconds:'*' nanos:'* && $(notes a "$1") != *$'\n'* ]]; }
check "the image that was moved has ceph-csi's note of a demotion, and no other" marked "$moved"
check 'the one that it had demoted has its note still' same "$notes_halfway" "$(notes a "$halfway")"
until_true 90 'site b follows' follows "$moved"

fill a "$moved"
content=$(data a "$moved")
check 'the built-in server demotes' csi_demotes a "$moved"
until_true 120 'and promotes on the other site, without force' csi_promotes b "$moved"
check 'nothing is lost' same "$content" "$(data b "$moved")"
csi_lifts() { ceph a osd blocklist range rm 192.0.2.16/28 && no_fence; }
check 'it lifts the fence of this daemon' csi_lifts
csi_takes_out() {
  rbd a group image remove "$pool/csi-vol-group-$uuid" "$(image_of "$first")" && rados a rmomapkey "csi.volume.group.$uuid" "$first"
}
check 'and changes the group' csi_takes_out

step 'Over again'
start_daemons
until_true 150 'healthy where the built-in server has promoted it' answers HEALTHY verb b GetVolumeReplicationInfo "$moved"
check 'secondary here' is_secondary a "$moved"
check 'primary there' is_primary b "$moved"
one_member() { call a volumegroup.Controller/ControllerGetVolumeGroup "$group_json}" && ! grep -q "${first: -36}" "$work/answer"; }
check 'the group has the members that the built-in server left' one_member

if ((failures)); then
  for site in a b; do printf -- '--- log of the daemon of site %s\n' "$site"; tail -n 40 "$work/$site.log"; done
fi
printf '%d failures\n' "$failures"
((failures == 0))
