# shellcheck shell=bash disable=SC2153 # POOL and NAMESPACE stand in scripts/testbed
# Mirroring of the pool and its namespace between the two sites. Both workers run at the same time; files in the
# sites' directories tell each how far the other is: mon-made, enabled, peered.

# enable_mirroring SITE: and waits for the peer's mon, whose address the next step needs.
enable_mirroring() {
  local site=$1 peer own remote other=()
  rbd_step "$site" mirror pool enable --site-name "site-$site" "$POOL" image
  peer=$(other_site "$site")
  own=$(namespace_of "$site") remote=$(namespace_of "$peer")
  if [[ $own != "$remote" ]]; then other=(--remote-namespace "$remote"); fi
  rbd_step "$site" mirror pool enable "$POOL/$own" image "${other[@]}" # a namespace does not inherit it
  : >"$DIR/$site/enabled"
  wait_for "$site: mon of site $peer" "$DIR/$peer/log/mon.a.log" test -e "$DIR/$peer/mon-made"
}

# follow_peer SITE: makes the other site its peer and starts its rbd-mirror.
follow_peer() {
  local site=$1 peer direction=rx-tx peer_is_ready=peered
  peer=$(other_site "$site")
  if [[ $MIRROR == one-way ]]; then direction=rx-only peer_is_ready=enabled; fi
  rbd_step "$site" mirror pool peer add "$POOL" "client.rbd-mirror-peer@site-$peer" --direction "$direction" \
    --remote-mon-host "$(mon_host "$peer")" --remote-key-file "$DIR/$peer/peer.key"
  # A running rbd-mirror announces itself at its peer, where "peer add" would then find the peer existing
  # already: none starts before both are added.
  : >"$DIR/$site/peered"
  wait_for "$site: site $peer" "$DIR/$peer/log/rbd.out" test -e "$DIR/$peer/$peer_is_ready"
  start_daemon "$site" rbd-mirror
  say "$site: rbd-mirror started"
}

# mirror_ready SITE: succeeds once the rbd-mirror daemons, both of them unless mirroring is one-way, watch the
# pool and the namespace on this site: each of them sees both clusters.
mirror_ready() {
  local namespace out word wanted=2
  local -A clients
  if [[ $MIRROR == one-way ]]; then
    wanted=1
    # The one that follows makes itself known here.
    if ! has_rbd_mirror "$1"; then
      out=$(admin_rbd "$1" mirror pool info "$POOL" 2>>"$DIR/$1/log/rbd.out") && [[ $out == *tx-only* ]] || return 1
    fi
  fi
  for namespace in '' "$(namespace_of "$1")"; do
    out=$(admin_rados "$1" -p "$POOL" -N "$namespace" listwatchers rbd_mirroring 2>>"$DIR/$1/log/rbd.out") || return 1
    clients=()
    for word in $out; do
      if [[ $word == client.* ]]; then clients[$word]=1; fi
    done
    ((${#clients[@]} >= wanted)) || return 1
  done
}
