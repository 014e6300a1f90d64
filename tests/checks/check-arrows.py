#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who may include whom: check-arrows.py SOURCE-ROOT

A folder of core/ includes only from itself and from what stands left of it. The agent's program, and the protocol that
it shares with the library, use nothing but the C library and their own files. Backends, plugins and examples see
<sandbox-glib.h> and the files of their own folder.
"""

import re
import sys
from pathlib import Path

ORDER = ['base', 'policy', 'contract', 'agent', 'storage', 'session', 'modules', 'tools', 'sandboxctl']
OUTSIDE = ['backends', 'plugins', 'examples']
GENERATED = {'sandbox-enums.h'}
UMBRELLA = 'sandbox-glib.h'
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCES = {'.c', '.h', '.cc', '.cpp', '.hpp'}


def sources(folder):
    return sorted(path for path in folder.rglob('*') if path.suffix in SOURCES)


def place(core, path):
    """The folder of core/ that a file belongs to; the program, with its protocol, is a place of its own."""
    parts = path.relative_to(core).parts
    if parts[:2] == ('agent', 'program') or (parts[0] == 'agent' and path.name.startswith('sandbox-agent-protocol')):
        return 'agent/program'
    return parts[0] if len(parts) > 1 else None


def check(root):
    core = root / 'core'
    home = {}
    faults = []

    for path in sources(core):
        if path.suffix == '.h':
            if path.name in home:
                faults.append(f'{path.relative_to(root)}: another header has this name')
            home[path.name] = place(core, path)

    for path in sources(core):
        where = place(core, path)
        name = path.relative_to(root)
        if where is None:
            continue
        for bracket, header in INCLUDE.findall(path.read_text()):
            base = header.rsplit('/', 1)[-1]
            target = home.get(base)
            if where == 'agent/program':
                if base in GENERATED or (base in home and target != where) or re.match(r'(glib|gio|gmodule|gobject)\b', header):
                    faults.append(f'{name}: the program includes "{header}"')
                continue
            if where not in ORDER:
                faults.append(f'{name}: the folder {where} has no place in the order')
                break
            if base == UMBRELLA:
                if where != 'sandboxctl':
                    faults.append(f'{name}: the library includes its own umbrella')
                continue
            if base in GENERATED:
                continue
            if base not in home:
                if bracket == '"':
                    faults.append(f'{name}: "{header}" is no header of core/')
                continue
            left = 'agent' if target == 'agent/program' else target
            if left not in ORDER or ORDER.index(left) > ORDER.index(where):
                faults.append(f'{name}: {where} includes "{header}" of {target}, which is not on its left')

    for top in OUTSIDE:
        folders = [entry for entry in (root / top).iterdir() if entry.is_dir()] if (root / top).is_dir() else []
        for path in sources(root / top):
            own = next((folder for folder in folders if folder in path.parents), root / top)
            names = {entry.name for entry in sources(own)}
            for bracket, header in INCLUDE.findall(path.read_text()):
                base = header.rsplit('/', 1)[-1]
                if base == UMBRELLA:
                    continue
                if base in home or base in GENERATED:
                    faults.append(f'{path.relative_to(root)}: includes {header}; only <{UMBRELLA}> is public')
                elif bracket == '"' and base not in names:
                    faults.append(f'{path.relative_to(root)}: "{header}" is not a file of its own folder')
    return faults


def main():
    faults = check(Path(sys.argv[1]))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
