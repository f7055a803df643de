#!/bin/sh
# Installs the servers that the tests start: Redis, PostgreSQL and a browser; and promtool, nginx, Caddy and systemd-analyze, which check files of scripts/deploy.
# Silent when they are installed.
# When it cannot install (not root, not Debian) it prints what to install and exits 1. It starts no system service.
set -eu

has_postgres() {
  command -v postgres >/dev/null 2>&1 && return 0
  for bin in /usr/lib/postgresql/*/bin/postgres; do
    [ -x "$bin" ] && return 0
  done
  return 1
}

has_browser() {
  command -v chromium-headless-shell >/dev/null 2>&1 || command -v chromium >/dev/null 2>&1 ||
    command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1
}

missing=""
need() { missing="${missing:+$missing }$1"; }

command -v redis-server >/dev/null 2>&1 && command -v redis-cli >/dev/null 2>&1 || need redis-server
has_browser || need chromium-headless-shell
has_postgres || need postgresql
command -v promtool >/dev/null 2>&1 || need prometheus
command -v nginx >/dev/null 2>&1 || [ -x /usr/sbin/nginx ] || need nginx-light
command -v caddy >/dev/null 2>&1 || need caddy
command -v systemd-analyze >/dev/null 2>&1 || need systemd

[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
  {
    echo "The tests start servers of their own and need these packages (Debian's names): $missing"
    echo "On Debian or Ubuntu: sudo apt-get update && sudo apt-get install --no-install-recommends $missing"
    echo "Elsewhere: Redis 7 or newer with redis-cli, PostgreSQL 15 or newer, Chromium, promtool, nginx, Caddy, systemd-analyze, all on the PATH."
  } >&2
  exit 1
fi

# policy-rc.d prevents packages from starting their services during the installation.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
# Debian's PostgreSQL must not create a cluster.
clusters=/etc/postgresql-common/createcluster.conf
if ! has_postgres && [ ! -e "$clusters" ]; then
  mkdir -p "$(dirname "$clusters")"
  echo "create_main_cluster = false" >"$clusters"
fi

log=$(mktemp)
echo "Installing $missing …"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of package names
if ! { apt-get update && apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold $missing; } \
  >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "Installing $missing failed; the whole log is in $log." >&2
  exit 1
fi
rm -f "$log"
