#!/usr/bin/env bash
# Two sites are joined while one of them is newer: Ceph 16.2.15 makes the token, 20.2.4 takes it, for
# both directions. The command answers 0, each site lists the other one as its peer, "rx-tx", and
# images of the old site are copied. One would guess that the way back works as well. But the key that
# 20.2.4 has made for the old site's rbd-mirror is of a kind that 16.2.15 cannot read. The new site's
# rbd-mirror is healthy; the old one's says that it cannot connect, and not why. Who does not look
# there finds out when the volumes are to go back.
#
# The newer site needs a user with a key of the old kind. Made before the join, it is taken; made
# afterwards, its key goes to the old site with `rbd mirror pool peer set`.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
also_need forky 20.2.4+ds-2 rbd-mirror
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror

use_site forky
start_site_at 127.0.0.2 memstore
look_often
# What it takes that a client of 16.2 may come in at all.
in_site ceph config set mon mon_auth_allow_insecure_key true
in_site ceph mon set auth_allowed_ciphers aes,aes256k >/dev/null 2>&1
use_site a
start_site
look_often
expect "the join for both directions, exit code" 0 "$(join a forky rx-tx >/dev/null 2>&1; echo $?)"
direction() { in_site rbd mirror pool info rbd | sed -n 's/^Direction: //p'; }
for site in a forky; do
  use_site "$site"
  expect "site $site, direction of its peer" rx-tx "$(direction)"
  in_site rbd create --size 4M "rbd/of-$site"
  in_site rbd mirror image enable "rbd/of-$site" snapshot >/dev/null
  start_rbd_mirror
done
has() { in_site sh -c "rbd ls rbd | grep -q '^$1\$'"; }
status() { in_site rbd mirror pool status --verbose rbd 2>/dev/null | sed -n "s/^ *$1: //p" | head -n 1; }
is_healthy() { [[ $(status 'daemon health') == OK ]]; }
complains() { [[ $(status callouts) ]]; }
use_site forky
until_true has of-a
until_true is_healthy
expect "new site, images" "of-a of-forky" "$(in_site rbd ls rbd | xargs)"
expect "new site, its rbd-mirror is healthy" OK "$(status 'daemon health')"
use_site a
until_true complains
expect "old site, its rbd-mirror says" "unable to connect to remote cluster" "$(status callouts)"
expect "old site, images" of-a "$(in_site rbd ls rbd | xargs)"

use_site forky
in_site ceph auth rm client.rbd-mirror-peer >/dev/null 2>&1
in_site ceph auth get-or-create client.rbd-mirror-peer mon 'profile rbd-mirror-peer' osd 'profile rbd' --key_type aes >/dev/null
key=$(in_site ceph auth get-key client.rbd-mirror-peer 2>/dev/null)
use_site a
printf '%s' "$key" >"$root/tmp/key"
peer=$(in_site rbd mirror pool info rbd | sed -n 's/^UUID: //p')
in_site rbd mirror pool peer set rbd "$peer" key-file /tmp/key
until_true has of-forky
expect "old site, images, with a key of the old kind" "of-a of-forky" "$(in_site rbd ls rbd | xargs)"
