#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of README.md do what it says: check-readme.py README.md

Each is taken out of the page, given directories of its own instead of /srv/project and /srv/sandboxes, built with the command
that stands under it if it is C, and run. What it prints is the listing of the workspace, and the state of the session.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = '/srv/project'
STATE_DIRECTORY = '/srv/sandboxes'
BUILD = 'cc list.c $(pkg-config --cflags --libs sandbox-glib-1.0)'
RUN = {
    'c': ('list.c', f'{BUILD} && ./a.out'),
    'python': ('list.py', '/usr/bin/python3 list.py'),
    'js': ('list.js', 'gjs -m list.js'),
}


def example(text, language):
    blocks = [block for block in re.findall(rf'^```{language}\n(.*?)^```$', text, re.MULTILINE | re.DOTALL) if PROJECT in block]
    if len(blocks) != 1:
        raise ValueError(f'{len(blocks)} examples in {language}')
    return blocks[0]


def run(text, language):
    name, command = RUN[language]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / 'project'
        project.mkdir()
        (project / 'a file').write_text('content')
        (Path(folder) / name).write_text(
            example(text, language).replace(PROJECT, str(project)).replace(STATE_DIRECTORY, f'{folder}/sandboxes'))
        done = subprocess.run(command, shell=True, cwd=folder, env=os.environ, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    ok = (done.returncode == 0 and re.search(r'^-rw.* a file$', done.stdout, re.MULTILINE) and
          re.search(r'^  "session-id" : "[0-9a-f]{64}",$', done.stdout, re.MULTILINE))
    if not ok:
        print(''.join(f'# {line}\n' for line in [f'exit {done.returncode}', *done.stdout.splitlines()]), end='')
    return bool(ok)


def main():
    text = Path(sys.argv[1]).read_text()
    bad = 0

    print(f'TAP version 13\n1..{len(RUN) + 1}')
    for count, language in enumerate(RUN, 1):
        ok = run(text, language)
        bad += not ok
        print(f'{"ok" if ok else "not ok"} {count} /readme/{language}', flush=True)
    told = BUILD in text and './dev demo' in text and './dev test' in text
    print(f'{"ok" if told else "not ok"} {len(RUN) + 1} /readme/commands')
    return 1 if bad or not told else 0


if __name__ == '__main__':
    sys.exit(main())
