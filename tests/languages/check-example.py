#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An example prints what it is meant to: check-example.py EXPECTED COMMAND...

The examples are read by people, so what they print is compared as a whole: section by section, with <names> standing for
what differs from run to run.
"""

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

# The ids that a root host takes for its sandboxes: no account, and never root.
FIRST_ID, LAST_ID = 61184, 65519

PLACES = {
    'command-uid': r'\d+',
    'directory': r'/\S+/sandbox-commands-\w+',
    'hex': '[0-9a-f]{12}',
    'id': '[0-9a-f]{64}',
    'language': r'(?:C|Python|JavaScript)',
    'manner': r'(?:callbacks|promises)',
    'number': r'\d+',
    'thousands': r'\d{4,}',
    'uid': str(os.getuid()),
}


def matches(expected, line):
    parts = re.split(r'<([a-z-]+)>', expected)
    pattern = ''.join(PLACES[part] if i % 2 else re.escape(part) for i, part in enumerate(parts))
    return re.fullmatch(pattern, line) is not None


def difference(expected, lines):
    """Nothing when they are the same; else a diff in which the places that match are filled in."""
    filled = [line if matches(want, line) else want for want, line in zip(expected, lines)] + expected[len(lines):]
    return list(difflib.unified_diff(filled, lines, 'expected', 'printed', lineterm='', n=1))


def check_uid(lines):
    """A command is its host's user, but a root host's command is nobody that exists."""
    found = re.search(r'a command of its sandbox uid (\d+)', '\n'.join(lines))
    if found is None:
        return []
    uid = int(found[1])
    good = FIRST_ID <= uid <= LAST_ID if os.getuid() == 0 else uid == os.getuid()
    return [] if good else [f'a command had uid {uid} on the host']


def sections(text):
    return [section.splitlines() for section in text.rstrip('\n').split('\n\n')]


def main():
    expected = sections(Path(sys.argv[1]).read_text(encoding='utf-8'))
    done = subprocess.run(sys.argv[2:], env={**os.environ, 'LC_ALL': 'C.UTF-8'}, timeout=90, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False)
    printed = sections(done.stdout)
    bad = 0

    def report(name, problems):
        nonlocal bad
        bad += bool(problems)
        print(f'{"not ok" if problems else "ok"} {name}')
        print(''.join(f'# {line}\n' for line in problems), end='', flush=True)

    print(f'TAP version 13\n1..{len(expected) + 1}')
    for i, section in enumerate(expected):
        lines = printed[i] if i < len(printed) else []
        report(f'{i + 1} /example/{re.sub("[^a-z]+", "-", re.sub("<.*?>|^[0-9]. ", "", section[0]).lower()).strip("-")}',
               difference(section, lines) + check_uid(lines))
    end = [f'exit status {done.returncode}'] if done.returncode != 0 else []
    report(f'{len(expected) + 1} /example/end', end + done.stderr.splitlines() +
           [line for section in printed[len(expected):] for line in section])
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
