#!/usr/bin/env bash
# Every call with exactly the capabilities that deploy/ceph/create-user.sh gives, limited to a
# pool and then to one namespace, for volumes in snapshot and in journal mode and for groups,
# and what fails without each of them. On two throwaway Ceph sites; a quarter of an hour.
#
#   tests/deploy/ceph_users.sh [BIN]   BIN: folder with the programs, default build/debug/bin
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
make_work users

# call SITE METHOD JSON, as $user: the answer, or the error, is in $work/answer.
call() {
  local secrets=$1
  if [[ $1 == node ]]; then secrets=a; fi
  "$bin/rbd-addons" call --endpoint "unix://$work/$1.sock" --secrets-file "$work/$secrets.$user.json" \
    --timeout "${timeout:-150}" "$2" - <<<"$3" >"$work/answer" 2>&1
}
verb() { call "$1" "replication.Controller/$2" "{\"replication_source\":{\"volume\":{\"volume_id\":\"$id\"}}${3:+,$3}}"; }
answer() { tr '\n' ' ' <"$work/answer" | cut -c1-"${1:-200}"; }
code() { sed 's/:.*//;q' "$work/answer"; }
expect() { # CODE WHAT COMMAND...
  local wanted=$1 what=$2 got=OK
  shift 2
  "$@" || got=$(code)
  if [[ "|$wanted|" == *"|$got|"* ]]; then held "$user: $what: $got"; else failed "$user: $what: $(answer 400), expected $wanted"; fi
}
expect_quietly() { # CODE COMMAND...
  local wanted=$1
  shift
  ! "$@" && [[ $(code) == "$wanted" ]]
}
until_true() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if ((SECONDS >= end)); then failed "$user: $what: $(answer 400)"; return 0; fi
    sleep 1
  done
  held "$user: $what"
}

# old_key NAME SITE: with TESTBED_OLD_KEYS, gives the user that is to be made a key that also a
# daemon with a librados before 19.2.6 can use.
old_key() {
  if [[ ! ${TESTBED_OLD_KEYS:-} || $(ceph-authtool --help 2>&1 || true) != *--key-type* ]]; then return 0; fi
  printf '[client.%s]\n\tkey = %s\n' "$1" "$(ceph-authtool --gen-print-key --key-type aes)" >"$work/keyring"
  scripts/testbed ceph "$bed" "$2" auth add "client.$1" -i "$work/keyring" >/dev/null 2>&1
}
# least NAME PLACE SITE...: a user as the script makes it, on these sites; of the services in
# $services only.
least() {
  local name=$1 place=$2 site
  shift 2
  for site; do
    old_key "$name" "$site"
    CEPH="scripts/testbed ceph $bed $site" deploy/ceph/create-user.sh ${place:+--pool "$place"} --format json ${services:+--for "$services"} \
      "client.$name" >"$work/$site.$name.json" 2>/dev/null
  done
}
# given NAME CAPABILITY...: a user of site a with just these.
given() {
  local name=$1
  shift
  old_key "$name" a
  scripts/testbed ceph "$bed" a auth get-or-create "client.$name" >/dev/null 2>&1
  scripts/testbed ceph "$bed" a auth caps "client.$name" "$@" >/dev/null 2>&1
  printf '{"userID": "%s", "userKey": "%s"}\n' "$name" "$(scripts/testbed ceph "$bed" a auth get-key "client.$name" 2>/dev/null)" \
    >"$work/a.$name.json"
}

scripts/testbed up "$bed" --mirror
scripts/testbed ceph "$bed" a --version
metrics=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for site in a b; do
  watched=()
  if [[ $site == a ]]; then watched=(--metricsport "$metrics" --metrics-address 127.0.0.1 --watch-interval 5s); fi
  "$bin/rbd-addonsd" --controllerserver --drivername rbd.csi.ceph.com --csi-addons-endpoint "unix://$work/$site.sock" \
    --admin-endpoint "unix://$work/$site.admin.sock" \
    --config-dir "$bed/$site/csi-config" --settle-time 60s "${watched[@]}" 2>"$work/$site.log" &
  daemons+=($!)
