#!/usr/bin/env bash
# base.sh [RELEASE]   make debian:RELEASE-slim (trixie) for the docker command, of Debian packages
#
# For machines that reach no image registry: what the Dockerfile starts from has its public name
# then. Needs root, mmdebstrap, and a docker command that works.
set -euo pipefail

release=${1:-trixie}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1700000000} # the same image every time
tar=$(mktemp --suffix=.tar)
trap 'rm -f "$tar"' EXIT

options=(--quiet --variant=minbase --mode=root --aptopt='Acquire::Languages "none"')
# as the public image: without these caches, which every apt-get update would fill with 90 MB
options+=(--aptopt='Dir::Cache::pkgcache ""' --aptopt='Dir::Cache::srcpkgcache ""')
for part in doc groff info lintian locale man; do
  options+=(--dpkgopt="path-exclude=/usr/share/$part/*")
done
options+=(--dpkgopt='path-include=/usr/share/doc/*/copyright')

mmdebstrap "${options[@]}" "$release" "$tar"
docker import --change 'CMD ["bash"]' "$tar" "debian:$release-slim"
