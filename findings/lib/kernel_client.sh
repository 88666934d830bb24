# shellcheck shell=bash disable=SC2154 # `root` is finding.sh's
# A machine that is a client of the site: a kernel of Debian 12 in QEMU (emulated, without KVM), with
# the programs of the site's folder, which is its root. Sourced after ceph_site.sh.
#
#   KERNEL_CLIENT             its packages, for need_ceph
#   start_client MODULE...    boots it; the site listens at 192.168.77.1 (start_site_at 192.168.77.1 memstore)
#   in_client COMMAND         a line for the client's shell, for two minutes at most; prints what it prints
#
# Takes half a minute, 700 MB of memory and 700 MB of disk.
kernel=6.1.0-53-amd64
# shellcheck disable=SC2034 # of the script that sources this
KERNEL_CLIENT=("linux-image-$kernel=6.1.187-1" qemu-system-x86 busybox-static kmod bash)

start_client() {
  local module start="$root/tmp/client/start"
  mkdir -p "$start"/{bin,proc,sys,dev,modules,root} "$root/tmp/client/told"
  cp "$root/usr/bin/busybox" "$start/bin"
  ln -s busybox "$start/bin/sh"
  in_root depmod "$kernel"
  for module in virtio_pci virtio_net 9pnet_virtio 9p "$@"; do
    in_root modprobe --set-version "$kernel" --show-depends "$module"
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' >"$start/modules/list"
  while read -r module; do cp "$root$module" "$start/modules"; done <"$start/modules/list"
  cat >"$start/init" <<'INIT'
#!/bin/sh
export PATH=/bin
for program in mount insmod ip chroot cat basename; do busybox ln -s busybox "/bin/$program"; done
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
# One or the other is for another processor.
for module in $(cat /modules/list); do insmod "/modules/$(basename "$module")" || true; done
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 site /root
mount -t proc proc /root/proc
mount --rbind /sys /root/sys
mount --rbind /dev /root/dev
mount -t tmpfs tmpfs /root/run
exec chroot /root /bin/bash /tmp/client/loop
INIT
  chmod +x "$start/init"
  cat >"$root/tmp/client/loop" <<'LOOP'
export PATH=/usr/sbin:/usr/bin
cd /tmp/client/told
: >begun
for ((number = 1; ; number++)); do
  until [[ -e $number.ask ]]; do sleep 0.2; done
  timeout -s KILL 120 bash "$number.ask" >"$number.said" 2>&1 </dev/null
  mv "$number.ask" "$number.done"
done
LOOP
  (cd "$start" && find . | "$start/bin/busybox" cpio -o -H newc 2>/dev/null) >"$root/tmp/client/initramfs"
  there qemu-system-x86_64 -accel tcg,thread=multi -m 700 -nographic -no-reboot -kernel "/boot/vmlinuz-$kernel" \
    -initrd /tmp/client/initramfs -append 'console=ttyS0 panic=-1' -nic user,model=virtio-net-pci \
    -virtfs local,path=/,mount_tag=site,security_model=none,multidevs=remap </dev/null >"$FINDING_ROOT/console" 2>&1 &
  # Half a minute; on a busy machine it was more than two.
  within 600 test -e "$root/tmp/client/told/begun"
  seen "Linux $(in_client 'uname -r')"
}

in_client() {
  local told=$root/tmp/client/told number
  number=$(($(find "$told" -name '*.done' | wc -l) + 1))
  printf '%s\n' "$1" >"$told/next"
  mv "$told/next" "$told/$number.ask"
  within 150 test -e "$told/$number.done"
  cat "$told/$number.said"
}
