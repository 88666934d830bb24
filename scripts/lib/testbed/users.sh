# shellcheck shell=bash
# Who may use a site: the users of cephx, and what ceph-csi is told about the clusters.

OLD_KEYS=${TESTBED_OLD_KEYS:-} # yes: client.csi-rbd and client.admin get keys that every release can use

# new_key SITE [ARGS...]: prints a cephx key of the type that its release makes: 1 (aes) up to Ceph 19.2.5 and
# 20.2.3, 2 (aes256k) since then.
new_key() { at "$1" ceph-authtool --gen-print-key "${@:2}"; }

# wants_old_keys SITE: succeeds where keys are to be of the old type and its release makes others by itself.
wants_old_keys() { [[ $OLD_KEYS && $(at "$1" ceph-authtool --help 2>&1 || true) == *--key-type* ]]; }

# write_keyring SITE: all users of a new site, with new keys; those that others need also as files.
write_keyring() {
  local site=$1 dir=$DIR/$1 key admin i type=()
  if wants_old_keys "$site"; then type=(--key-type aes); fi
  key=$(new_key "$site" "${type[@]}")
  admin=$(admin_keyring "$(new_key "$site")")
  if ((${#type[@]})); then printf '%s\n' "$admin" >"$dir/admin.keyring"; fi
  printf '%s' "$key" >"$dir/csi-rbd.key"
  printf '{"userID":"csi-rbd","userKey":"%s"}\n' "$key" >"$dir/secrets.json"
  # Whoever has it is of the other site's release.
  new_key "$site" "${type[@]}" >"$dir/peer.key"
  cat >"$dir/keyring" <<END
[mon.]
    key = $(new_key "$site")
    caps mon = "allow *"
$admin
[mgr.x]
    key = $(new_key "$site")
    caps mon = "allow profile mgr"
    caps osd = "allow *"
[client.rbd-mirror]
    key = $(new_key "$site")
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
    key = $(new_key "$site")
    caps mon = "allow profile osd"
    caps mgr = "allow profile osd"
    caps osd = "allow *"
END
  done
}

# admin_keyring KEY: prints the keyring of client.admin.
admin_keyring() {
  printf '[client.admin]\n\tkey = %s\n\tcaps mon = "allow *"\n\tcaps mgr = "allow *"\n\tcaps osd = "allow *"\n' "$1"
}

# give_admin_old_key SITE: once the mons take such keys. An older client cannot read a keyring with a newer key
# in it, so this one has a keyring of its own (see write_conf).
give_admin_old_key() {
  local dir=$DIR/$1
  admin_keyring "$(new_key "$1" --key-type aes)" >"$dir/admin.keyring.old-type"
  admin_ceph "$1" auth import -i "$dir/admin.keyring.old-type" >>"$dir/log/ceph.out" 2>&1 ||
    die "$1: cannot change the key of client.admin, see $dir/log/ceph.out"
  mv "$dir/admin.keyring.old-type" "$dir/admin.keyring"
}

# write_csi_config SITE: config.json and cluster-mapping.json, as ceph-csi has them there.
write_csi_config() {
  local dir=$DIR/$1/csi-config mons a b from to suffix comma=''
  mkdir -p "$dir"
  mons=$(mon_host "$1")
  cat >"$dir/config.json" <<END
[
  {"clusterID": "site-$1", "monitors": ["$mons"]},
  {"clusterID": "site-$1-ns", "monitors": ["$mons"], "rbd": {"radosNamespace": "$(namespace_of "$1")"}}
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
