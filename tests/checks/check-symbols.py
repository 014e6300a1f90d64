#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the library exports, against the list in git: check-symbols.py [--update] LIBRARY LIST

New API shows in review as a line of the list; --update writes it.
"""

import subprocess
import sys
from pathlib import Path


def exported(library):
    text = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', library],
                          check=True, capture_output=True, text=True).stdout
    return sorted({line.split()[0].split('@')[0] for line in text.splitlines()})


def main():
    arguments = sys.argv[1:]
    update = '--update' in arguments
    library, listing = [argument for argument in arguments if argument != '--update']
    have = exported(library)

    text = Path(listing).read_text().splitlines()
    lines = [line for line in text if not line.startswith('#')]

    if update:
        head = [line for line in text if line.startswith('#')]
        Path(listing).write_text(''.join(f'{line}\n' for line in head + have))
        return 0

    want = set(lines)
    faults = [f'+{name}: exported, not in the list' for name in have if name not in want]
    faults += [f'-{name}: in the list, not exported' for name in sorted(want - set(have))]
    faults += [f'{name}: outside the namespace' for name in have if not name.startswith('sandbox_')]
    if lines != sorted(want):
        faults.append('the list is not sorted, or holds a name twice')
    for fault in faults:
        print(fault)
    if faults:
        print(f'If that is meant: {sys.argv[0]} --update {library} {listing}')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
