#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What package managers and git ask for, as files for a server: make-site.py DIRECTORY NPM-URL

DIRECTORY/www gets an index of Python with one wheel, a registry of npm with one package, and files; DIRECTORY/git gets a
repository.
"""

import base64
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path


def make_wheel(folder):
    name = 'sample-1.0-py3-none-any.whl'
    info = 'sample-1.0.dist-info'
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / name, 'w') as wheel:
        wheel.writestr('sample.py', 'answer = 42\n')
        wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n')
        wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', f'sample.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n')
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / 'index.html').write_text(f'<!DOCTYPE html><html><body><a href="{name}#sha256={digest}">{name}</a></body></html>\n')


def make_npm_package(folder, url):
    manifest = {'name': 'sample', 'version': '1.0.0', 'main': 'index.js'}
    folder.mkdir(parents=True)
    with tarfile.open(folder / 'sample-1.0.0.tgz', 'w:gz') as archive:
        for name, text in ('package.json', json.dumps(manifest)), ('index.js', 'module.exports = 42\n'):
            member = tarfile.TarInfo(f'package/{name}')
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    digest = hashlib.sha512((folder / 'sample-1.0.0.tgz').read_bytes()).digest()
    manifest['dist'] = {'tarball': f'{url}/sample/sample-1.0.0.tgz', 'integrity': 'sha512-' + base64.b64encode(digest).decode()}
    (folder / 'index.json').write_text(json.dumps({'name': 'sample', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': manifest}}))


def git(folder, *arguments):
    subprocess.run(['git', '-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main', *arguments],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)


def make_repository(folder):
    first = folder / 'first'
    first.mkdir(parents=True)
    git(first, 'init', '-q')
    (first / 'file').write_text('from the server\n')
    (first / 'large').write_text(''.join(hashlib.sha512(str(i).encode()).hexdigest() for i in range(8192)))
    git(first, 'add', '.')
    git(first, 'commit', '-q', '-m', 'first')
    git(folder, 'clone', '-q', '--bare', 'first', 'repository.git')
    git(folder / 'repository.git', 'config', 'http.receivepack', 'true')


def main():
    directory, url = Path(sys.argv[1]), sys.argv[2]
    make_wheel(directory / 'www' / 'simple' / 'sample')
    make_npm_package(directory / 'www' / 'npm' / 'sample', url)
    make_repository(directory / 'git')
    (directory / 'www' / 'hello').write_text('hello from nginx\n')
    (directory / 'www' / 'private').mkdir()
    (directory / 'www' / 'private' / 'hello').write_text('hello from within\n')


if __name__ == '__main__':
    main()
