#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scanner does not see: check-gir.py GIR ALLOW-LIST

Rules that keep the API usable from Python, GJS and Vala:
- nothing is silently left out of the bindings (introspectable="0"), but for the names in ALLOW-LIST;
- every foo_async has its foo_finish, and every foo_finish its foo_async;
- no vfunc takes a ready callback or a filename: GJS cannot implement the one, PyGObject passes NULL for the other;
- no hash table and no pointer array is returned: the bindings free them wrongly;
- whatever has a name is documented and says since when.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

CORE = '{http://www.gtk.org/introspection/core/1.0}'
C = '{http://www.gtk.org/introspection/c/1.0}'
GLIB = '{http://www.gtk.org/introspection/glib/1.0}'

TYPES = {'class', 'interface', 'record', 'union', 'enumeration', 'bitfield', 'callback', 'alias', 'constant'}
CALLS = {'function', 'method', 'constructor', 'virtual-method'}
DATED = TYPES | CALLS | {'property', 'signal'}


def kind(element):
    return element.tag.rsplit('}', 1)[-1]


def label(element, owner):
    name = element.get(C + 'identifier') or element.get(C + 'type') or element.get('name') or '?'
    if element.get(C + 'identifier') is None and owner:
        separator = {'property': ':', 'signal': '::', 'virtual-method': '.', 'field': '->'}.get(kind(element), '.')
        name = f'{owner}{separator}{element.get("name")}'
    return name


def type_names(element):
    return {inner.get('name') or '' for inner in element.iter(CORE + 'type')} | \
           {inner.get('name') or '' for inner in element.iter(CORE + 'array')}


def check_call(element, name, faults):
    result = element.find(CORE + 'return-value')
    returned = type_names(result) if result is not None else set()
    parameters = element.find(CORE + 'parameters')

    if returned & {'GLib.HashTable', 'GLib.PtrArray', 'GLib.Array', 'GLib.ByteArray'}:
        faults.append(f'{name}: returns a container that the bindings free wrongly')
    for parameter in parameters.findall(CORE + 'parameter') if parameters is not None else []:
        names = type_names(parameter)
        if parameter.get('direction') in ('out', 'inout') and names & {'GLib.HashTable', 'GLib.PtrArray'}:
            faults.append(f'{name}: hands out a container that the bindings free wrongly')
        if kind(element) == 'virtual-method':
            if 'Gio.AsyncReadyCallback' in names:
                faults.append(f'{name}: a vfunc with a ready callback cannot be implemented in GJS')
            if 'filename' in names:
                faults.append(f'{name}: a vfunc with a filename gets None in PyGObject')


def walk(element, owner, allowed, used, faults):
    calls = {}
    for child in element:
        what = kind(child)
        if what not in DATED and what not in ('field', 'member'):
            continue
        if child.get(GLIB + 'is-gtype-struct-for') is not None:
            continue
        name = label(child, owner)

        if child.get('introspectable') == '0':
            if name in allowed:
                used.add(name)
            else:
                faults.append(f'{name}: left out of the bindings')
        if what in DATED and child.get('moved-to') is None:
            if child.find(CORE + 'doc') is None:
                faults.append(f'{name}: not documented')
            if child.get('version') is None:
                faults.append(f'{name}: does not say since when')
        if what == 'member' and child.find(CORE + 'doc') is None:
            faults.append(f'{name}: not documented')
        if what in CALLS:
            check_call(child, name, faults)
            if what != 'virtual-method':
                calls[child.get('name')] = name
        if what in TYPES:
            walk(child, name, allowed, used, faults)

    for call, name in calls.items():
        if call.endswith('_async') and call[:-len('_async')] + '_finish' not in calls:
            faults.append(f'{name}: has no _finish')
        if call.endswith('_finish') and call[:-len('_finish')] + '_async' not in calls:
            faults.append(f'{name}: has no _async')


def check(gir, allowed):
    faults = []
    used = set()
    namespace = ElementTree.parse(gir).getroot().find(CORE + 'namespace')

    walk(namespace, None, allowed, used, faults)
    faults += [f'{name}: in the allow list, yet not left out' for name in sorted(allowed - used)]
    return faults


def main():
    gir, listing = sys.argv[1:]
    lines = [line.split('#')[0].strip() for line in Path(listing).read_text().splitlines()]
    faults = check(gir, {line for line in lines if line})
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
