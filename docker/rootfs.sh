#!/usr/bin/env bash
# rootfs.sh VENV ROOT   put together in ROOT what the image consists of
#
# Runs in the build stage of the Dockerfile, on any architecture: the interpreter with the part of
# its library that a broker can need, the packages of VENV, bash and busybox as a shell and its
# tools, the shared objects all of these name, and the files of docker/rootfs as they are.
set -euo pipefail

VENV=$1
ROOT=$2
HERE=$(dirname "$(realpath "$0")")
PYTHON=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
STDLIB=/usr/lib/$PYTHON
PACKAGES=$ROOT/usr/lib/python3/dist-packages

# Of the standard library, what no broker and no command of it imports: tools for programmers, mail
# and the web, other databases, twins in Python of what is there in C, character sets of East Asia
# and of other systems (cp437 stays, for names in archives).
UNUSED=(
  'config-*' ensurepip idlelib lib2to3 test tkinter turtledemo unittest venv EXTERNALLY-MANAGED
  cProfile.py doctest.py pdb.py pickletools.py profile.py pydoc.py pydoc_data turtle.py
  dbm ftplib.py imaplib.py mailbox.py poplib.py smtplib.py sqlite3 wsgiref xml xmlrpc
  _pydatetime.py _pydecimal.py _pyio.py sitecustomize.py
  _pyrepl antigravity.py bdb.py code.py codeop.py compileall.py modulefinder.py optparse.py
  plistlib.py pyclbr.py rlcompleter.py tabnanny.py this.py timeit.py trace.py wave.py webbrowser.py
  'lib-dynload/_codecs_*' 'lib-dynload/_ctypes_test*' 'lib-dynload/_curses*' 'lib-dynload/_dbm*'
  'lib-dynload/_sqlite3*' 'lib-dynload/_test*' 'lib-dynload/_xxtestfuzz*' 'lib-dynload/readline*'
  'lib-dynload/xx*' 'lib-dynload/_elementtree*' 'lib-dynload/pyexpat*'
  'lib-dynload/_interp*' 'lib-dynload/_lsprof*'
  'encodings/cp[125789]*' 'encodings/mac_*' 'encodings/iso8859_[2-9]*' 'encodings/iso8859_1?*'
  'encodings/koi8_*' 'encodings/big5*' 'encodings/euc_*' 'encodings/gb*' 'encodings/iso2022_*'
  'encodings/shift_jis*' 'encodings/johab*' 'encodings/hp_roman8*' 'encodings/tis_620*'
  'encodings/ptcp154*' 'encodings/kz1048*' 'encodings/palmos*' 'encodings/rot_13*'
)
# What people's health checks and start scripts call, and what one looks around with.
APPLETS=(
  '[' awk basename cat chmod chown clear cmp cp cut date dd df diff dirname du echo egrep env expr
  false fgrep find free getopt grep gunzip gzip head hexdump hostname id kill killall less ln ls
  md5sum mkdir mktemp more mv netstat nproc nslookup pidof ping printf ps pwd readlink realpath rm
  rmdir sed seq sha256sum sleep sort stat stty sync tail tar tee telnet test time timeout top touch
  tr true tty uname uniq unlink uptime usleep vi wc wget which whoami xargs yes zcat
)

# copy FILE...   as they are called in the base, with what they are linked to
copy() {
  local file
  for file in "$@"; do
    install -D --mode="$(stat --dereference --format=%a "$file")" "$file" "$ROOT$(in_usr "$file")"
    realpath "$file" >>"$copied"
  done
}

