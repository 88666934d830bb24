#!/usr/bin/env bash
# Some program has an image open, writes nothing and holds no lock: a tool that looks, or a helper that
# waits for its turn. It is killed. One would guess that a dead client without a lock is in nobody's
# way. On Ceph 16.2.15 the next `rbd snap create` of the image takes half a minute: librbd asks all
# clients that have the image open, and the dead one counts until its watch has ended. A write is not
# held up, but the one that writes needs ten seconds to close the image. A program that had opened the
# image read-only is not asked, and the same snapshot takes less than a second.
#
# Nothing fails, and no status shows why backups of some images are slow. Who kills a helper that has
# images open puts its client on the blocklist as well; who only looks opens read-only.
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd
start_site

cat >"$root/tmp/bystander" <<'PYTHON'
import rados, rbd, sys, time
name, read_only = sys.argv[1], sys.argv[2] == "reader"
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    image = rbd.Image(pool, name, read_only=read_only)
    print("open", flush=True)
    time.sleep(1000)
PYTHON
cat >"$root/tmp/next" <<'PYTHON'
import rados, rbd, sys, time
name, what = sys.argv[1:]
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    image = rbd.Image(pool, name)
    times = [time.monotonic()]
    image.write(b"x" * 4096, 0) if what == "write" else image.create_snap("first")
    times.append(time.monotonic())
    image.close()
    times.append(time.monotonic())
    print(*[int(b - a) for a, b in zip(times, times[1:])])
PYTHON
bystander() { # IMAGE MODE: opens it, and is killed
  # shellcheck disable=SC2016 # for the shell there
  there sh -c 'echo $$ >"/tmp/$1.pid"; exec python3 /tmp/bystander "$@" >"/tmp/$1.open" 2>/dev/null' sh "$@" 2>/dev/null &
  until_true test -s "$root/tmp/$1.open"
  kill -KILL "$(cat "$root/tmp/$1.pid")"
}
in_words() { # SECONDS: what does not change with the machine
  if (($1 < 5)); then echo 'at once'; elif (($1 <= 15)); then echo 'about 10 s'; elif (($1 >= 20 && $1 <= 40)); then echo 'about 30 s'; else echo "$1 s"; fi
}
next() { # IMAGE write|snapshot: how long that takes, and closing the image
  local took closing
  read -r took closing < <(in_site python3 /tmp/next "$@")
  echo "$(in_words "$took"), closed $(in_words "$closing")"
}

for image in alone killed written reader; do in_site rbd create --size 4M "rbd/$image"; done
expect "a snapshot where nobody was" 'at once, closed at once' "$(next alone snapshot)"
bystander killed idle
expect "clients that have the image open" 1 "$(in_site rbd status rbd/killed | grep -c watcher=)"
expect "locks of it" '' "$(in_site rbd lock ls rbd/killed)"
expect "a snapshot after a killed bystander" 'about 30 s, closed at once' "$(next killed snapshot)"
bystander written idle
expect "a write after one" 'at once, closed about 10 s' "$(next written write)"
bystander reader reader
expect "a snapshot after one that had it open read-only" 'at once, closed at once' "$(next reader snapshot)"
