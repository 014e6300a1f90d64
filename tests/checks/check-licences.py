#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""reuse lint over the tracked files: git ls-files -z | check-licences.py SOURCE-ROOT

The tree has the REUSE.toml of reuse 3. Older versions know only .reuse/dep5, so that for them a copy of the tree is
checked in which the same is said in that form.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

DEP5 = 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'


def as_dep5(text):
    parts = [DEP5]
    for note in tomllib.loads(text)['annotations']:
        paths = note['path'] if isinstance(note['path'], list) else [note['path']]
        # There * crosses folders already.
        globs = ' '.join(path.replace('**', '*') for path in paths)
        parts.append(f'Files: {globs}\nCopyright: {note["SPDX-FileCopyrightText"]}\nLicense: {note["SPDX-License-Identifier"]}\n')
    return '\n'.join(parts)


def main():
    root = Path(sys.argv[1])
    names = [name for name in sys.stdin.buffer.read().decode().split('\0') if name and (root / name).is_file()]
    version = subprocess.run(['reuse', '--version'], check=True, capture_output=True, text=True).stdout
    major = int(re.search(r'\d+', version).group())

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, copy / name)
        if major < 3:
            (copy / '.reuse').mkdir()
            (copy / '.reuse' / 'dep5').write_text(as_dep5((root / 'REUSE.toml').read_text()))
        return subprocess.run(['reuse', '--root', folder, 'lint']).returncode


if __name__ == '__main__':
    sys.exit(main())
