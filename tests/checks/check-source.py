#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every source file must be: git ls-files -z | check-source.py SOURCE-ROOT

It names its licence in its first lines, holds no mark of unfinished work, ends with a newline, has no blank at the
end of a line, and parses if it is Python.
"""

import ast
import re
import sys
from pathlib import Path

HEADED = re.compile(r'(\.(c|h|cc|cpp|py|js|vala|sh|build|toml|in|list|supp|html)|(^|/)meson_options\.txt|^dev|^\.ci/run)$')
MARKED = re.compile(r'\.(c|h|cc|cpp|py|js|vala|sh|build|in|md)$')
# These are spelled in halves: this file is looked at too, and so by reuse.
MARKS = re.compile(r'\b(' + '|'.join(('TO' 'DO', 'FIX' 'ME', 'X' 'XX', 'HA' 'CK')) + r')\b')
TAG = 'SPDX-License-' 'Identifier: '
LITERAL = re.compile(r'^(LICENSES|tests/fuzz/seeds)/')


def check(root, name):
    data = (root / name).read_bytes()
    if LITERAL.match(name) or b'\0' in data or not data:
        return
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield f'{name}: not UTF-8'
        return

    if HEADED.search(name) and TAG not in '\n'.join(text.splitlines()[:3]):
        yield f'{name}: does not name its licence'
    if not text.endswith('\n'):
        yield f'{name}: does not end with a newline'
    for count, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            yield f'{name}:{count}: blank at the end of the line'
        if MARKED.search(name) and MARKS.search(line):
            yield f'{name}:{count}: mark of unfinished work'
    if name.endswith('.py'):
        try:
            ast.parse(text, name)
        except SyntaxError as error:
            yield f'{name}:{error.lineno}: {error.msg}'


def main():
    root = Path(sys.argv[1])
    names = [name for name in sys.stdin.buffer.read().decode().split('\0') if name and (root / name).is_file()]
    faults = [fault for name in names for fault in check(root, name)]
    for fault in faults:
        print(fault)
    return 1 if faults or not names else 0


if __name__ == '__main__':
    sys.exit(main())
