#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the suite attack under Debian's kernel 6.1 in QEMU: kernel.py BUILD FOLDER TAP [TEST…]

BUILD is a build with tests; FOLDER keeps the kernel and the disk; what ran is written to TAP, one line for each subtest.
Everything is read from this system, so the disk is one of its own distribution. See README.md.
"""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNEL = re.compile(r'^linux-image-6\.1\.0-(\d+)-cloud-amd64$')
# In the order that they need each other
MODULES = ['virtio_ring', 'virtio', 'virtio_pci_modern_dev', 'virtio_pci_legacy_dev', 'virtio_pci', 'virtio_blk', 'overlay']
# What the tests run, there and in sandboxes; their libraries are found by ldd
PACKAGES = ['base-files', 'bash', 'bubblewrap', 'busybox-static', 'coreutils', 'dash', 'diffutils', 'findutils', 'git', 'grep', 'gzip', 'hostname',
            'iproute2', 'libc-bin', 'libpython3-stdlib', 'mawk', 'mount', 'netbase', 'perl-base', 'procps', 'python3-minimal', 'sed', 'tar', 'util-linux']
LEFT_OUT = re.compile(r'^/usr/(share/(doc|man|info|locale|lintian|bash-completion)|lib/python3/dist-packages)/')
COPIED = ['/etc/passwd', '/etc/group', '/etc/nsswitch.conf', '/etc/alternatives', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/ld.so.cache', '/etc/ssl',
          '/etc/localtime', '/usr/share/ca-certificates']
EMPTY = ['dev', 'disk', 'etc', 'home', 'proc', 'root', 'run', 'sys', 'tmp', 'var/tmp']
# Such a processor is slower by so much than what the time limits of the tests are for.
SLOWER = 4
LIMIT_S = 3 * 3600


def run(*words, **options):
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


# ---- The kernel

def fetch_kernel(folder):
    names = [name for name in run('apt-cache', 'pkgnames', 'linux-image-6.1').split() if KERNEL.match(name)]
    if not names:
        sys.exit('apt knows no package linux-image-6.1.0-N-cloud-amd64')
    name = max(names, key=lambda entry: int(KERNEL.match(entry).group(1)))
    there = folder / name
    if not there.exists():
        download = folder / 'download'
        shutil.rmtree(download, ignore_errors=True)
        download.mkdir()
        run('apt-get', 'download', '-q', '-o', 'APT::Sandbox::User=root', name, cwd=download, stderr=subprocess.DEVNULL)
        run('dpkg-deb', '-x', str(next(download.glob('*.deb'))), str(download / 'tree'))
        (download / 'tree').rename(there)
        shutil.rmtree(download)
    return there


def cpio_entry(name, mode, data, number):
    head = f'{number:08x}{mode:08x}{0:08x}{0:08x}{1:08x}{0:08x}{len(data):08x}' + f'{0:08x}' * 4 + f'{len(name) + 1:08x}{0:08x}'
    entry = b'070701' + head.encode() + name.encode() + b'\0'
    entry += b'\0' * (-len(entry) % 4) + data
    return entry + b'\0' * (-len(entry) % 4)


def make_initramfs(kernel, file):
    entries = [(name, stat.S_IFDIR | 0o755, b'') for name in ('bin', 'dev', 'disk', 'modules')]
    entries.append(('bin/busybox', stat.S_IFREG | 0o755, Path('/bin/busybox').read_bytes()))
    entries.append(('init', stat.S_IFREG | 0o755, (HERE / 'initramfs-init').read_bytes()))
    for name in MODULES:
        entries.append((f'modules/{name}.ko', stat.S_IFREG | 0o644, next(kernel.rglob(f'{name}.ko')).read_bytes()))
    order = ''.join(f'{name}.ko\n' for name in MODULES)
    entries.append(('modules/order', stat.S_IFREG | 0o644, order.encode()))
    entries.append(('TRAILER!!!', 0, b''))
    file.write_bytes(b''.join(cpio_entry(*entry, number) for number, entry in enumerate(entries, 1)))


# ---- The disk

class Tree:
    def __init__(self, top):
        self.top = top
        shutil.rmtree(top, ignore_errors=True)
        for name in EMPTY + ['usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'soak']:
            (top / name).mkdir(parents=True)
        for name in ('bin', 'sbin', 'lib', 'lib64'):
            (top / name).symlink_to('usr/' + name)
        (top / 'tmp').chmod(0o1777)
        (top / 'var/tmp').chmod(0o1777)
        self.programs = []

    def add(self, path):
        """A file, link or folder of this system, where it is; what is in a folder with it."""
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        target = self.top / path[1:]
        if os.path.lexists(target) and (os.path.islink(path) or not os.path.isdir(path)):
            return
        if os.path.islink(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(path))
            if os.path.exists(path) and not os.path.isdir(path):
                self.add(os.path.realpath(path))
        elif os.path.isdir(path):
            target.mkdir(parents=True, exist_ok=True)
            for name in os.listdir(path):
                self.add(os.path.join(path, name))
        elif os.path.isfile(path) and os.access(path, os.R_OK):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            with open(path, 'rb') as file:
                if file.read(4) == b'\x7fELF':
                    self.programs.append(path)

    def add_package(self, name):
        for path in run('dpkg', '-L', name).splitlines():
            if path.startswith('/') and not LEFT_OUT.match(path) and (os.path.islink(path) or os.path.isfile(path)):
                self.add(path)

    def add_libraries(self):
        seen = 0
        while seen < len(self.programs):
            some = self.programs[seen:]
            seen = len(self.programs)
            # What is static is no error here.
            text = subprocess.run(['ldd', *some], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            for path in sorted(set(re.findall(r'(/\S+) \(0x', text))):
                self.add(path)


def list_tests(build, wanted):
    tests = json.loads(run('meson', 'introspect', '--tests', str(build)))
    tests = [test for test in tests if any(suite.endswith('attack') for suite in test['suite'])]
    return [test for test in tests if not wanted or test['name'] in wanted]


def make_disk(build, tests, folder, disk):
    tree = Tree(folder / 'tree')
    for name in PACKAGES:
        tree.add_package(name)
    # Of the versions that these only lead to
    for name in run('dpkg-query', '-W', '-f', '${Package}\\n', 'python3.*-minimal', 'libpython3.*-minimal', 'libpython3.*-stdlib').split():
        if subprocess.run(['dpkg', '-s', name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            tree.add_package(name)
    for path in COPIED:
        if os.path.lexists(path):
            tree.add(path)

    for pattern in ('core/*.so*', 'backends/*/*', 'plugins/*/*', 'core/agent/program/sandbox-agent', 'tests/attack/test-*', 'tests/attack/guest-*'):
        for path in build.glob(pattern):
            if not path.is_dir():
                tree.add(str(path))
    for variable in ('G_TEST_SRCDIR', 'SANDBOX_TEST_DATA'):
        tree.add(tests[0]['env'][variable])
    tree.add_libraries()

    lines = []
    for test in tests:
        settings = [f'{name}={value}' for name, value in test['env'].items()]
        words = ['env', *settings, 'SANDBOX_TEST_CONTROL_GROUPS=1', *test['cmd']]
        lines.append(f'run "$who" {test["name"]} {test["timeout"] * SLOWER} {shlex.join(words)}\n')
    (tree.top / 'soak/tests').write_text(''.join(lines))
    shutil.copy2(HERE / 'guest-run', tree.top / 'soak/guest-run')

    size = int(run('du', '-sm', str(tree.top)).split()[0]) * 5 // 4 + 1024
    disk.unlink(missing_ok=True)
    run('mke2fs', '-q', '-t', 'ext4', '-d', str(tree.top), str(disk), f'{size}M')


# ---- The machine

def boot(kernel, initramfs, disk, folder):
    # Time goes by instructions there, one for a nanosecond, so that no limit of time depends on how fast this machine is or what
    # else it does; where all wait it jumps.
    words = ['qemu-system-x86_64', '-accel', 'tcg', '-icount', 'shift=0,sleep=off', '-cpu', 'max', '-smp', '1', '-m', '2048', '-display', 'none',
             '-no-reboot', '-nic', 'none', '-kernel', str(next(kernel.glob('boot/vmlinuz-*'))), '-initrd', str(initramfs),
             '-append', 'console=ttyS0 quiet loglevel=3 panic=-1',
             '-drive', f'file={disk},if=virtio,format=raw,snapshot=on',
             '-serial', f'file:{folder}/console', '-serial', f'file:{folder}/tests']
    start = time.monotonic()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as machine:
        try:
            machine.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            machine.kill()
    print(f'# {time.monotonic() - start:.0f} s, ended with {machine.returncode}')


# ---- What it said

def judge(text, tests, tap):
    """Writes a line for each subtest, and one for each program, as a program that ends early leaves none. Returns what is not good."""
    lines, bad = [], []

    def tell(good, name):
        lines.append(f'{"ok" if good else "not ok"} {len(lines) + 1} kernel-6.1/{name}\n')
        if not good:
            bad.append(name)

    said = [line.rstrip('\r') for line in text.split('\n')]
    for who in ('root', 'user'):
        for test in tests:
            name = f'{who}/{test["name"]}'
            own = [line[len(name) + 1:] for line in said if line.startswith(name + ' ')]
            for line in own:
                found = re.match(r'(ok|not ok) \d+ (\S+)(.*)', line)
                if found:
                    tell(found.group(1) == 'ok' and '# SKIP' not in found.group(3), name + found.group(2))
            passed = sum(line.startswith('ok ') for line in own)
            tell(own[-1:] == ['exit 0'] and f'1..{passed}' in own, name)
    tell('all done' in said, 'end')
    tap.write_text(''.join(lines))
    return bad


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, folder, tap = (Path(word).resolve() for word in sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    tests = list_tests(build, sys.argv[4:])
    kernel = fetch_kernel(folder)
    make_initramfs(kernel, folder / 'initramfs')
    make_disk(build, tests, folder, folder / 'disk')
    (folder / 'tests').unlink(missing_ok=True)
    boot(kernel, folder / 'initramfs', folder / 'disk', folder)

    text = (folder / 'tests').read_text(errors='replace')
    bad = judge(text, tests, tap)
    if bad:
        print(text[-30000:])
        print(f'# the console is in {folder}/console')
        print('\n'.join(f'# failed: {name}' for name in bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
