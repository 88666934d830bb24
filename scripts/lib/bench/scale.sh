# shellcheck shell=bash disable=SC2154,SC2034 # variables are shared with who sources it
# What scripts/bench.sh --scale measures: the same calls with ever more around them. Sourced by it.

readonly many_clusters=100
# fill_pool N: until that many images are mirrored in the pool of site a. No volumes, as the journal
# is read by key; rbd-mirror of the other site makes a copy of each.
fill_pool() {
  progress "    making images until there are $1"
  # Debian's own, which Ceph's bindings are for.
  /usr/bin/python3 - "$bed/a" "$1" <<'EOF'
import sys
import rados, rbd
site, wanted = sys.argv[1], int(sys.argv[2])
with open(site + "/csi-rbd.key") as file:
    key = file.read().strip()
with rados.Rados(conffile=site + "/ceph.conf", rados_id="csi-rbd", conf={"key": key}) as cluster:
    with cluster.open_ioctx("replicapool") as pool:
        there = len(rbd.RBD().list(pool))
        for number in range(there, wanted):
            name = "bench-scale-%d" % number
            rbd.RBD().create(pool, name, 4 << 20)
            with rbd.Image(pool, name) as image:
                image.mirror_image_enable(rbd.RBD_MIRROR_IMAGE_MODE_SNAPSHOT)
EOF
}
copied() { # N: as many images on site b
  local there
  there=$(scripts/testbed rbd "$bed" b ls replicapool | wc -l)
  progress "    waiting until the other site has all copies: $there of $1"
  ((there >= $1))
}
# alone SITE NAME METHOD: measured while nobody but the daemon asks the OSDs, for less time than
# makes what rbd-mirror has reported too old.
alone() {
  for_each_site stop rbd-mirror
  measure "$@" 10
  for_each_site cont rbd-mirror
}
measure_beside() { # WHAT
  local before=$at_once
  for at_once in $concurrency; do
    requests a
    await 300 'the copies are reported' reported
    alone a "replication info, $1" GetVolumeReplicationInfo
    requests b
    # Both sites' rbd-mirrors report every half a minute.
    sleep 35
    alone b "resync, in step, $1" ResyncVolume
  done
  at_once=$before
}
# add_clusters SITE: to its config.json, none of which answers.
add_clusters() {
  python3 - "$bed/$1/csi-config/config.json" "$many_clusters" <<'EOF'
import json, os, sys
path, wanted = sys.argv[1], int(sys.argv[2])
with open(path) as file:
    clusters = json.load(file)
for number in range(len(clusters), wanted):
    clusters.append({"clusterID": "bench-%d" % number, "monitors": ["127.0.0.1:1"]})
with open(path + ".new", "w") as file:
    json.dump(clusters, file)
os.rename(path + ".new", path)
EOF
}
measure_scale() {
  local named site
  at_once=${concurrency##* }
  for named in "${servers[@]}"; do
    server=${named%%=*} bin=${named#*=} bed=$work/bed-$server
    if [[ $server == floor ]]; then continue; fi
    make_bed
    start_daemons
    requests a "$schedule"
    measure a enable EnableVolumeReplication
    await 600 'the other site has all copies' all_report b 'up.(replaying|stopped)'
    know_peers
    measure_beside "$volumes images in the pool"
    fill_pool "$scale"
    await 3600 'the other site has all copies' copied "$scale"
    measure_beside "$scale images in the pool"
    for site in a b; do add_clusters "$site"; done
    measure_beside "$scale images, $many_clusters clusters in config.json"
    end_daemons
    rm -f "$work"/?.sock
    scripts/testbed down "$bed"
  done
}