done
"$bin/rbd-addonsd" --nodeserver --nodeid n --drivername rbd.csi.ceph.com --csi-addons-endpoint "unix://$work/node.sock" \
  --admin-endpoint "unix://$work/node.admin.sock" --config-dir "$bed/a/csi-config" 2>"$work/node.log" &
daemons+=($!)
user=nobody
probe() { "$bin/rbd-addons" probe --endpoint "unix://$work/$1.sock" >"$work/answer" 2>&1; }
for site in a b node; do until_true 40 "the daemon '$site' answers" probe "$site"; done

schedule='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1h"}'
followed() { verb b GetVolumeReplicationInfo && grep -q 'HEALTHY' "$work/answer"; }
copied() { verb a GetVolumeReplicationInfo && grep -q 'last_sync_time\|lastSyncTime' "$work/answer"; }
has_schedule() { rbd a mirror snapshot schedule ls --pool "$pool" ${namespace:+--namespace "$namespace"} --image "$image" >"$work/answer" 2>&1 && grep -q 'every 1h' "$work/answer"; }
# What the last fence waited for.
fence_log() { grep ' fenced cluster=' "$work/a.log" | tail -n 1 >"$work/answer" && grep -q "$1" "$work/answer"; }
fence() { call a "fence.FenceController/$1" "{\"parameters\":{\"clusterID\":\"$cluster\"},\"cidrs\":[{\"cidr\":\"192.0.2.16/28\"}]}"; }
# What the command line shows of a site: asked with the capabilities of the user, too.
show() { # SITE VERB ARGUMENT...
  local site=$1
  shift
  "$bin/rbd-addons" "$@" --admin-endpoint "unix://$work/$site.admin.sock" --secrets-file "$work/$site.$user.json" >"$work/answer" 2>&1
}
can_be_forced() {
  show b check-failover "$id" || true
  grep -q '^  by force  works' "$work/answer"
}
has_history() { show a history "$id" && grep -q 'promote: OK' "$work/answer"; }
metric() { grep -q "^rbd_addons_replication_$1{cluster=\"$cluster\",pool=\"$pool\",namespace=\"$namespace\"} 1\$" <(python3 -c '
import sys, urllib.request
print(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics", timeout=20).read().decode())' "$metrics" | tee "$work/answer"); }
# missing PLACE: the capabilities that the doctor misses for the cluster and this place of it.
missing() {
  show a doctor --all || true
  grep -q 'caps.mirror-daemons' "$work/answer" || echo 'no answer'
  sed -nE "s/^(problem|unclear|warning) +((caps|cluster)\.[a-z-]+), ($1 of )?cluster '$cluster'\$/\2/p" "$work/answer" | sort | paste -sd ' '
}
doctor_misses() { # PLACE CAPABILITIES
  local got
  got=$(missing "$1")
  if [[ $got == "$2" ]]; then held "$user: the doctor misses: ${got:-nothing}"; else failed "$user: the doctor misses '$got', expected '$2': $(answer 2000)"; fi
}
group() { call "${3:-a}" "volumegroup.Controller/$1" "$2"; }
ready() { verb b ResyncVolume '"force":true' && grep -q '"ready": *true' "$work/answer"; }
told() { ! verb a PromoteVolume "$schedule" && [[ $(code) == FAILED_PRECONDITION ]]; }

# It cannot connect then, reports on no image, and says why to the manager only.
rbd_mirror_is_started_meanwhile() {
  local user=no-status end
  scripts/testbed kill "$bed" a rbd-mirror
  scripts/testbed start "$bed" a rbd-mirror
  given no-status mon 'profile rbd, allow command "osd blocklist"' mgr "profile rbd pool=$pool" osd "profile rbd pool=$pool"
  # Its tries to connect take five minutes.
  end=$((SECONDS + 450)) timeout=30
  while ((SECONDS < end)); do
    expect_quietly UNAVAILABLE verb a PromoteVolume "$schedule" || break
  done
  timeout=150
  if ((SECONDS >= end)) && grep -q 'allow command "service status"' "$work/answer"; then
    held "$user: promote waits for a person, and names the capability"
  else
    failed "$user: promote: $(answer 400)"
  fi
}

group_calls() { # VOLUME-ID
  local group_id
  expect OK 'create a group' group CreateVolumeGroup \
    "{\"name\":\"g-$user\",\"parameters\":{\"clusterID\":\"$cluster\",\"pool\":\"$pool\"},\"volume_ids\":[\"$1\"]}"
  group_id=$(grep -oE '"volume_?[gG]roup_?[iI]d": *"[^"]*"' "$work/answer" | sed 's/.*"\([^"]*\)"$/\1/')
  expect OK 'get it' group ControllerGetVolumeGroup "{\"volume_group_id\":\"$group_id\"}"
  expect OK 'list groups' group ListVolumeGroups '{}'
  expect OK 'empty it' group ModifyVolumeGroupMembership "{\"volume_group_id\":\"$group_id\",\"volume_ids\":[]}"
  expect OK 'delete it' group DeleteVolumeGroup "{\"volume_group_id\":\"$group_id\"}"
}

# a_volume NAME: made on site a, and its id is in $id.
a_volume() {
  id=$(scripts/testbed volume "$bed" a "pvc-$1" ${namespace:+--namespace "$namespace"})
  image=csi-vol-${id: -36}
}
group_verb() { # SITE METHOD [FIELDS]: for the group of that site
  call "$1" "replication.Controller/$2" \
    "{\"replication_source\":{\"volumegroup\":{\"volume_group_id\":\"${group_of[$1]}\"}}${3:+,$3}}"
}
declare -A group_of=()
# A group moves from a to b by plan, and is taken apart there.
replicated_group() {
  local members=() site ids parameters='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"1h","groupReplication":"members"}'
  for name in first second; do a_volume "$user-$name" && members+=("\"$id\""); done
  ids=$(IFS=, && printf '%s' "${members[*]}")
  make_group() {
    group CreateVolumeGroup "{\"name\":\"moving-$user\",\"parameters\":{\"clusterID\":\"site-$site${namespace:+-ns}\",\"pool\":\"$pool\"},\"volume_ids\":[$ids]}" "$site"
  }
  remember() { group_of[$site]=$(grep -oE '"volume_?[gG]roup_?[iI]d": *"[^"]*"' "$work/answer" | sed 's/.*"\([^"]*\)"$/\1/'); }
  group_copied() { group_verb a GetVolumeReplicationInfo && grep -q 'last_sync_time\|lastSyncTime' "$work/answer"; }
  site=a
  expect OK 'create a group of two' make_group && remember
  expect OK 'enable the group' group_verb a EnableVolumeReplication "$parameters"
  expect OK 'promote the group where it is primary' group_verb a PromoteVolume "$parameters"
  until_true 150 'info tells of the first copies' group_copied
  for id in "${members[@]}"; do scripts/testbed peer-journal "$bed" b "${id//\"/}" >/dev/null; done
  site=b
  expect OK 'create it on the other site' make_group && remember
  expect OK 'destinations' group_verb a GetReplicationDestinationInfo
  expect OK 'demote the group' group_verb a DemoteVolume
  until_true 150 'promote the group on the other site' group_verb b PromoteVolume "$parameters"
  expect OK 'disable the group' group_verb b DisableVolumeReplication
  expect OK 'empty the group' group ModifyVolumeGroupMembership "{\"volume_group_id\":\"${group_of[b]}\",\"volume_ids\":[]}" b
  expect OK 'delete the group' group DeleteVolumeGroup "{\"volume_group_id\":\"${group_of[b]}\"}" b
}
# The same of a volume in journal mode.
journal_mode() {
  local parameters='"parameters":{"mirroringMode":"journal"}'
  replayed() { verb a GetVolumeReplicationInfo && grep -q 'HEALTHY' "$work/answer"; }
  a_volume "$user-journal"
  expect OK 'enable in journal mode' verb a EnableVolumeReplication "$parameters"
  expect OK 'promote where it is primary, in journal mode' verb a PromoteVolume "$parameters"
  until_true 200 'its journal is replayed on the other site' replayed
  scripts/testbed peer-journal "$bed" b "$id" >/dev/null
  expect OK 'demote in journal mode' verb a DemoteVolume
  until_true 200 'promote on the other site in journal mode' verb b PromoteVolume "$parameters"
  expect OK 'disable in journal mode' verb b DisableVolumeReplication
}
# What is not mounted is answered by the node, without Ceph. What is: node_trim.sh.
node_reclaim() {
  expect FAILED_PRECONDITION 'reclaim on a node where the volume is not mounted' call node reclaimspace.ReclaimSpaceNode/NodeReclaimSpace \
    "{\"volume_id\":\"$id\",\"staging_target_path\":\"$work/staged\",\"volume_capability\":{\"mount\":{},\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}}}"
}

# What every call answers for a user of one place.
all_calls() {
  local place=$1
  namespace=''
  if [[ $place == */* ]]; then namespace=${place#*/}; fi
  cluster=site-a${namespace:+-ns}
  replicated_group
  journal_mode
  a_volume "$user"
  node_reclaim
  expect OK 'reclaim' call a reclaimspace.ReclaimSpaceController/ControllerReclaimSpace "{\"volume_id\":\"$id\"}"
  group_calls "$id"
  expect OK 'fence' fence FenceClusterNetwork
  if [[ $namespace ]]; then
    until_true 5 'the OSDs, which it may not ask, were not waited for' fence_log 'learn of it when they do'
  else
    until_true 5 'all OSDs know of the fence' fence_log 'all OSDs asked know it'
  fi
  expect OK 'list fences' call a fence.FenceController/ListClusterFence "{\"parameters\":{\"clusterID\":\"$cluster\"}}"
  expect OK 'fence clients' call a fence.FenceController/GetFenceClients "{\"parameters\":{\"clusterID\":\"$cluster\"}}"
  expect OK 'unfence' fence UnfenceClusterNetwork
  expect OK 'enable' verb a EnableVolumeReplication "$schedule"
  expect OK 'promote where it is primary' verb a PromoteVolume "$schedule"
  until_true 20 'the schedule is set' has_schedule
  until_true 150 'info tells of the first copy' copied
  scripts/testbed peer-journal "$bed" b "$id" >/dev/null
  until_true 20 'history' has_history
  until_true 20 'check-failover on the other site' can_be_forced
  until_true 30 'the watch sees the pool' metric look_ok
  until_true 30 'and its schedules' metric schedules_known
  expect OK 'destination' verb a GetReplicationDestinationInfo
  expect OK 'demote' verb a DemoteVolume
  expect OK 'promote on the other site' verb b PromoteVolume "$schedule"
  # Otherwise a knows of nobody but itself, and takes its own demotion back.
  until_true 150 'the other site is followed' followed
  scripts/testbed stop "$bed" b all
  if [[ ! $namespace ]]; then rbd_mirror_is_started_meanwhile; fi
  timeout=30
  until_true 500 'a dead site is recognised' told
  timeout=150
  expect OK 'promote by force' verb a PromoteVolume "\"force\":true,$schedule"
  scripts/testbed cont "$bed" b all
  # Somebody who woke up with the site may have the image open for a moment.
  until_true 60 'demote the site that came back' verb b DemoteVolume
  until_true 240 'resync' ready
}
least least-pool "$pool" a b
least least-namespace "$pool/tenant1" a b
user=least-pool
cluster=site-a namespace=''
doctor_misses "pool '$pool'" ''
all_calls "$pool"
pool_id=$id
user=least-namespace
all_calls "$pool/tenant1"
doctor_misses "namespace '$pool\/tenant1'" ''
expect OK 'disable' verb a DisableVolumeReplication

# The limits are limits.
id=$pool_id
user=least-namespace
expect UNAUTHENTICATED 'a volume of the pool itself' verb a GetVolumeReplicationInfo

# What each capability is for.
rbd_osd="profile rbd pool=$pool"
given no-blocklist mon 'profile rbd' mgr "$rbd_osd" osd "$rbd_osd"
given no-mgr mon 'profile rbd, allow command "osd blocklist"' osd "$rbd_osd"
given no-osd mon 'profile rbd, allow command "osd blocklist"' mgr "$rbd_osd"
given read-only mon 'profile rbd' osd "profile rbd-read-only pool=$pool"
given no-mon osd "$rbd_osd"
plain_id=$(scripts/testbed volume "$bed" a pvc-plain)
cluster=site-a namespace='' image=csi-vol-${id: -36}
user=no-blocklist
expect OK 'info' verb a GetVolumeReplicationInfo
# "profile rbd" of 16.2 allows it by itself.
expect OK 'fence' fence FenceClusterNetwork
expect PERMISSION_DENIED 'unfence' fence UnfenceClusterNetwork
doctor_misses "pool '$pool'" 'caps.mirror-daemons caps.unfence'
user=no-mgr
doctor_misses "pool '$pool'" 'caps.flatten caps.manager caps.mirror-daemons caps.schedule'
expect OK 'info' verb a GetVolumeReplicationInfo
expect OK 'fence' fence FenceClusterNetwork
expect OK 'unfence' fence UnfenceClusterNetwork
other='"parameters":{"mirroringMode":"snapshot","schedulingInterval":"2h"}'
got=OK
verb a PromoteVolume "$other" || got=$(code)
held "$user: promote with another interval: $got: $(answer 300)"
has_other() { rbd a mirror snapshot schedule ls --pool "$pool" --image "$image" 2>/dev/null | grep -q 'every 2h'; }
if has_other; then failed "$user: the schedule was changed"; else held "$user: the schedule is not changed"; fi
user=no-osd
# 20.2 leaves the question unanswered.
expect 'UNAUTHENTICATED|UNAVAILABLE' 'info' verb a GetVolumeReplicationInfo
user=read-only
expect OK 'info' verb a GetVolumeReplicationInfo
expect PERMISSION_DENIED 'demote' verb a DemoteVolume
doctor_misses "pool '$pool'" 'caps.flatten caps.manager caps.mirror-daemons caps.schedule caps.unfence caps.write'
user=no-mon
expect UNAUTHENTICATED 'info' verb a GetVolumeReplicationInfo
# One service only.
services=fencing least only-fencing '' a
services=reclaim least only-reclaim "$pool" a
services=groups least only-groups "$pool" a
user=only-fencing
expect OK 'fence' fence FenceClusterNetwork
until_true 5 'all OSDs know of the fence' fence_log 'all OSDs asked know it'
for method in ListClusterFence GetFenceClients; do
  expect OK "$method" call a "fence.FenceController/$method" "{\"parameters\":{\"clusterID\":\"$cluster\"}}"
done
expect PERMISSION_DENIED 'demote' verb a DemoteVolume
user=only-reclaim
expect PERMISSION_DENIED 'unfence' fence UnfenceClusterNetwork
user=only-fencing
expect OK 'unfence' fence UnfenceClusterNetwork
user=only-reclaim
expect OK 'reclaim' call a reclaimspace.ReclaimSpaceController/ControllerReclaimSpace "{\"volume_id\":\"$plain_id\"}"
user=only-groups
group_calls "$plain_id"
user=least-pool
expect OK 'demote' verb a DemoteVolume
# It takes its own demotion back, and waits until the other site follows it.
until_true 150 'promote again' verb a PromoteVolume "$schedule"
expect OK 'disable' verb a DisableVolumeReplication

if ((failures)); then
  for site in a b; do printf -- '--- log of the daemon of site %s\n' "$site"; tail -n 40 "$work/$site.log"; done
fi
printf '%d failures\n' "$failures"
((failures == 0))
