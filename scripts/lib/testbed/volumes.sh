# shellcheck shell=bash disable=SC2153,SC2154 # POOL, NAMESPACE and here stand in scripts/testbed
# Volumes as ceph-csi writes them: a reservation (request name -> uuid) in csi.volumes.INSTANCE and the volume's
# own csi.volume.UUID; both are omap entries of empty objects in the image's pool and namespace.

readonly INSTANCE=default # ceph-csi's --instanceid
readonly OWNER=default    # the Kubernetes namespace of the claims
readonly FEATURES=layering,exclusive-lock,object-map,fast-diff,deep-flatten

# omap_get SITE POOL NAMESPACE OBJECT KEY: prints the value; fails when there is none.
omap_get() {
  local file status=0
  file=$(mktemp "$DIR/omap.XXXXXX")
  admin_rados "$1" -p "$2" -N "$3" getomapval "$4" "$5" "$file" >/dev/null 2>&1 || status=1
  cat "$file"
  rm -f "$file"
  return "$status"
}

# cluster_id SITE NAMESPACE: prints the clusterID that config.json has for both.
cluster_id() {
  case $2 in
    '') printf 'site-%s' "$1" ;;
    "$(namespace_of "$1")") printf 'site-%s-ns' "$1" ;;
    *) die "no clusterID of site $1 has the namespace $2, only $(namespace_of "$1") has one" ;;
  esac
}

# volume_id CLUSTER_ID POOL_ID UUID: prints the CSI handle.
volume_id() { printf '0001-%04x-%s-%016x-%s\n' "${#1}" "$1" "$2" "$3"; }

# journal SITE COMMAND POOL NAMESPACE ARGS...: runs volumes.py, which prints "POOL_ID UUID".
journal() {
  local log=$DIR/$1/log/journal.out
  CEPH_CONF=$DIR/$1/ceph.conf bounded /usr/bin/python3 "$here/volumes.py" "$2" "$INSTANCE" "${@:3}" 2>>"$log" ||
    die "$1: $2: $(tail -n 1 "$log"), see $log and $DIR/$1/log/osd.0.log"
}

# need_data_pool SITE POOL: makes it when it is not there.
need_data_pool() {
  if [[ $'\n'$(admin_rados "$1" lspools 2>/dev/null)$'\n' == *$'\n'"$2"$'\n'* ]]; then return; fi
  admin_ceph "$1" osd pool create "$2" 8 >/dev/null 2>&1 || die "$1: cannot create pool $2"
  rbd_step "$1" pool init "$2"
}

# cmd_volume DIR SITE NAME [OPTIONS]
cmd_volume() {
  local site name='' size=64M namespace='' pool=$POOL data_pool='' parent='' uuid cluster id made
  load_bed "${1:-}"
  site=${2:-}
  need_site "$site"
  shift 2
  while (($#)); do
    case $1 in
      --size) size=${2:-}; shift ;;
      --namespace) namespace=${2:-}; shift ;;
      --pool) pool=${2:-}; shift ;;
      --data-pool) data_pool=${2:-}; shift ;;
      --parent) parent=${2:-}; shift ;;
      -*) usage_error "volume: unknown option $1" ;;
      *) [[ ! $name ]] || usage_error "volume: one NAME only"; name=$1 ;;
    esac
    shift || usage_error "volume: an option lacks its value"
  done
  [[ $name ]] || usage_error "volume: NAME is missing"
  cluster=$(cluster_id "$site" "$namespace")
  if [[ $data_pool ]]; then need_data_pool "$site" "$data_pool"; fi
  if [[ $parent && $parent != */* ]]; then parent=$pool/${namespace:+$namespace/}$parent; fi
  made=$(journal "$site" volume "$pool" "$namespace" "$(new_uuid)" "$name" "$OWNER" "$size" "$FEATURES" \
    "$data_pool" "$parent") || exit 1
  read -r id uuid <<<"$made"
  # For peer-journal, which must work when this site does not.
  mkdir -p "$DIR/volumes"
  printf '%s\n' "$name" >"$DIR/volumes/$uuid"
  volume_id "$cluster" "$id" "$uuid"
}

# cmd_peer_journal DIR SITE VOLUME_ID
cmd_peer_journal() {
  local site=${2:-} volume=${3:-} cluster candidate from='' namespace='' uuid name owner=$OWNER made
  load_bed "${1:-}"
  need_site "$site"
  ((${#SITES[@]} == 2)) || die "peer-journal: this bed has one site"
  [[ $volume =~ ^0001-[0-9a-f]{4}-(site-[a-z0-9-]+)-[0-9a-f]{16}-([0-9a-f-]{36})$ ]] ||
    usage_error "peer-journal: '$volume' is no volume id"
  cluster=${BASH_REMATCH[1]} uuid=${BASH_REMATCH[2]}
  for candidate in "${SITES[@]}"; do
    case $cluster in
      "site-$candidate") from=$candidate ;;
      "site-$candidate-ns") from=$candidate namespace=$(namespace_of "$candidate") ;;
    esac
  done
  [[ $from ]] || die "peer-journal: clusterID $cluster is not of this bed"
  # The entry belongs to the site that is not the volume's own, whichever of the two was named.
  if [[ $site == "$from" ]]; then site=$(other_site "$from"); fi
  if ! name=$(first_line "$DIR/volumes/$uuid"); then
    name=$(omap_get "$from" "$POOL" "$namespace" "csi.volume.$uuid" csi.volname) || die "$from: no journal entry of $volume"
    owner=$(omap_get "$from" "$POOL" "$namespace" "csi.volume.$uuid" csi.volume.owner) || true
  fi
  if [[ $namespace ]]; then namespace=$(namespace_of "$site"); fi
  made=$(journal "$site" peer-journal "$POOL" "$namespace" "$uuid" "$name" "$owner" "$((WAIT - 3))") || exit 1
  volume_id "$(cluster_id "$site" "$namespace")" "${made% *}" "$uuid"
}
