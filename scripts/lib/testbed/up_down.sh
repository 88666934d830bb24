# shellcheck shell=bash disable=SC2034 # other files use what the options set
# The commands up and down.

# parse_up ARGS...: sets what the options of "up" say.
parse_up() {
  while (($#)); do
    case $1 in
      --mirror) MIRROR=${MIRROR:-yes} ;;
      --one-way) MIRROR=one-way ;;
      --objectstore) STORE=${2:-}; shift ;;
      --address) read -ra ADDRESSES <<<"${2:-}"; shift ;;
      --osd-addresses) read -ra OSDS <<<"${2:-}"; shift ;;
      --mirror-netns) read -ra NETNS <<<"${2:-}"; shift ;;
      --default-intervals) INTERVALS=default ;;
      --osd-commands) OSD_COMMANDS=yes ;;
      -v) VERBOSE=yes ;;
      -*) usage_error "up: unknown option $1" ;;
      *) [[ ! $DIR ]] || usage_error "up: one DIR only"; set_dir "$1" ;;
    esac
    shift || usage_error "up: an option lacks its value"
  done
  SITES=(a ${MIRROR:+b})
}

# check_up: refuses what cannot work, before anything is written.
check_up() {
  local address program site
  [[ $DIR ]] || usage_error "up: DIR is missing"
  ((${#ADDRESSES[@]} == 1 || ${#ADDRESSES[@]} == ${#SITES[@]})) ||
    usage_error "up: --address is one for all sites, or one for each"
  ((${#NETNS[@]} == 0 || ${#NETNS[@]} == ${#SITES[@]})) || usage_error "up: --mirror-netns is one for each site"
  for address in "${ADDRESSES[@]}" "${OSDS[@]/#mon/${ADDRESSES[0]}}"; do
    [[ $address =~ ^[0-9a-f.:]+$ ]] || usage_error "up: '$address' is no address"
  done
  [[ $STORE == memstore || $STORE == bluestore ]] || usage_error "up: --objectstore is memstore or bluestore"
  for program in ceph-mon ceph-mgr ceph-osd ceph ceph-authtool rbd rados monmaptool ${MIRROR:+rbd-mirror}; do
    for site in "${SITES[@]}"; do
      # shellcheck disable=SC2016 # expanded by the inner shell
      at "$site" sh -c 'command -v "$0"' "$program" >/dev/null || die "$program is not installed"
    done
  done
}

# abort_up: ends what runs and leaves the logs.
abort_up() {
  trap - EXIT
  stop_all
  printf '%s: up failed; the logs are in %s until "%s down"\n' "$PROG" "$DIR" "$PROG" >&2
  exit 1
}

# start_sites: runs the workers of all sites at the same time and waits for them.
start_sites() {
  local site i=0 workers=() worker failed=''
  set -m # each worker gets its own process group, so that it can be ended with its helpers
  for site in "${SITES[@]}"; do
    site_up "$site" "$i" </dev/null &
    workers+=($!)
    i=$((i + 1))
  done
  set +m
  for worker in "${workers[@]}"; do wait "$worker" || failed=yes; done
  [[ ! $failed ]] || exit 1
}

# cmd_up ARGS...
cmd_up() {
  local site osd
  parse_up "$@"
  check_up
  mkdir -p "$DIR"
  [[ ! $(ls -A "$DIR") ]] || die "$DIR is not empty"
  save_bed
  trap abort_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  for site in "${SITES[@]}"; do
    mkdir -p "$DIR/$site"/{pid,log,mgr}
    for osd in "${!OSDS[@]}"; do mkdir "$DIR/$site/osd.$osd"; done
    write_keyring "$site"
  done
  start_sites
  for site in "${SITES[@]}"; do write_csi_config "$site"; done
  if [[ $MIRROR ]]; then
    for site in "${SITES[@]}"; do
      wait_for "$site: rbd-mirror" "$DIR/$site/log/rbd-mirror.log" mirror_ready "$site"
    done
  fi
  trap - EXIT
  say "up"
}

# cmd_down DIR
cmd_down() {
  local site try
  set_dir "${1:-}"
  [[ -d $DIR ]] || return 0
  if ! is_bed; then
    # An empty directory is what an interrupted "up" may have left.
    rmdir "$DIR" 2>/dev/null || printf '%s: no test bed in %s, nothing done\n' "$PROG" "$DIR" >&2
    return 0
  fi
  load_bed "$DIR"
  stop_all
  for site in "${SITES[@]}"; do (release_port "$DIR/$site") || true; done
  for try in 1 2 3; do # a helper of a killed "up" may just be writing its last file
    if rm -rf "$DIR" 2>/dev/null; then return; fi
    sleep "0.$try"
  done
  rm -rf "$DIR" || true
}
