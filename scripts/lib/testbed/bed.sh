# shellcheck shell=bash
# The bed's own record, and what follows from it: which sites there are, and which daemons each has.

readonly MARKER=.rbd-addons-testbed # tells a bed from a directory that "down" must not remove

DIR=''             # the bed
SITES=()           # their names: a, or a and b
STORE=memstore     # of the OSDs
MIRROR=''          # or yes, or one-way: site b follows site a, which has no rbd-mirror
ADDRESSES=(127.0.0.1) # where mon and mgr listen: one for all sites, or one for each
OSDS=(mon)         # where the OSDs do, one address each; mon: where the mon does
NETNS=()           # the network namespace of each site's rbd-mirror; none: that of the rest

# set_dir DIR: as the commands name it.
set_dir() {
  [[ ${1:-} ]] || usage_error "DIR is missing"
  DIR=$(realpath -m -- "$1")
  # ceph.conf has its own ideas about blanks, '#', ';' and '$'.
  [[ $DIR =~ ^/[A-Za-z0-9/._+@:=,~-]+$ ]] || die "DIR may not contain blanks or special characters: $DIR"
}

# save_bed: writes the record.
save_bed() {
  printf '%s\n' "sites=${SITES[*]}" "mirror=$MIRROR" "store=$STORE" "addresses=${ADDRESSES[*]}" "osds=${OSDS[*]}" \
    "netns=${NETNS[*]}" >"$DIR/$MARKER"
}

# is_bed: succeeds while DIR is one.
is_bed() { [[ -f $DIR/$MARKER ]]; }

# load_bed DIR: sets the variables above from the record.
load_bed() {
  local key value
  set_dir "${1:-}"
  is_bed || die "no test bed in $DIR"
  while IFS='=' read -r key value; do
    case $key in
      sites) read -ra SITES <<<"$value" ;;
      mirror) MIRROR=$value ;;
      store) STORE=$value ;;
      addresses) read -ra ADDRESSES <<<"$value" ;;
      osds) read -ra OSDS <<<"$value" ;;
      netns) read -ra NETNS <<<"$value" ;;
    esac
  done <"$DIR/$MARKER"
}

# need_site SITE: it is one of this bed.
need_site() {
  local site
  [[ ${1:-} ]] || usage_error "SITE is missing"
  for site in "${SITES[@]}"; do [[ $site == "$1" ]] && return; done
  die "no site '$1' in this bed, only: ${SITES[*]}"
}

# namespace_of SITE: prints the RADOS namespace of its clusterID site-SITE-ns.
namespace_of() {
  if [[ $1 == b ]]; then printf '%s' "$REMOTE_NAMESPACE"; else printf '%s' "$NAMESPACE"; fi
}

# other_site SITE: prints its peer; nothing in a bed of one site.
other_site() {
  local site
  for site in "${SITES[@]}"; do [[ $site == "$1" ]] || printf '%s' "$site"; done
}

# site_number SITE: prints 0 for the first one.
site_number() {
  local i
  for i in "${!SITES[@]}"; do if [[ ${SITES[i]} == "$1" ]]; then printf '%s' "$i"; fi; done
}

# site_address SITE: prints where its mon and mgr listen.
site_address() { printf '%s' "${ADDRESSES[$(site_number "$1")]:-${ADDRESSES[0]}}"; }

# mon_host SITE: prints where its mon listens, as ceph.conf has it.
mon_host() {
  local host
  host=$(site_address "$1")
  if [[ $host == *:* ]]; then host="[$host]"; fi
  printf 'v2:%s:%s' "$host" "$(first_line "$DIR/$1/port")"
}

# has_rbd_mirror SITE: succeeds where one runs.
has_rbd_mirror() { [[ $MIRROR == yes || ($MIRROR == one-way && $1 == "${SITES[1]}") ]]; }

# osd_name NUMBER: prints how the bed calls it; the first is just "osd".
osd_name() { if (($1 == 0)); then printf osd; else printf 'osd.%s' "$1"; fi; }

# daemons SITE: prints those it has, in the order to start them.
daemons() {
  local i
  printf 'mon mgr'
  for i in "${!OSDS[@]}"; do printf ' %s' "$(osd_name "$i")"; done
  if has_rbd_mirror "$1"; then printf ' rbd-mirror'; fi
}
