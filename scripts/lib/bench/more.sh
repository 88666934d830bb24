# shellcheck shell=bash disable=SC2154,SC2034 # variables are shared with who sources it
# What scripts/bench.sh --more measures besides. Sourced by it.

readonly entries=10000
measure_start() {
  "$tools/rbd-addons-start" --socket "$work/start.sock" --times 20 --json \
    --name "$server: start to first Probe" -- "$bin/rbd-addonsd" --controllerserver \
    --drivername rbd.csi.ceph.com --csi-addons-endpoint "unix://$work/start.sock" \
    --admin-endpoint "unix://$work/start.admin.sock" \
    --config-dir "$bed/a/csi-config" >"$work/row"
  note_row 'start to first Probe' 0
}
readonly many_groups=10000
# Groups stay: once in a run.
measure_many_groups() {
  local i before=$at_once
  if [[ ${groups_made:-} ]]; then return; fi
  groups_made=yes
  for ((i = 0; i < many_groups; ++i)); do
    printf '{"name":"bench-%d","parameters":{"clusterID":"%s","pool":"replicapool"}}\n' "$i" "$cluster"
  done >"$work/requests"
  at_once=16
  measure a "$many_groups groups of none: create" CreateVolumeGroup
  at_once=$before
  printf '{"max_entries":100}\n' >"$work/requests"
  measure a "a page of 100 of $many_groups groups" ListVolumeGroups 20
  note_memory "$many_groups groups made, and listed"
}
note_memory() { # WHEN
  printf '| %s: %s | %s |\n' "$server" "$1" "$(server_use 0)" >>"$work/memory"
}
# entries_do add|rm: of the blocklist, by the fastest way that there is.
entries_do() {
  local i word=fence
  if [[ $1 == rm ]]; then word=unfence; fi
  for ((i = 0; i < entries; ++i)); do
    printf '100.%d.%d.0/24\n' $((64 + i / 256)) $((i % 256))
  done >"$work/objects"
  progress "    $server: $entries entries of the blocklist: $1"
  ask_floor a "$word" --concurrency 64 >/dev/null
}
measure_entries() {
  entries_do add
  fences
  measure a "fence, $entries entries there" FenceClusterNetwork
  printf '{"parameters":{"clusterID":"%s"}}\n' "$cluster" >"$work/requests"
  measure a "list of $entries fences" ListClusterFence 10
  note_memory "$entries entries, fenced and listed"
  fences
  measure a "unfence, $entries entries there" UnfenceClusterNetwork
  entries_do rm
}
# All ranges in one call; its floor is a command for each.
measure_one_fence() {
  local i list=''
  if [[ $server == floor ]]; then return; fi
  for ((i = 0; i < ranges; ++i)); do list+="{\"cidr\":\"198.18.$i.0/24\"},"; done
  printf '{"parameters":{"clusterID":"%s"},"cidrs":[%s]}\n' "$cluster" "${list%,}" >"$work/requests"
  measure a "one fence of $ranges ranges" FenceClusterNetwork
  measure a "one unfence of $ranges ranges" UnfenceClusterNetwork
}
# Images of their own, of 64 MiB, whose every second object holds nothing but zeros.
readonly half_zeros=32
zero_ids=()
measure_reclaim() {
  local i id
  for ((i = ${#zero_ids[@]} + 1; i <= half_zeros; ++i)); do
    progress "    making images with zeros: $i of $half_zeros"
    zero_ids+=("$(scripts/testbed volume "$bed" a "pvc-bench-zeros-$i")")
  done
  images_of "${zero_ids[@]}"
  ask_floor a half-zero --concurrency 4 >/dev/null
  for id in "${zero_ids[@]}"; do printf '{"volume_id":"%s"}\n' "$id"; done >"$work/requests"
  measure a 'reclaim, half is zeros' ControllerReclaimSpace
  measure a 'reclaim, nothing to free' ControllerReclaimSpace
}
# A filesystem on an image, on this machine: a process of its own, because of its mounts.
measure_trim() {
  local result=0
  if [[ ! -w /dev/fuse || ! -w /dev/loop-control || $EUID != 0 ]]; then
    progress '    trim left out: it needs root, /dev/fuse and /dev/loop-control'
    return
  fi
  unshare --mount --propagation private scripts/lib/bench/trim.sh "$work" "$bed" "$bin" "$load" \
    "$server" >"$work/row" || result=$?
  if [[ -s $work/row ]]; then
    note_row trim "$result"
  else
    failures=$((failures + 1))
    printf 'bench.sh: the trim could not be measured\n' >&2
  fi
}
measure_groups() {
  local members=("${ids[@]:0:100}") list id
  list=$(printf '"%s",' "${members[@]}")
  printf '{"name":"bench","parameters":{"clusterID":"%s","pool":"replicapool"},"volume_ids":[%s]}\n' \
    "$cluster" "${list%,}" >"$work/requests"
  measure a "group of ${#members[@]}: create" CreateVolumeGroup
  id=$("$tools/rbd-addons" call CreateVolumeGroup - --endpoint "unix://$work/a.sock" \
    --secrets-file "$bed/a/secrets.json" <"$work/requests" |
    grep -oE '"volume_?[gG]roup_?[iI]d": *"[^"]+"' | head -n 1 | sed 's/.*"\([^"]*\)"$/\1/')
  printf '{"volume_group_id":"%s"}\n' "$id" >"$work/requests"
  measure a "group of ${#members[@]}: get" ControllerGetVolumeGroup 10
  measure a "group of ${#members[@]}: modify to none" ModifyVolumeGroupMembership
  measure a 'group of none: delete' DeleteVolumeGroup
}
