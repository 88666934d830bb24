# shellcheck shell=bash
# Who may use a site: the users of cephx, and what ceph-csi is told about the clusters.

OLD_KEYS=${TESTBED_OLD_KEYS:-} # yes: client.csi-rbd gets a key that every release can use

# new_key [ARGS...]: prints a cephx key of the type that this release makes: 1 (aes) up to Ceph 19.2.5 and
# 20.2.3, 2 (aes256k) since then.
new_key() { ceph-authtool --gen-print-key "$@"; }

# has_key_types: succeeds when this release knows more than one.
has_key_types() { [[ $(ceph-authtool --help 2>&1 || true) == *--key-type* ]]; }

# write_keyring SITE: all users of a new site, with new keys; those that others need also as files.
write_keyring() {
  local dir=$DIR/$1 key i
  key=$(new_key ${OLD_KEYS:+--key-type aes})
  printf '%s' "$key" >"$dir/csi-rbd.key"
  printf '{"userID":"csi-rbd","userKey":"%s"}\n' "$key" >"$dir/secrets.json"
  new_key >"$dir/peer.key"
  cat >"$dir/keyring" <<END
[mon.]
    key = $(new_key)
    caps mon = "allow *"
[client.admin]
    key = $(new_key)
    caps mon = "allow *"
    caps mgr = "allow *"
    caps osd = "allow *"
[mgr.x]
    key = $(new_key)
    caps mon = "allow profile mgr"
    caps osd = "allow *"
[client.rbd-mirror]
    key = $(new_key)
    caps mon = "profile rbd-mirror"
    caps mgr = "profile rbd"
    caps osd = "profile rbd"
[client.rbd-mirror-peer]
    key = $(first_line "$dir/peer.key")
    caps mon = "profile rbd-mirror-peer"
    caps osd = "profile rbd"
[client.csi-rbd]
    key = $key
    caps mon = "profile rbd, allow command \"osd blocklist\""
    caps mgr = "allow rw"
    caps osd = "profile rbd"
END
  for i in "${!OSDS[@]}"; do
    cat >>"$dir/keyring" <<END
[osd.$i]
    key = $(new_key)
    caps mon = "allow profile osd"
    caps mgr = "allow profile osd"
    caps osd = "allow *"
END
  done
}

# write_csi_config SITE: config.json and cluster-mapping.json, as ceph-csi has them there.
write_csi_config() {
  local dir=$DIR/$1/csi-config mons a b from to suffix comma=''
  mkdir -p "$dir"
  mons=$(mon_host "$1")
  cat >"$dir/config.json" <<END
[
  {"clusterID": "site-$1", "monitors": ["$mons"]},
  {"clusterID": "site-$1-ns", "monitors": ["$mons"], "rbd": {"radosNamespace": "$NAMESPACE"}}
]
END
  {
    printf '['
    if ((${#SITES[@]} == 2)); then
      a=${SITES[0]} b=${SITES[1]}
      from=$(first_line "$DIR/$a/pool-id") to=$(first_line "$DIR/$b/pool-id")
      for suffix in '' -ns; do
        printf '%s\n  {"clusterIDMapping": {"site-%s": "site-%s"}, "RBDPoolIDMapping": [{"%s": "%s"}]}' \
          "$comma" "$a$suffix" "$b$suffix" "$from" "$to"
        comma=,
      done
      printf '\n'
    fi
    printf ']\n'
  } >"$dir/cluster-mapping.json"
}
