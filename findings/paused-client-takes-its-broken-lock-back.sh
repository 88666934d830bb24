#!/usr/bin/env bash
# A virtual machine is paused, or its node frozen, while it has an image open. It is started elsewhere:
# its lock is broken, the old client goes to the blocklist, and the new one writes. One would guess
# that the old one is done for. It is so for an hour: its next write fails. Then Ceph 16.2.15 drops the
# entry. An old client that goes on after that never learns what happened. It asks the new one for the
# lock, gets it, and writes without an error. So does the new one: both have the volume, and neither
# is told.
#
# No administrator lifts a fence here: Ceph makes the entry by itself, and nobody sees its end. Who
# starts a machine elsewhere ends the old one first, or makes an entry that outlasts the pause. (The
# hour is shortened to 45 seconds here. By hand, an entry that is removed early has the same effect.)
set -euo pipefail
# shellcheck source=findings/lib/ceph_site.sh
. "$(dirname "$0")/lib/ceph_site.sh"
need_ceph 16.2.15+ds-0+deb12u2 python3-rbd
start_site

seen "entries last, in seconds: $(in_site ceph config get mon mon_osd_blocklist_default_expire)"
in_site ceph config set mon mon_osd_blocklist_default_expire 45
cat >"$root/tmp/client" <<'PYTHON'
import os, rados, rbd, sys, time
name, text = sys.argv[1:]
def write(image, block):
    try: return image.write(text.encode(), block << 12)
    except rbd.Error as error: return -error.errno
with rados.Rados(conffile="/etc/ceph/ceph.conf") as cluster, cluster.open_ioctx("rbd") as pool:
    image = rbd.Image(pool, name)
    for block in range(2):
        print(write(image, block), flush=True)
        while not os.path.exists(f"/tmp/{name}.{text}.next"): time.sleep(0.1)
    time.sleep(1000)
PYTHON
client() { # IMAGE TEXT: writes it into the first block, and later into the second
  # shellcheck disable=SC2016 # for the shell there
  there sh -c 'echo $$ >"/tmp/$1.$2.pid"; exec python3 /tmp/client "$@" >"/tmp/$1.$2" 2>/dev/null' sh "$@" &
  until_true test -s "$root/tmp/$1.$2"
}
send() { kill "-$2" "$(cat "$root/tmp/$1.old.pid")"; } # IMAGE SIGNAL
answers() { xargs <"$root/tmp/$1.$2"; }              # IMAGE TEXT: bytes written, or the error
has_two() { [[ $(answers "$@") == *' '* ]]; }
second_answer() { # IMAGE TEXT
  touch "$root/tmp/$1.$2.next"
  if [[ $2 == old ]]; then send "$1" CONT; fi
  until_true has_two "$@"
  answers "$@"
}
watchers() { in_site rbd status "rbd/$1" | grep -c watcher= || true; } # IMAGE
has_none() { [[ $(watchers "$1") == 0 ]]; }
entries() { in_site ceph osd blocklist ls 2>/dev/null | grep -c : || true; }
have_ended() { [[ $(entries) == 0 ]]; }
content() { # IMAGE
  in_site rbd export --no-progress "rbd/$1" /tmp/content
  tr -d '\0' <"$root/tmp/content"
  rm "$root/tmp/content"
}

for image in soon late; do
  in_site rbd create --size 4M "rbd/$image"
  client "$image" old
  send "$image" STOP
done
for image in soon late; do
  until_true has_none "$image"
  client "$image" new
done
expect "a write of the new clients" "3 3" "$(answers soon new) $(answers late new)"
expect "entries of the blocklist" 2 "$(entries)"
expect "the old client that goes on before the end of its entry" "3 -108" "$(second_answer soon old)"

until_true have_ended
expect "the old client that goes on after the end of its entry" "3 3" "$(second_answer late old)"
expect "the image's two blocks" newold "$(content late)"
expect "entries of the blocklist" 0 "$(entries)"
expect "clients that have it open" 2 "$(watchers late)"
expect "the new client" "3 3" "$(second_answer late new)"
expect "the image's two blocks" newnew "$(content late)"
