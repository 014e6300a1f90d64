#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A stranger can write a backend: check-backend-module.py MESON BUILD-ROOT SOURCE-ROOT

Installs this build into a folder of its own, lets pkg-config find it there as if that were its prefix, builds a copy of
examples/backend-module with nothing else, runs its tests, installs it, and runs them again with what was installed.
Before that it does the same without installing anything, as `./dev run` lets one do.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = 'sandbox-glib-1.0'


def run(*command, env):
    done = subprocess.run([str(part) for part in command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace')
    if done.returncode != 0:
        sys.exit(f'{done.stdout}\nfailed: {" ".join(map(str, command))}')
    return done.stdout.strip()


def clean_environment():
    """Nothing of this tree: what a stranger has."""
    ours = re.compile(r'^(DESTDIR|MESON.*|SANDBOX_.*|G_.*|GI_.*|LD_LIBRARY_PATH|PKG_CONFIG.*)$')
    return {name: value for name, value in os.environ.items() if not ours.match(name)}


def stage(meson, build, folder, env):
    """Installs the build, and moves the prefix of its package to where it is."""
    run(meson, 'install', '-C', build, '--no-rebuild', '--quiet', '--tags', 'devel,runtime', '--destdir', folder, env=env)
    [package] = folder.rglob(f'{PACKAGE}.pc')
    text = package.read_text()
    prefix = re.search(r'^prefix=(.*)$', text, re.MULTILINE).group(1)
    package.write_text(text.replace(f'prefix={prefix}\n', f'prefix={folder}{prefix}\n', 1))
    return package.parent


def main():
    meson, build, source = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    env = clean_environment()

    with tempfile.TemporaryDirectory(prefix='sandbox-backend-module-') as name:
        folder = Path(name)
        shutil.copytree(source / 'examples' / 'backend-module', folder / 'module')
        env['PKG_CONFIG_PATH'] = str(stage(meson, build, folder / 'stage', env))
        env['LD_LIBRARY_PATH'] = run('pkg-config', '--variable=libdir', PACKAGE, env=env)
        modules = Path(run('pkg-config', '--variable=moduledir', PACKAGE, env=env))
        if folder not in modules.parents or run('pkg-config', '--variable=abi_version', PACKAGE, env=env) != '1':
            sys.exit(f'{PACKAGE} tells a wrong moduledir or abi_version')

        devenv = [meson, 'devenv', '-C', build, '-w', folder, meson]
        run(*devenv, 'setup', folder / 'uninstalled', folder / 'module', '--werror', env=clean_environment())
        run(*devenv, 'compile', '-C', folder / 'uninstalled', env=clean_environment())
        run(*devenv, 'test', '-C', folder / 'uninstalled', '--print-errorlogs', env=clean_environment())

        target = folder / 'build'
        run(meson, 'setup', target, folder / 'module', '--werror', env=env)
        run(meson, 'compile', '-C', target, env=env)
        run(meson, 'test', '-C', target, '--print-errorlogs', env=env)
        run(meson, 'install', '-C', target, '--quiet', env=env)

        installed = {path.name for path in modules.iterdir()}
        missing = {'example.sandbox-module', 'libsandbox-example.so'} - installed
        if missing:
            sys.exit(f'not installed: {missing}')
        run(target / 'test-example', env=env | {'SANDBOX_MODULE_PATH': str(modules), 'G_DEBUG': 'fatal-warnings'})


if __name__ == '__main__':
    main()