# in_usr PATH   /bin, /lib and /lib64 are links into /usr
in_usr() {
  case $1 in
  /bin/* | /lib/* | /lib64/*) echo "/usr$1" ;;
  *) echo "$1" ;;
  esac
}

# What all that is in ROOT so far is linked to.
libraries() {
  find "$ROOT/usr" -type f \( -name '*.so*' -o -perm -u+x ! -name '*.py' \) -exec ldd {} + |
    awk '/not found/ { print > "/dev/stderr"; exit 1 }
      $2 == "=>" && $3 ~ /^\/(usr\/)?lib/ { print $3 }
      $1 ~ /^\/lib.*\/ld-/ { print $1 }' | sort --unique
}

base_layout() {
  mkdir -p "$ROOT"/{dev,etc,proc,sys,run,usr/{bin,lib,lib64,sbin},var/lib/dpkg/status.d}
  install -d --mode=1777 "$ROOT"/{data,tmp,var/tmp,var/lib/broker-lite}
  # where people have the volumes of other images
  install -d --mode=1777 "$ROOT"/{var/lib/kafka/data,bitnami/kafka}
  local name
  for name in bin lib lib64 sbin; do ln -s "usr/$name" "$ROOT/$name"; done
  printf '%s\n' 'root:x:0:0:root:/:/bin/bash' 'broker:x:1000:1000::/var/lib/broker-lite:/bin/bash' \
    >"$ROOT/etc/passwd"
  printf '%s\n' 'root:x:0:' 'broker:x:1000:' >"$ROOT/etc/group"
  echo 'hosts: files dns' >"$ROOT/etc/nsswitch.conf"
}

shell_tools() {
  copy /usr/bin/bash /usr/bin/busybox /usr/bin/nc.openbsd
  local name known
  known=" $(busybox --list | tr '\n' ' ')"
  for name in "${APPLETS[@]}"; do
    [[ $known == *" $name "* ]]
    ln -s busybox "$ROOT/usr/bin/$name"
  done
  ln -s bash "$ROOT/usr/bin/sh"
  ln -s nc.openbsd "$ROOT/usr/bin/nc"
}

interpreter() {
  copy "/usr/bin/$PYTHON"
  ln -s "$PYTHON" "$ROOT/usr/bin/python3"
  mkdir -p "$ROOT$STDLIB"
  (cd "$STDLIB" && tar --create "${UNUSED[@]/#/--exclude=./}" --exclude=__pycache__ .) |
    tar --extract --directory "$ROOT$STDLIB"
  realpath "$STDLIB/os.py" "$STDLIB/lib-dynload/"_ssl.* >>"$copied"
}

packages() {
  mkdir -p "$PACKAGES"
  cp -a "$VENV/lib/$PYTHON/site-packages/." "$PACKAGES"
  rm -rf "$PACKAGES"/{pip,pip-*} "$PACKAGES"/zstandard/*cffi* # there is another form of it in C
  rm -rf "$PACKAGES"/{cffi,pycparser} # they make bindings; cryptography has made its own
  # sources of compiled modules, and what type checkers read
  find "$PACKAGES" -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyi' \
    -o -name '*.pyx' -o -name py.typed -o -path '*.dist-info/RECORD' \) -delete
  # What is compiled is not read as source; and there is no Spark.
  local file
  find "$PACKAGES/broker_lite" -name '*.cpython-*.so' | while read -r file; do
    rm -f "${file%%.cpython-*}.py"
  done
  rm -rf "$PACKAGES/broker_lite/pipeline/spark"
  find "$PACKAGES" -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} +
  find "$PACKAGES" -name '*.so*' -type f -exec strip --strip-unneeded {} +
}

# The command and the names of Kafka's scripts, which it answers to. Without site (-S): it looks at
# nothing but the one directory, and starts sooner.
launcher() {
  cat >"$ROOT/usr/bin/broker-lite" <<END
#!/usr/bin/python3 -ISu
import sys

sys.path.append("${PACKAGES#"$ROOT"}")

from broker_lite.__main__ import main

sys.exit(main())
END
  chmod 755 "$ROOT/usr/bin/broker-lite"
  mkdir -p "$ROOT/opt/kafka/bin"
  local name
  "$VENV/bin/python" -m broker_lite.commands.scripts | while read -r name; do
    case $name in
    *.sh) ln -s /usr/bin/broker-lite "$ROOT/opt/kafka/bin/$name" ;;
    *) ln -s broker-lite "$ROOT/usr/bin/$name" ;;
    esac
  done
}

# Start scripts of test libraries write their own versions over some of these, as any user.
given_files() {
  cp -a --remove-destination "$HERE/rootfs/." "$ROOT"
  chown --recursive 0:0 "$ROOT"/{etc,opt,usr/bin}
  chmod --recursive a+rwX "$ROOT"/etc/{confluent,kafka} "$ROOT/opt/kafka"
}

# So that no program looks for its libraries in one folder after the other.
library_cache() {
  cp -a /etc/ld.so.conf /etc/ld.so.conf.d "$ROOT/etc"
  ldconfig -X -r "$ROOT"
  rm -rf "$ROOT/var/cache/ldconfig"
}

# Copyright files of all that was copied, and the records by which scanners know what is inside.
package_records() {
  local package
  xargs dpkg --search <"$copied" | sed 's/: .*//' | sort --unique | while read -r package; do
    dpkg-query --status "$package" >"$ROOT/var/lib/dpkg/status.d/${package%:*}"
    copy "/usr/share/doc/${package%:*}/copyright"
  done
}

# Byte code that is never compared with its source: nothing in an image changes. What no module of
# broker-lite imports needs none.
byte_code() {
  python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$ROOT" -p / \
    "$ROOT$STDLIB" "$PACKAGES"
  local imported
  imported=$(mktemp)
  chroot "$ROOT" /usr/bin/python3 -IS - "${PACKAGES#"$ROOT"}" >"$imported" <<'END'
import importlib
import pkgutil
import sys

sys.path.append(sys.argv[1])
import broker_lite
import cryptography.hazmat.primitives.serialization.pkcs12
import cryptography.x509
import uvicorn

for module in pkgutil.walk_packages(broker_lite.__path__, "broker_lite."):
    try:
        importlib.import_module(module.name)
    except ImportError:  # it is about Spark, or for pytest, and neither is in the image
        pass
for module in list(sys.modules.values()):
    if cached := getattr(getattr(module, "__spec__", None), "cached", None):
        print(cached)
END
  find "$ROOT" -name '*.pyc' | while read -r file; do
    grep --quiet --fixed-strings --line-regexp "${file#"$ROOT"}" "$imported" || rm "$file"
  done
}

# A library that is missing is to fail here.
try_it() {
  chroot "$ROOT" /usr/bin/broker-lite --version | grep 'scan: native, request path: native'
  chroot "$ROOT" /usr/bin/python3 -I -c 'import broker_lite.server.run, broker_lite.client, ssl'
  chroot "$ROOT" /usr/bin/python3 -I -c 'import broker_lite.testbench.http.server'
  chroot "$ROOT" /usr/bin/python3 -I -c 'import cryptography.x509'
  chroot "$ROOT" /bin/sh -c 'busybox true'
}

copied=$(mktemp)
base_layout
shell_tools
interpreter
packages
libraries=$(libraries)
# shellcheck disable=SC2086 # one word each
copy $libraries
launcher
given_files
package_records
library_cache
byte_code
try_it
