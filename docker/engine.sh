#!/usr/bin/env bash
# engine.sh up DIR     run a Docker engine out of Debian packages that are unpacked in DIR
# engine.sh down DIR   end it, with all its containers, and remove DIR
#
# For machines that have no engine and no registry to take one from: `. DIR/env` makes the docker
# command talk to it. Needs root on Debian 12 or newer. Nothing is installed but runc, iptables,
# iproute2 and mmdebstrap (for base.sh). Its bridge is the machine's, so there is one such engine at a
# time; `down` removes the bridge, unless it was there before `up`.
set -euo pipefail

RELEASE=trixie # Debian 13's engine needs glibc 2.34, so that it runs on Debian 12 as well
PACKAGES=(docker.io docker-cli containerd docker-buildx docker-compose tini)
LOCK=/run/lock/broker-lite-engine
BRIDGE=docker0
LOCK_WAIT_S=300
START_TRIES=300 # of 0.2 s
STOP_TRIES=150  # of 0.2 s

say() { echo "engine.sh: $*" >&2; }

die() {
  say "$*"
  exit 1
}

install_tools() {
  local missing=() tool
  for tool in mmdebstrap runc iptables; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  command -v ip >/dev/null || missing+=(iproute2)
  [ "${#missing[@]}" = 0 ] && return
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# An apt of its own in DIR, on the mirror that the machine uses.
unpack_engine() {
  local dir=$1 mirror apt
  # shellcheck disable=SC2016 # apt's own variable
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    awk '/\/debian\/$/ && !found { print; found = 1 }')
  [ -n "$mirror" ] || die "apt has no Debian archive among its sources"
  mkdir -p "$dir"/{lists/partial,cache/archives/partial,deb}
  echo "deb $mirror $RELEASE main" >"$dir/list"
  apt=(apt-get -qq
    -o "Dir::Etc::sourcelist=$dir/list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache"
    -o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$dir/deb" && "${apt[@]}" download "${PACKAGES[@]}")
  local package
  for package in "$dir"/deb/*.deb; do
    dpkg-deb --extract "$package" "$dir/unpacked"
  done
  mv "$dir/unpacked" "$dir/sys"
  rm -rf "$dir"/{list,lists,cache,deb}
}

write_env() {
  local dir=$1
  mkdir -p "$dir/cli"
  ln -sfn "$dir/sys/usr/libexec/docker/cli-plugins" "$dir/cli/cli-plugins"
  cat >"$dir/env" <<END
export PATH="$dir/sys/usr/bin:$dir/sys/usr/sbin:\$PATH"
export DOCKER_HOST="unix://$dir/docker.sock"
export DOCKER_CONFIG="$dir/cli"
END
}

start_engine() {
  local dir=$1 try
  # flock lives as long as dockerd, and keeps the lock from what dockerd starts
  [ -e "/sys/class/net/$BRIDGE" ] || touch "$dir/own-bridge"
  setsid flock --close --timeout "$LOCK_WAIT_S" "$LOCK" \
    dockerd --host "$DOCKER_HOST" --data-root "$dir/root" --exec-root "$dir/exec" \
    --pidfile "$dir/pid" --storage-driver overlay2 \
    --userland-proxy-path "$dir/sys/usr/sbin/docker-proxy" \
    >"$dir/log" 2>&1 </dev/null &
  launcher=$!
  # whoever still waits for the lock is not to start an engine that nobody wants any more
  trap 'kill "$launcher"; die "stopped"' INT TERM
  for ((try = 0; try < START_TRIES + LOCK_WAIT_S * 5; try++)); do
    docker info >/dev/null 2>&1 && return
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.2
  done
  ! kill -0 "$launcher" 2>/dev/null || kill "$launcher"
  tail -n 20 "$dir/log" >&2
  die "the engine did not start (or another one has $LOCK)"
}

up() {
  local dir=$1
  [ "$(id -u)" = 0 ] || die "only root can run an engine"
  install_tools
  [ -x "$dir/sys/usr/sbin/dockerd" ] || unpack_engine "$dir"
  write_env "$dir"
  # shellcheck source=/dev/null
  . "$dir/env"
  start_engine "$dir"
}

down() {
  local dir=$1 pid try
  if [ -e "$dir/pid" ] && pid=$(cat "$dir/pid") && kill -0 "$pid" 2>/dev/null; then
    # shellcheck source=/dev/null
    . "$dir/env"
    docker ps --all --quiet | xargs --no-run-if-empty docker rm --force --volumes >/dev/null
    docker network prune --force >/dev/null # their bridges would stay
    kill "$pid"
    for ((try = 0; try < STOP_TRIES; try++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.2
    done
    if kill -0 "$pid" 2>/dev/null; then
      say "the engine does not end, so it is killed"
      kill -KILL "$pid"
    fi
  fi
  # the engine keeps its default bridge when it ends, and would find it again
  if [ -e "$dir/own-bridge" ] && [ -e "/sys/class/net/$BRIDGE" ]; then
    ip link delete "$BRIDGE"
  fi
  # a mount that is left would make rm walk into it
  awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | sort --reverse |
    xargs --no-run-if-empty umount --lazy
  rm -rf "$dir"
}

case "${1-} $#" in
"up 2") up "$(realpath -m "$2")" ;;
"down 2") down "$(realpath -m "$2")" ;;
*) die "say: engine.sh up DIR, or engine.sh down DIR" ;;
esac
