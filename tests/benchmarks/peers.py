#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What other sandboxes take to run /usr/bin/true: peers.py [--json] [--rounds N]

Times what is installed and names what is not. Nothing is installed for it; sandbox-runtime is looked for in the folder
that SANDBOX_BENCH_NODE_MODULES names, with the node of the npm package "node" if that is there too.

crun and podman refuse hybrid control groups. Where a host has them, they need a mount namespace of their own:
unshare -m sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec ./dev bench --peers'

All of them have the network off, and take turns, as does a plain process, which the ratios refer to.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRUE = '/usr/bin/true'
# Some take a tenth of a second and more for each.
MAX_SECONDS = 20
ENVIRONMENT = {'PATH': os.environ.get('PATH', os.defpath) + ':/usr/sbin:/sbin', 'LC_ALL': 'C.UTF-8', 'HOME': str(Path.home())}
NODE_TIMER = '''
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
const [entry, rounds] = [process.argv[2], Number(process.argv[3])];
const { SandboxManager } = await import(pathToFileURL(entry).href);
await SandboxManager.initialize({
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] },
});
const times = [];
for (let i = 0; i < rounds; i++) {
  const begin = process.hrtime.bigint();
  const line = await SandboxManager.wrapWithSandbox('/usr/bin/true');
  const status = await new Promise((done, failed) => {
    const child = spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.on('error', failed);
    child.on('close', done);
  });
  if (status !== 0)
    throw new Error(`the command ended with ${status}`);
  times.push(Number(process.hrtime.bigint() - begin) / 1e3);
}
await SandboxManager.reset();
console.log(JSON.stringify(times));
process.exit(0);
'''


class Absent(Exception):
    """What a peer needs is not there."""


def need(program):
    path = shutil.which(program, path=ENVIRONMENT['PATH'])
    if path is None:
        raise Absent(f'no {program}')
    return path


def need_root(program):
    if os.geteuid() != 0:
        raise Absent(f'{program} needs root')


def make_root(top):
    """A root folder that has nothing but where the system's programs are to be bound."""
    root = top / 'root'
    for name in ('usr', 'etc', 'proc', 'dev', 'sys', 'tmp', 'run', 'var'):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        if not (root / name).is_symlink():
            (root / name).symlink_to(f'usr/{name}')
    (root / 'etc/os-release').write_text('ID=bench\n')
    return root


def argv_bwrap(top):
    return [need('bwrap'), '--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--ro-bind', '/usr', '/usr',
            '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--proc', '/proc',
            '--dev', '/dev', '--tmpfs', '/tmp', '--bind', str(top), '/workspace', '--chdir', '/workspace', TRUE]


def argv_unshare(top):
    return [need('unshare'), '--user', '--map-root-user', '--mount', '--pid', '--fork', '--net', '--ipc', '--uts', TRUE]


def argv_crun(top):
    crun = need('crun')
    bundle = top / 'crun'
    bundle.mkdir()
    rootless = [] if os.geteuid() == 0 else ['--rootless']
    subprocess.run([crun, 'spec', *rootless], cwd=bundle, check=True, capture_output=True)
    spec = json.loads((bundle / 'config.json').read_text())
    spec['root'] = {'path': str(make_root(top)), 'readonly': True}
    spec['process'].update(terminal=False, args=[TRUE])
    spec['mounts'].append({'destination': '/usr', 'source': '/usr', 'type': 'none', 'options': ['rbind', 'ro']})
    (bundle / 'config.json').write_text(json.dumps(spec))
    return [crun, '--root', str(top / 'crun-state'), '--cgroup-manager', 'disabled', 'run', '--bundle', str(bundle), f'bench-{os.getpid()}']


def podman(top):
    """The program and where it keeps what it makes; the names are short, as it takes no long ones."""
    return [need('podman'), '--root', str(top / 's'), '--runroot', str(top / 'r'), '--runtime', need('crun')]


def podman_options(top):
    return ['--network', 'none', '--cgroups', 'disabled', '--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024', '-v', '/usr:/usr:ro',
            '--rootfs', str(make_root(top))]


def argv_podman_run(top):
    return [*podman(top), 'run', '--rm', *podman_options(top), TRUE]


def argv_podman_exec(top):
    run([*podman(top), 'run', '--detach', '--name', 'bench', *podman_options(top), '/usr/bin/sleep', 'infinity'])
    return [*podman(top), 'exec', 'bench', TRUE]


def end_podman(top):
    subprocess.run([*podman(top), 'rm', '--force', '--time', '0', 'bench'], env=ENVIRONMENT, check=False, capture_output=True)


def argv_firejail(top):
    return [need('firejail'), '--quiet', '--noprofile', '--net=none', '--private-tmp', TRUE]


def argv_nspawn(top):
    need_root('systemd-nspawn')
    return [need('systemd-nspawn'), '--quiet', '--directory', str(make_root(top)), '--bind-ro=/usr', '--private-network', '--register=no',
            '--keep-unit', '--as-pid2', TRUE]


