# shellcheck shell=bash disable=SC2153 # POOL and NAMESPACE stand in scripts/testbed
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

# omap_set SITE POOL NAMESPACE OBJECT KEY VALUE: creates the object when it is not there.
omap_set() { rados_step "$1" -p "$2" -N "$3" setomapval "$4" "$5" "$6"; }

# image_id SITE IMAGE_SPEC: prints the internal id; fails when there is no such image.
image_id() {
  local out pattern=$'\n\tid: ([0-9a-z]+)'
  out=$(admin_rbd "$1" info "$2" 2>/dev/null) || return 1
  [[ $out =~ $pattern ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# pool_id SITE POOL: prints it.
pool_id() {
  local id name
  if [[ $2 == "$POOL" ]]; then cat "$DIR/$1/pool-id"; return; fi
  while read -r id name; do
    if [[ $name == "$2" ]]; then printf '%s' "$id"; return; fi
  done <<<"$(admin_ceph "$1" osd lspools 2>/dev/null)"
  die "$1: no pool $2"
}

# cluster_id SITE NAMESPACE: prints the clusterID that config.json has for both.
cluster_id() {
  case $2 in
    '') printf 'site-%s' "$1" ;;
    "$NAMESPACE") printf 'site-%s-ns' "$1" ;;
    *) die "no clusterID has the namespace $2, only $NAMESPACE has one" ;;
  esac
}

# volume_id CLUSTER_ID POOL_ID UUID: prints the CSI handle.
volume_id() { printf '0001-%04x-%s-%016x-%s\n' "${#1}" "$1" "$2" "$3"; }

# reserve SITE POOL NAMESPACE UUID NAME OWNER: the journal without the image's id, in ceph-csi's order.
reserve() {
  local place=("$1" "$2" "$3") object=csi.volume.$4 uuid=$4 name=$5 owner=$6
  # Creation is exclusive: the object must not be there.
  rados_step "$1" -p "$2" -N "$3" create "$object"
  omap_set "${place[@]}" "csi.volumes.$INSTANCE" "csi.volume.$name" "$uuid"
  omap_set "${place[@]}" "$object" csi.volname "$name"
  omap_set "${place[@]}" "$object" csi.imagename "csi-vol-$uuid"
  if [[ $owner ]]; then omap_set "${place[@]}" "$object" csi.volume.owner "$owner"; fi
}

# need_data_pool SITE POOL: makes it when it is not there.
need_data_pool() {
  if [[ $'\n'$(admin_rados "$1" lspools 2>/dev/null)$'\n' == *$'\n'"$2"$'\n'* ]]; then return; fi
  admin_ceph "$1" osd pool create "$2" 8 >/dev/null 2>&1 || die "$1: cannot create pool $2"
  rbd_step "$1" pool init "$2"
}

# cmd_volume DIR SITE NAME [OPTIONS]
cmd_volume() {
  local site name='' size=64M namespace='' pool=$POOL data_pool='' parent='' uuid cluster id image space spec args
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
  id=$(pool_id "$site" "$pool")
  if uuid=$(omap_get "$site" "$pool" "$namespace" "csi.volumes.$INSTANCE" "csi.volume.$name"); then
    volume_id "$cluster" "$id" "$uuid" # made before
    return
  fi
  if [[ $data_pool ]]; then need_data_pool "$site" "$data_pool"; fi
  uuid=$(new_uuid)
  reserve "$site" "$pool" "$namespace" "$uuid" "$name" "$OWNER"
  space=$pool/${namespace:+$namespace/}
  spec=${space}csi-vol-$uuid
  args=(--image-feature "$FEATURES" ${data_pool:+--data-pool "$data_pool"})
  if [[ $parent ]]; then
    [[ $parent == */* ]] || parent=$space$parent
    # Format 2 as ceph-csi has it: the snapshot needs no protection.
    rbd_step "$site" clone --rbd-default-clone-format 2 "${args[@]}" "$parent" "$spec"
  else
    rbd_step "$site" create --size "$size" "${args[@]}" "$spec"
  fi
  image=$(image_id "$site" "$spec") || die "$site: cannot read the id of image $spec"
  omap_set "$site" "$pool" "$namespace" "csi.volume.$uuid" csi.imageid "$image"
  # For peer-journal, which must work when this site does not.
  mkdir -p "$DIR/volumes"
  printf '%s\n' "$name" >"$DIR/volumes/$uuid"
  volume_id "$cluster" "$id" "$uuid"
}

# cmd_peer_journal DIR SITE VOLUME_ID
cmd_peer_journal() {
  local site=${2:-} volume=${3:-} cluster candidate from='' namespace='' uuid name owner=$OWNER spec image place current
  load_bed "${1:-}"
  need_site "$site"
  ((${#SITES[@]} == 2)) || die "peer-journal: this bed has one site"
  [[ $volume =~ ^0001-[0-9a-f]{4}-(site-[a-z0-9-]+)-[0-9a-f]{16}-([0-9a-f-]{36})$ ]] ||
    usage_error "peer-journal: '$volume' is no volume id"
  cluster=${BASH_REMATCH[1]} uuid=${BASH_REMATCH[2]}
  for candidate in "${SITES[@]}"; do
    case $cluster in
      "site-$candidate") from=$candidate ;;
      "site-$candidate-ns") from=$candidate namespace=$NAMESPACE ;;
    esac
  done
  [[ $from ]] || die "peer-journal: clusterID $cluster is not of this bed"
  # The entry belongs to the site that is not the volume's own, whichever of the two was named.
  if [[ $site == "$from" ]]; then site=$(other_site "$from"); fi
  if ! name=$(first_line "$DIR/volumes/$uuid"); then
    name=$(omap_get "$from" "$POOL" "$namespace" "csi.volume.$uuid" csi.volname) || die "$from: no journal entry of $volume"
    owner=$(omap_get "$from" "$POOL" "$namespace" "csi.volume.$uuid" csi.volume.owner) || true
  fi
  spec=$POOL/${namespace:+$namespace/}csi-vol-$uuid
  place=("$site" "$POOL" "$namespace")
  wait_for "$site: image $spec" "$DIR/$site/log/rbd-mirror.log" image_id "$site" "$spec" >/dev/null
  current=$(omap_get "${place[@]}" "csi.volumes.$INSTANCE" "csi.volume.$name") || current=''
  if [[ ! $current ]]; then
    reserve "${place[@]}" "$uuid" "$name" "$owner"
  elif [[ $current != "$uuid" ]]; then
    die "$site: the name $name belongs to volume $current"
  fi
  if ! omap_get "${place[@]}" "csi.volume.$uuid" csi.imageid >/dev/null; then
    image=$(image_id "$site" "$spec") || die "$site: cannot read the id of image $spec"
    omap_set "${place[@]}" "csi.volume.$uuid" csi.imageid "$image"
  fi
  volume_id "$(cluster_id "$site" "$namespace")" "$(pool_id "$site" "$POOL")" "$uuid"
}
