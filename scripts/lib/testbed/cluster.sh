# shellcheck shell=bash
# One site's cluster, from an empty directory to a pool that answers.

# make_mon SITE FSID: starts the mon of SITE on a port of its own. Somebody may take that port between our look
# and the mon's bind; then the mon ends at once and is made anew on another one.
make_mon() {
  local site=$1 dir=$DIR/$1 log=$DIR/$1/log/mkfs.out try end
  for try in 1 2 3 4 5; do
    reserve_port "$site"
    write_conf "$site" "$2"
    rm -rf "$dir/mon" "$dir/monmap"
    mkdir "$dir/mon"
    at "$site" monmaptool --create --fsid "$2" --addv a "[$(mon_host "$site")]" "$dir/monmap" >>"$log" 2>&1 ||
      die "$site: monmaptool failed, see $log"
    at "$site" ceph-mon --mkfs -i a -c "$dir/ceph.conf" --monmap "$dir/monmap" --keyring "$dir/keyring" >>"$log" 2>&1 ||
      die "$site: ceph-mon --mkfs failed, see $log"
    start_daemon "$site" mon
    end=$((SECONDS + WAIT))
    while ours "$dir/pid/mon"; do
      if mon_listens "$site"; then return; fi
      ((SECONDS < end)) || die "$site: mon does not listen after $WAIT s, see $dir/log/mon.a.log"
      sleep 0.02
    done
    say "$site: mon ended (try $try)"
    release_port "$dir"
    rm -f "$dir/pid/mon"
  done
  die "$site: mon does not start, see $dir/log/mon.out and $dir/log/mon.a.log"
}

# make_pools SITE FILLERS OSD_UUID...: the mon commands of a new site, in one session: starting the Python
# program "ceph" is the expensive part. FILLERS pools come first: the same pool has another id on each site, as
# in real clusters.
make_pools() {
  local site=$1 fillers=$2 uuids=("${@:3}") log=$DIR/$1/log/ceph.out i id name out
  out=$({
    if wants_old_keys "$site"; then printf 'mon set auth_allowed_ciphers aes,aes256k\n'; fi
    for i in "${!uuids[@]}"; do
      printf 'osd new %s %d\n' "${uuids[i]}" "$i"
      printf 'osd crush add osd.%d 1 host=localhost root=default\n' "$i"
    done
    for ((i = 0; i < fillers; i++)); do
      printf 'osd pool create filler-%d 1\nosd pool application enable filler-%d rbd\n' "$i" "$i"
    done
    printf 'osd pool create %s 8\n' "$POOL"
    printf 'health mute MGR_MODULE_ERROR --sticky\n' # the mgr misses the modules left out
    printf 'osd lspools\n'
  } | admin_ceph "$site" 2>>"$log") || die "$site: the mon does not answer, see $log"
  while read -r id name; do
    if [[ $name == "$POOL" ]]; then printf '%s\n' "$id" >"$DIR/$site/pool-id"; fi
  done <<<"$out"
  [[ -s $DIR/$site/pool-id ]] || die "$site: cannot create pool $POOL, see $log"
  if wants_old_keys "$site"; then give_admin_old_key "$site"; fi
}

# mgr_ready SITE: succeeds once the module rbd_support answers. "schedule list" ends with ENOENT while there is
# no schedule, "schedule status" does not.
mgr_ready() { admin_rbd "$1" mirror snapshot schedule status -p "$POOL" >>"$DIR/$1/log/rbd.out" 2>&1; }

# site_up SITE FILLERS: the worker that "up" starts for each site.
site_up() {
  local site=$1 dir=$DIR/$1 fsid i uuids=() mkfs=()
  set +m
  record_worker "$site"
  fsid=$(new_uuid)
  for i in "${!OSDS[@]}"; do uuids+=("$(new_uuid)"); done

  write_mgr_modules "$site"
  make_mon "$site" "$fsid"
  : >"$dir/mon-made"
  say "$site: mon listens"
  start_daemon "$site" mgr
  for i in "${!OSDS[@]}"; do
    at "$site" ceph-osd --mkfs -i "$i" --osd-uuid "${uuids[i]}" --monmap "$dir/monmap" -c "$dir/ceph.conf" \
      >>"$dir/log/mkfs.out" 2>&1 &
    mkfs+=($!)
  done
  make_pools "$site" "$2" "${uuids[@]}"
  say "$site: pools made"
  for i in "${!OSDS[@]}"; do
    wait "${mkfs[i]}" || die "$site: ceph-osd --mkfs failed, see $dir/log/mkfs.out"
    start_daemon "$site" "$(osd_name "$i")"
  done

  rbd_step "$site" pool init "$POOL"
  say "$site: OSD answers"
  rbd_step "$site" namespace create "$POOL/$(namespace_of "$site")"
  if [[ $MIRROR ]]; then
    enable_mirroring "$site"
    if has_rbd_mirror "$site"; then follow_peer "$site"; fi
  fi
  wait_for "$site: mgr module rbd_support" "$dir/log/mgr.x.log" mgr_ready "$site"
  say "$site: mgr answers"
  rm -f "$dir/pid/worker"
}
