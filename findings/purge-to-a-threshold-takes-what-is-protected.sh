#!/usr/bin/env bash
# An image is moved to the trash with --expires-at, so that nobody loses it before that day. `rbd
# trash ls` calls it protected, and `rbd trash rm` and `rbd trash purge` leave it. Then the pool is
# nearly full, and is purged with --threshold. One would guess that expired images go, until the pool
# has less than that. But Ceph 16.2.15 looks at the pool alone. When the expired ones are not enough,
# it removes protected ones as well, the next to expire first. Images that are in use count, too: when
# they exceed the threshold, nothing stays in the trash. Below it even expired images stay. The exit
# code is 0 each time.
#
# What is to be kept in the trash needs a purge without --threshold.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd

start_site_at 127.0.0.1 bluestore
make_image() { # NAME
  in_site rbd create --size 32M "rbd/$1"
  in_site rbd bench --io-threads 1 --io-type write --io-size 4M --io-total 32M "rbd/$1" >/dev/null
}
# What the pool has, of what it could have, as the threshold counts; the OSD tells it every few seconds.
thousandths() {
  in_site ceph df --format json | grep -o '"name":"rbd".*' | grep -oE '"percent_used":0\.[0-9]{3}' | head -n 1 | cut -d. -f2
}
is_between() { # LOW HIGH
  local now
  now=$(thousandths)
  ((10#$now > $1 && 10#$now < $2))
}
in_the_trash() {
  local names
  names=$(in_site rbd trash ls -l rbd | awk 'NR > 1 { print $2 "=" (/protected until/ ? "protected" : "expired") }' |
    sort | tr '\n' ' ')
  echo "${names% }"
}
id_of() { in_site rbd trash ls rbd | awk -v name="$1" '$2 == name { print $1 }'; }
purge() { in_site rbd trash purge --no-progress "$@" rbd 2>&1; echo $?; }

for image in gone-soon kept-1-year kept-2-years; do make_image $image; done
in_site rbd trash mv --expires-at "$(date -d '+2 years' +%F)" rbd/kept-2-years
in_site rbd trash mv --expires-at "$(date -d '+1 year' +%F)" rbd/kept-1-year
in_site rbd trash mv rbd/gone-soon
until_true is_between 110 180
seen "the pool's use, in thousandths: $(thousandths)"
all="gone-soon=expired kept-1-year=protected kept-2-years=protected"
expect "in the trash" "$all" "$(in_the_trash)"
expect "rbd trash rm of a protected one" "Deferment time has not expired" \
  "$(in_site rbd trash rm --no-progress "rbd/$(id_of kept-1-year)" 2>&1 | grep -o 'Deferment time has not expired')"
expect "purge to 90 %, exit code" 0 "$(purge --threshold 0.9)"
expect "in the trash after it" "$all" "$(in_the_trash)"
expect "purge to 8 %, exit code" 0 "$(purge --threshold 0.08)"
expect "in the trash after it" "kept-2-years=protected" "$(in_the_trash)"
expect "purge without a threshold, exit code" 0 "$(purge)"
expect "in the trash after it" "kept-2-years=protected" "$(in_the_trash)"
make_image in-use-1
make_image in-use-2
until_true is_between 110 180
expect "purge to 8 % while images in use have more, exit code" 0 "$(purge --threshold 0.08)"
expect "in the trash after it" "[]" "$(in_site rbd trash ls --format json rbd)"
