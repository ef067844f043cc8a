# Shared by the scripts of this folder, which `make deploy-test` runs. Chroots and build outputs are under $VQ_DEPLOY_TMP.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=${VQ_DEPLOY_TMP:-/tmp/vibeq-deploy}
mkdir -p "$tmp"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

fail() { echo "deploy-test: $*" >&2; exit 1; }

# could_not REASON: ends a script whose subject this machine cannot show.
could_not() { echo "COULD NOT: $*" >&2; exit 77; }

need_root() { [ "$(id -u)" = 0 ] || could_not "it needs root"; }

# need PROGRAM PACKAGE...: installs Debian packages if the program is absent.
need() {
    command -v "$1" >/dev/null && return
    shift
    need_root
    apt-get install -y -q --no-install-recommends "$@" >"$tmp/apt.log" 2>&1 || could_not "apt-get install $* failed ($tmp/apt.log)"
}

# The mirror that this machine's apt uses.
mirror() {
    apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v name="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$1 == "Debian" && $2 == name { print $3; exit }'
}

# chroot_of SUITE VARIANT NAME [PACKAGES]: a fresh chroot $tmp/NAME.
chroot_of() {
    need mmdebstrap mmdebstrap
    rm -rf --one-file-system "${tmp:?}/$3"
    mmdebstrap --quiet --mode=root --variant="$2" ${4:+--include="$4"} "$1" "$tmp/$3" "${5:-$(mirror)}" \
        >"$tmp/$3.log" 2>&1 || could_not "mmdebstrap $1 failed: $(tail -1 "$tmp/$3.log")"
}

# inside CHROOT COMMAND...: as root, in mount and process namespaces of its own; they end with the command.
inside() {
    unshare --mount --pid --fork --kill-child sh -euc '
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' "$@"
}

# as_user CHROOT SCRIPT: a shell script as the ordinary user "person", in their home.
as_user() {
    inside "$1" sh -c 'id person >/dev/null 2>&1 || useradd -m person'
    inside "$1" setpriv --reuid=person --regid=person --init-groups env HOME=/home/person sh -euc "cd; $2"
}

# copy_tree DIR: the files of the tree, with changes that are not committed.
copy_tree() {
    mkdir -p "$1"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C "$1")
}
