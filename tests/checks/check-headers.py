#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipe of a public header: check-headers.py SOURCE-ROOT

Public is every header in a folder of core/ whose name does not end in -private.h. Each stands in its folder's
meson.build (which installs it) and in the umbrella, and is made as CONTRIBUTING.md says. The protocol is not public: the
agent has no use for such a name.
"""

import re
import sys
from pathlib import Path

FOLDERS = ['base', 'policy', 'contract', 'agent', 'storage', 'session', 'modules', 'tools']
# In halves, as reuse takes a whole one for the licence of this file.
HEAD = '/* SPDX-License-' 'Identifier: LGPL-2.1-or-later */\n'
ONCE = re.compile(r'\A(?:/\*.*?\*/\s*)*#pragma once$', re.MULTILINE | re.DOTALL)
INTERNAL = re.compile(r'-private\.h$|^sandbox-agent-protocol')
GUARD = '#if !defined(SANDBOX_INSIDE) && !defined(SANDBOX_COMPILATION)'
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# A prototype at the start of a line, its type on the same or on the line before.
PROTOTYPE = re.compile(r'^(?!#|typedef|static|struct|enum|union|\s)(?:[A-Za-z_][\w \*]*?)\b(sandbox_\w+)\s*\(', re.MULTILINE)


def check(root):
    core = root / 'core'
    umbrella = (core / 'sandbox-glib.h').read_text()
    listed = set(INCLUDE.findall(umbrella))
    faults = []
    public = {}

    if not (umbrella.startswith(HEAD) and ONCE.match(umbrella)):
        faults.append('core/sandbox-glib.h: does not begin with the licence and #pragma once')

    for folder in FOLDERS:
        if not (core / folder).is_dir():
            continue
        build = (core / folder / 'meson.build')
        installed = build.read_text() if build.exists() else ''
        for path in sorted((core / folder).glob('*.h')):
            name = path.relative_to(root)
            text = path.read_text()
            if not (text.startswith(HEAD) and ONCE.match(text)):
                faults.append(f'{name}: does not begin with the licence and #pragma once')
            if INTERNAL.search(path.name):
                if path.name in listed or f"'{path.name}'" in installed:
                    faults.append(f'{name}: a private header in the umbrella or installed')
                continue
            public[path.name] = name
            if GUARD not in text:
                faults.append(f'{name}: lacks the guard against direct inclusion')
            if 'G_BEGIN_DECLS' not in text and PROTOTYPE.search(text):
                faults.append(f'{name}: lacks G_BEGIN_DECLS')
            if path.name not in listed:
                faults.append(f'{name}: not in core/sandbox-glib.h')
            if f"'{path.name}'" not in installed:
                faults.append(f"{name}: not in its folder's meson.build")
            for header in INCLUDE.findall(text):
                if INTERNAL.search(header):
                    faults.append(f'{name}: a public header includes {header}')
            lines = text.splitlines()
            for match in PROTOTYPE.finditer(text):
                line = text.count('\n', 0, match.start())
                if not any(mark in lines[at] for at in (line - 1, line) for mark in ('SANDBOX_AVAILABLE_IN_', 'SANDBOX_DEPRECATED_IN_')):
                    faults.append(f'{name}:{line + 1}: {match.group(1)} is not marked with its version')

    for header in sorted(listed - set(public) - {'sandbox-enums.h'}):
        if header.startswith('sandbox-'):
            faults.append(f'core/sandbox-glib.h: {header} is no public header')
    return faults


def main():
    faults = check(Path(sys.argv[1]))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