PEERS = {
    'peer-bwrap': argv_bwrap,
    'peer-unshare': argv_unshare,
    'peer-crun': argv_crun,
    'peer-firejail': argv_firejail,
    'peer-systemd-nspawn': argv_nspawn,
    'peer-podman-run': argv_podman_run,
    'peer-podman-exec': argv_podman_exec,
}


def run(argv):
    """How many microseconds a command took, its output read to the end."""
    pipes = [os.pipe(), os.pipe()]
    begin = time.monotonic_ns()
    actions = [(os.POSIX_SPAWN_OPEN, 0, '/dev/null', os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, pipes[i][1], i + 1) for i in range(2)]
    pid = os.posix_spawn(argv[0], argv, ENVIRONMENT, file_actions=actions)
    words = b''
    for read_end, write_end in pipes:
        os.close(write_end)
        while data := os.read(read_end, 65536):
            words += data
        os.close(read_end)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    elapsed = (time.monotonic_ns() - begin) / 1e3
    if status != 0:
        raise OSError(f'{argv[0]} ended with {status}: {words.decode(errors="replace").strip()[-300:]}')
    return elapsed


def time_runtime(top, rounds):
    """sandbox-runtime as a library, by its own clock: it keeps its helpers from one command to the next."""
    modules = os.environ.get('SANDBOX_BENCH_NODE_MODULES')
    entry = Path(modules or '/nonexistent') / '@anthropic-ai/sandbox-runtime/dist/index.js'
    if not entry.exists():
        raise Absent('no sandbox-runtime in SANDBOX_BENCH_NODE_MODULES')
    own = Path(modules) / 'node/bin/node'
    node = str(own) if own.exists() else need('node')
    script = top / 'timer.mjs'
    script.write_text(NODE_TIMER)
    done = subprocess.run([node, str(script), str(entry), str(rounds)], cwd=top, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise OSError(f'sandbox-runtime: {done.stderr.strip()[-300:]}')
    return json.loads(done.stdout.splitlines()[-1])


def measure(top, rounds):
    """The times of each peer, and why others have none."""
    times, absent, commands = {'posix_spawn': []}, {}, {'posix_spawn': [TRUE]}
    for name, make in PEERS.items():
        place = top / name
        place.mkdir()
        try:
            argv = make(place)
            run(argv)  # The first one warms up.
        except Absent as why:
            absent[name] = f'absent: {why}'
        except (OSError, ValueError, subprocess.CalledProcessError) as why:
            absent[name] = f'failed: {why}'
        else:
            commands[name], times[name] = argv, []
    try:
        for _ in range(rounds):
            for name, argv in commands.items():
                if sum(times[name]) < MAX_SECONDS * 1e6:
                    times[name].append(run(argv))
    finally:
        if (top / 'peer-podman-exec' / 'root').exists():
            end_podman(top / 'peer-podman-exec')
    try:
        times['peer-sandbox-runtime'] = time_runtime(top, rounds)
    except Absent as why:
        absent['peer-sandbox-runtime'] = f'absent: {why}'
    except (OSError, ValueError, subprocess.TimeoutExpired) as why:
        absent['peer-sandbox-runtime'] = f'failed: {why}'
    return times, absent


def percentile(times, percent):
    return sorted(times)[(len(times) - 1) * percent // 100]


def remove(top):
    """Nothing is removed recursively before no mount is left in there: podman binds its store to itself."""
    def mounts():
        lines = Path('/proc/self/mountinfo').read_text().splitlines()
        return [path for path in (line.split()[4] for line in lines) if path.startswith(f'{top}/')]

    # What podman starts to clean up after a container may still be at work.
    for _ in range(20):
        for path in sorted(mounts(), reverse=True):
            subprocess.run(['umount', path], check=False)
        if not mounts():
            shutil.rmtree(top, ignore_errors=True)
        if not top.exists():
            return
        time.sleep(0.25)
    print(f'peers.py: {top} could not be removed', file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--rounds', type=int, default=100)
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error('--rounds takes a number above 0')

    top = Path(tempfile.mkdtemp(prefix='peers-'))
    try:
        times, absent = measure(top, arguments.rounds)
    finally:
        remove(top)
    plain = percentile(times['posix_spawn'], 50)
    rows = [{'name': name, 'baseline': None if name == 'posix_spawn' else 'posix_spawn',
             'ratio': None if name == 'posix_spawn' else round(percentile(row, 50) / plain, 3),
             'p50_us': round(percentile(row, 50), 1), 'p95_us': round(percentile(row, 95), 1)} for name, row in times.items()]
    if arguments.json:
        print(json.dumps(rows, indent=1))
        for name, why in absent.items():
            print(f'{name}: {why}', file=sys.stderr)
        return
    print(f'{arguments.rounds} rounds, as uid {os.getuid()}; times in microseconds\n')
    print(f'{"row":24} {"p50":>10} {"p95":>10} {"ratio":>8}')
    for row in rows:
        print(f'{row["name"]:24} {row["p50_us"]:10.1f} {row["p95_us"]:10.1f} {row["ratio"] or 1:8.3f}')
    for name, why in absent.items():
        print(f'{name:24} {why}')


if __name__ == '__main__':
    main()
