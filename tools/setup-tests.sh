#!/usr/bin/env bash
# Installs the packages that only tests need on Debian or Ubuntu: a browser, an SSH server, Open vSwitch, TAYGA, and the
# programs that nettrial can run as workloads. Skips packages that are already installed, so a second run is quick and needs no
# network.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "setup-tests: $*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
updated=
update() { [ -n "$updated" ] || as_root apt-get update -qq && updated=yes; }
export PATH=$PWD/.venv/bin:$PATH

if ! command -v apt-get >/dev/null; then
  say "this is neither Debian nor Ubuntu: install the packages named in tools/setup-tests.sh yourself"
  exit 3
fi

missing=()
# The tests of the report open it in a browser. Where the distribution has it without windows, it needs half the packages, and
# starts in half the CPU time.
if ! command -v chromium-headless-shell chromium google-chrome >/dev/null; then
  if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
    missing+=(chromium-headless-shell)
  else
    missing+=(chromium)
  fi
fi
command -v iperf3 >/dev/null || missing+=(iperf3)
command -v ping >/dev/null || missing+=(iputils-ping)
command -v ITGSend >/dev/null || missing+=(d-itg)
command -v sockperf >/dev/null || missing+=(sockperf)
command -v curl >/dev/null || missing+=(curl)
command -v openssl >/dev/null || missing+=(openssl)
command -v atftp >/dev/null || missing+=(atftp)
command -v gtlsclient >/dev/null || missing+=(ngtcp2-client)
compgen -G "/usr/lib/*/libwrap.so.0" >/dev/null || missing+=(libwrap0) # vsftpd and atftpd need it
command -v tshark >/dev/null || missing+=(tshark)
command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
command -v ssh >/dev/null || missing+=(openssh-client)
if [ "${#missing[@]}" != 0 ]; then
  say "installing ${missing[*]}"
  log=$(mktemp)
  { update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 || { cat "$log" >&2; say "apt-get could not install ${missing[*]}"; exit 3; }
  rm -f "$log"
fi

# Installing openssh-server would start a server now and at every boot. Therefore only its files and those of a library are
# extracted; tests start it in their own namespaces.
if [ ! -x .venv/openssh-server/usr/sbin/sshd ]; then
  say "fetching openssh-server"
  fetched=$(mktemp -d)
  chmod 755 "$fetched" # apt fetches as another user where it may
  { update && (cd "$fetched" && apt-get download openssh-server libwrap0); } >"$fetched/log" 2>&1 ||
    { cat "$fetched/log" >&2; say "apt-get could not fetch openssh-server"; exit 3; }
  for package in "$fetched"/*.deb; do dpkg-deb -x "$package" "$fetched/files"; done
  rm -rf .venv/openssh-server
  mv "$fetched/files" .venv/openssh-server
  rm -rf "$fetched"
fi

# Installing openvswitch-switch would start its daemons now and at every boot, where systemd runs. A policy forbids that
# during the installation (policy-rc.d, invoke-rc.d(8)); tests start the daemons in their own namespaces.
if ! command -v ovs-vswitchd >/dev/null && [ ! -x /usr/sbin/ovs-vswitchd ]; then
  say "installing openvswitch-switch"
  log=$(mktemp)
  policy=/usr/sbin/policy-rc.d
  own=
  if [ ! -e "$policy" ]; then
    own=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  status=0
  { update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openvswitch-switch; } \
    >"$log" 2>&1 || status=$?
  [ -z "$own" ] || as_root rm -f "$policy"
  [ "$status" = 0 ] || { cat "$log" >&2; say "apt-get could not install openvswitch-switch"; exit 3; }
  rm -f "$log"
  if [ -d /run/systemd/system ]; then as_root systemctl disable --quiet openvswitch-switch.service; fi
fi

# M-Lab's client for browsers, as npm has it: plain files, which a page loads.
if [ ! -e .venv/ndt7-js/ndt7.js ]; then
  if command -v npm >/dev/null; then
    say "fetching @m-lab/ndt7"
    fetched=$(mktemp -d)
    (cd "$fetched" && npm pack --silent @m-lab/ndt7@0.1.4) >"$fetched/log" 2>&1 ||
      { cat "$fetched/log" >&2; say "npm could not fetch @m-lab/ndt7"; exit 3; }
    tar -xzf "$fetched"/m-lab-ndt7-0.1.4.tgz -C "$fetched"
    mkdir -p .venv/ndt7-js
    cp "$fetched"/package/src/*.js .venv/ndt7-js/
    rm -rf "$fetched"
  else
    say "there is no npm here: the test of M-Lab's client for browsers is skipped"
  fi
fi

# Installing these servers would start them, too, and have them at every boot. Only their programs are taken; tests start them
# in namespaces that they make. They run unprivileged, and a checkout may be in a directory that only its owner may enter.
programs=/usr/local/lib/nettrial-tests
PATH=$programs:$PATH
servers=()
command -v vsftpd >/dev/null || servers+=(vsftpd)
command -v atftpd >/dev/null || servers+=(atftpd)
command -v nginx >/dev/null || servers+=(nginx)
command -v gtlsserver >/dev/null || servers+=(ngtcp2-server)
command -v tayga >/dev/null || servers+=(tayga)
if [ "${#servers[@]}" != 0 ]; then
  say "fetching ${servers[*]}"
  fetched=$(mktemp -d)
  chmod 755 "$fetched" # apt fetches as another user where it may
  { update && (cd "$fetched" && apt-get download "${servers[@]}"); } >"$fetched/log" 2>&1 ||
    { cat "$fetched/log" >&2; say "apt-get could not fetch ${servers[*]}"; exit 3; }
  for package in "$fetched"/*.deb; do dpkg-deb -x "$package" "$fetched/files"; done
  as_root install -D -m 755 --target-directory "$programs" "$fetched"/files/usr/sbin/*
  rm -rf "$fetched"
fi

# netperf is in Debian's non-free and in Ubuntu's multiverse, and its package starts a server that anyone may use. It is
# therefore fetched from that component of this machine's package sources, in a separate directory, and only its two programs
# are extracted, to .venv/bin.
if ! command -v netperf >/dev/null || ! command -v netserver >/dev/null; then
  say "fetching netperf"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  chmod 755 "$scratch" # apt fetches as another user where it may
  mkdir -p "$scratch/parts" "$scratch/lists/partial" "$scratch/cache/archives/partial"
  touch "$scratch/sources.list"
  component=non-free
  grep -q '^ID=ubuntu' /etc/os-release && component=multiverse
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [ -r "$file" ] || continue
    case $file in
      *.sources) sed "s/^Components:.*\bmain\b.*/Components: $component/" "$file" ;;
      *) sed "s/^\(deb .*\)\bmain\b.*/\1$component/" "$file" ;;
    esac >"$scratch/parts/$(basename "$file")"
  done
  [ ! -e "$scratch/parts/sources.list" ] || mv "$scratch/parts/sources.list" "$scratch/sources.list"
  apt_get() {
    (cd "$scratch" && apt-get -qq -o Dir::Etc::SourceList="$scratch/sources.list" \
      -o Dir::Etc::SourceParts="$scratch/parts" -o Dir::State::Lists="$scratch/lists" \
      -o Dir::Cache="$scratch/cache" "$@") >>"$scratch/log" 2>&1
  }
  { apt_get update && apt_get download netperf; } ||
    { cat "$scratch/log" >&2; say "apt-get could not fetch netperf"; exit 3; }
  dpkg-deb -x "$scratch"/netperf_*.deb "$scratch/netperf"
  install -m 755 "$scratch/netperf/usr/bin/netperf" "$scratch/netperf/usr/bin/netserver" .venv/bin/
fi

# Stacks that are programs. Without Go, and without a network to fetch it, tests of them are skipped.
tools/build-stacks.sh --dev || say "the stacks that are programs are not built: their tests are skipped"

# Two kernels for tests of guests, if the distribution has them (Debian 12 and similar). Only their files are extracted, to
# .venv/systems.
if [ "$(uname -m)" = x86_64 ] && [ ! -e .venv/systems/linux-6.12.json ]; then
  for meta in linux-image-cloud-amd64 linux-image-6.12-cloud-amd64; do
    package=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-6\.[0-9.]*[^ ]*-cloud-amd64\)$/\1/p' | head -1)
    [ -n "$package" ] || { say "no package $meta here: tests of guests are skipped"; continue; }
    say "fetching $package"
    NETTRIAL_SYSTEMS=.venv/systems python -m nettrial.cli systems add linux --package "$package"
  done
fi
