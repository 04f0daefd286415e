#!/usr/bin/env bash
# debian-image.sh DIRECTORY: makes a Debian system with OpenSSH and nothing of nettrial's, for QEMU: `disk.img`, its kernel and
# initial RAM disk `vmlinuz` and `initrd.img`, and `key`, with which root logs in. The interface with the Ethernet address
# 52:54:00:00:00:01 has the address 10.0.2.15; others are left alone. Needs mmdebstrap.
set -euo pipefail
made=$1.part
rm -rf "$made" && mkdir -p "$made" && cd "$made"
ssh-keygen -q -t ed25519 -N "" -f key
printf '[Match]\nMACAddress=52:54:00:00:00:01\n[Network]\nAddress=10.0.2.15/24\n' >management.network
mmdebstrap --quiet --variant=minbase \
  --include=openssh-server,iproute2,linux-image-cloud-amd64,systemd-sysv,udev,initramfs-tools \
  --customize-hook='mkdir -p "$1/root/.ssh" && chmod 700 "$1/root/.ssh"' \
  --customize-hook='upload key.pub /root/.ssh/authorized_keys' \
  --customize-hook='upload management.network /etc/systemd/network/10-management.network' \
  --customize-hook='chroot "$1" systemctl enable systemd-networkd ssh' \
  --customize-hook='echo "/dev/vda / ext4 defaults 0 1" >"$1/etc/fstab"' \
  --customize-hook='cp "$1"/boot/vmlinuz-* vmlinuz && cp "$1"/boot/initrd.img-* initrd.img' \
  bookworm system.tar
mkdir system
tar -C system -xf system.tar
mke2fs -q -t ext4 -d system disk.img 1500M
rm -rf system system.tar
mv "$made" "$1"
