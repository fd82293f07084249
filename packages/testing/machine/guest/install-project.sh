#!/bin/sh
# install-project.sh ROOT CHECKOUT IMAGES KEY: copies the project and the images of its pods into the guest's file system, and builds the project
# there, at this machine's speed. It is started in a mount namespace of its own, so that its mounts end with it.
set -eu
root=$1 checkout=$2 images=$3 key=$4
mkdir -p "$root/opt/kubus" "$root/opt/images"
tar --create --directory "$checkout" --exclude=node_modules --exclude=.git --exclude=.kubus --exclude=dist --exclude=generated --exclude=.turbo --exclude=coverage . |
  tar --extract --directory "$root/opt/kubus" --no-same-owner
cp "$images"/*.tar "$root/opt/images/"
for home in "$root/root" "$root/home/dev"; do
  mkdir -p "$home/.ssh"
  cp "$key.pub" "$home/.ssh/authorized_keys"
done
chroot "$root" chown -R dev: /home/dev/.ssh
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || { rm -f "$root/etc/resolv.conf"; cp /etc/resolv.conf "$root/etc/resolv.conf"; }
for program in kubus kubelet; do ln -sf /opt/kubus/kubus "$root/usr/local/bin/$program"; done
chroot "$root" /usr/bin/env HOME=/root NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
  ${npm_config_registry:+npm_config_registry="$npm_config_registry"} /opt/kubus/kubus --help >/dev/null
rm -rf "$root/root/.cache" "$root/root/.local/share/pnpm"
[ ! -f "$root/etc/resolv.conf" ] || umount "$root/etc/resolv.conf" 2>/dev/null || true
ln -sfn ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
