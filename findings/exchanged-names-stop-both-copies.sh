#!/usr/bin/env bash
# Two mirrored images, in snapshot mode, exchange their names: a volume is rebuilt beside the old one,
# and takes its place. One would guess that the next mirror snapshots exchange the copies' names, too:
# when one image gets a new name, its copy does. With Ceph 16.2.15 each copy waits for the name that
# the other one has. Both end with an error at each try, and nothing more is copied. Nobody goes first.
#
# One copy of the data has arrived by then, below the old name. A failover by name serves the wrong
# volume. One would guess that a third name at the primary ends it. But a mirror snapshot carries the
# name of its time, and none is left out. What helps is a resync: it deletes one of the two copies.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
# shellcheck source=findings/lib/two_sites.sh
. "$(dirname "$0")/lib/two_sites.sh"
need_ceph 16.2.15+ds-0+deb12u2 rbd-mirror python3-rbd

mirror_from_a_to_b

at_b() { (use_site b; "$@"); }
make() { # NAME TEXT
  in_site rbd create --size 4M rbd/disk
  with_disk "image.write(b'$2', 0)"
  in_site rbd rename rbd/disk "rbd/$1"
  in_site rbd mirror image enable "rbd/$1" snapshot >/dev/null
}
content() { # NAME...: what each begins with
  local name
  for name; do
    in_site rbd export --no-progress "rbd/$name" /tmp/content
    head -c 16 "$root/tmp/content" | tr '\0' ' '
    rm "$root/tmp/content"
  done | xargs
}
mirror_snapshots() { local name; for name; do in_site rbd mirror image snapshot "rbd/$name" >/dev/null; done; }
some_mirror_snapshots() { # NAME...: and time for the copies
  local i name
  for ((i = 0; i < 3; i++)); do
    mirror_snapshots "$@"
    sleep 5
  done
  for name in data rebuilt; do until_true at_b fails "$name"; done
}
description() { in_site rbd mirror image status "rbd/$1" | sed -n 's/^  description: *//p' | head -n 1; } # NAME
have() { [[ $(content "${@:2}" 2>/dev/null) == "$1" ]]; } # CONTENT NAME...
fails() { [[ $(description "$1") == 'failed to apply remote image state' ]]; } # NAME
names() { in_site rbd ls rbd | xargs; }

use_site a
make data broken
make rebuilt whole
mirror_snapshots data rebuilt
until_true at_b have "broken whole" data rebuilt
in_site rbd rename rbd/data rbd/aside
in_site rbd rename rbd/rebuilt rbd/data
in_site rbd rename rbd/aside rbd/rebuilt
mirror_snapshots data rebuilt
for name in data rebuilt; do until_true at_b fails "$name"; done
expect "primary, 'data' and 'rebuilt'" "whole broken" "$(content data rebuilt)"
in_site rbd rename rbd/data rbd/disk
with_disk 'image.write(b"later", 0)'
in_site rbd rename rbd/disk rbd/data
some_mirror_snapshots data rebuilt
expect "primary, 'data' and 'rebuilt'" "later broken" "$(content data rebuilt)"
expect "the other site's names" "data rebuilt" "$(at_b names)"
expect "the other site, 'data' and 'rebuilt'" "broken whole" "$(at_b content data rebuilt)"

in_site rbd rename rbd/rebuilt rbd/aside
some_mirror_snapshots data aside
expect "the other site's names after a third name at the primary" "data rebuilt" "$(at_b names)"
expect "the other site, 'data' and 'rebuilt'" "broken whole" "$(at_b content data rebuilt)"
at_b in_site rbd mirror image resync rbd/data >/dev/null
until_true at_b have later data
until_true at_b have broken aside
expect "the other site's names after a resync of its 'data'" "aside data" "$(at_b names)"
