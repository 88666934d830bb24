# shellcheck shell=bash
# The configuration of a site's daemons: small, quick, and patient with daemons that tests stop.

INTERVALS=short # of rbd-mirror: short or default
OSD_COMMANDS=   # whether OSDs answer "ceph tell"

# write_conf SITE FSID: ceph.conf, as far as it is known before the mon has its port.
write_conf() {
  local dir=$DIR/$1 i ipv4=true ipv6=false address osd old_keys=''
  address=$(site_address "$1")
  if [[ $address == *:* ]]; then ipv4=false ipv6=true; fi
  if wants_old_keys "$1"; then old_keys=yes; fi
  cat >"$dir/ceph.conf" <<END
[global]
    fsid = $2
    mon host = $(mon_host "$1")
    mon initial members = a
    public addr = $address
    cluster addr = $address
    ms bind ipv4 = $ipv4
    ms bind ipv6 = $ipv6
    keyring = $dir/keyring
    mon data = $dir/mon
    mgr data = $dir/mgr
    osd data = $dir/osd.\$id
    log file = $dir/log/\$name.log
    crash dir = $dir/log
    mon cluster log to file = false
    # No sockets in the file system: their paths may have 107 characters only.
    admin socket =
    run dir = $dir
    auth allow insecure global id reclaim = false
    ms bind msgr1 = false
    ms bind retry count = 1
${old_keys:+    mon auth allow insecure key = true}

    # One OSD, one copy, few placement groups.
    osd pool default size = 1
    osd pool default min size = 1
    osd pool default pg num = 8
    osd pool default pg autoscale mode = off
    osd crush chooseleaf type = 0
    osd crush update on start = false
    # A placement group may be read for 0.8 of this time after its last renewal. A single OSD that was stopped
    # for longer calls its groups laggy when it is continued, some of them for ever, and nobody gets an answer
    # from these any more (measured, 16.2.15: a stop of 130 s with 120 s here, under waiting clients).
    osd heartbeat grace = 3600
    # An OSD that was stopped in the middle of an operation for longer than this would end itself when it is
    # continued (by default after 150 s), and a memstore with it.
    osd op thread suicide timeout = 0
    osd command thread suicide timeout = 0
    mon allow pool size one = true
    mon allow pool delete = true
    mon warn on pool no redundancy = false
    mon data avail warn = 2
    mon data avail crit = 1

    # Map changes at once instead of once a second.
    paxos propose interval = 0.05
    paxos min wait = 0.01

    # The only mgr module a bed needs; each one costs start-up time and memory.
    mgr module path = $dir/mgr-modules
    mgr initial modules =

    osd objectstore = $STORE
    memstore device bytes = 4G
    bluestore block size = 8G
    bluestore fsck quick fix on mount = false
    bluestore cache autotune = false
    osd fast shutdown notify mon = false

    debug ms = 0/0
    debug mon = 0/0
    debug paxos = 0/0
    debug auth = 0/0
    debug mgr = 0/0
    debug mgrc = 0/0
    debug monc = 0/0
    debug osd = 0/0
    debug objecter = 0/0
    debug rados = 0/0
    debug rbd = 0/0
    debug rbd mirror = 0/0
    debug rocksdb = 0/0
    debug bluestore = 0/0
    debug bluefs = 0/0
    debug bdev = 0/0
    debug memdb = 0/0

[client]
    log file =
[client.rbd-mirror]
    log file = $dir/log/rbd-mirror.log
END
  if [[ $INTERVALS == short ]]; then
    cat >>"$dir/ceph.conf" <<END
[global]
    rbd mirror pool replayers refresh interval = 1
    rbd mirror image state check interval = 1
    rbd mirror leader heartbeat interval = 1
    rbd mirror image policy update throttle interval = 1
    rbd mirror delete retry interval = 1
END
  fi
  # An OSD without this socket never answers a command.
  if [[ $OSD_COMMANDS ]]; then printf '[osd]\n    admin socket = %s\n' "$dir/osd.\$id.asok" >>"$dir/ceph.conf"; fi
  if [[ $old_keys ]]; then printf '[client.admin]\n    keyring = %s\n' "$dir/admin.keyring" >>"$dir/ceph.conf"; fi
  for i in "${!OSDS[@]}"; do
    osd=${OSDS[i]/#mon/$address}
    cat >>"$dir/ceph.conf" <<END
[osd.$i]
    public addr = $osd
    cluster addr = $osd
END
  done
}

# write_mgr_modules SITE: a module directory with rbd_support and what it imports.
write_mgr_modules() {
  local from file
  from=$(at "$1" ceph-conf -c /dev/null --show-config-value mgr_module_path 2>/dev/null) || true
  at "$1" test -d "$from/rbd_support" || die "no mgr module rbd_support in '$from': is ceph-mgr-modules-core installed?"
  mkdir "$DIR/$1/mgr-modules"
  for file in $(at "$1" find "$from" -maxdepth 1 -name '*.py') "$from/rbd_support"; do
    ln -s "$file" "$DIR/$1/mgr-modules/" # a path of the manager's own file system
  done
  # mgr_util imports it for the passwords of modules that are not here. Debian 13's refuses to be loaded by a
  # mgr ("PyO3 modules do not yet support subinterpreters"), and every module of the mgr fails with it.
  : >"$DIR/$1/mgr-modules/bcrypt.py"
}
