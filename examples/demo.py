#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A tour of the library in Python: a template of real files, a session made from it, work, files in and out, another process
that goes on with it, the end. Each call here waits, and none needs a main loop. demo.c takes the same tour, and demo.js with
promises; commands.py shows how commands run and end.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, Sandbox

STREAM_BYTES = 20_000_000

# What development packages put on every machine; together more than a thousand files
DIRECTORIES = ['/usr/include/linux', '/usr/include/asm-generic', '/usr/include/glib-2.0', '/usr/include/json-glib-1.0']

COUNT_PROGRAM = '''\
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
static int n;
static int count (const char *path, const struct stat *st, int type, struct FTW *ftw) { n += type != FTW_D; return 0; }
int main (void) { nftw ("files", count, 16, FTW_PHYS); printf ("%d\\n", n); }
'''


def expect(fact, words):
    if not fact:
        sys.exit(f'The tour ends here, as this is not true: {words}')


def run(session, *argv):
    """What a command printed, without the last newline. One that fails ends the tour."""
    result = session.run(Sandbox.Command(argv=argv), None)
    try:
        result.check()
    except GLib.Error as error:
        error.message = f'{argv[0]}: {result.dup_stderr_text()}{error.message}'
        raise
    return result.dup_stdout_text().rstrip('\n')


def make_template(backend):
    print('\n1. A template of real files')
    files = Sandbox.FileSet()
    for directory in DIRECTORIES:
        files.add_directory(f'files/{os.path.basename(directory)}', Gio.File.new_for_path(directory))
        print(f'  {directory}')
    n_files = files.props.n_files
    files.add('count.c', GLib.Bytes.new(COUNT_PROGRAM.encode()))
    expect(n_files >= 1000, 'these directories have a thousand files')

    template = backend.prewarm('tour', files, None)
    print(f'  {n_files} files, {files.props.total_bytes // 1024} KiB: template {template.get_key()[:12]}…')

    again = backend.prewarm('tour', files, None)
    expect(again.get_reused() and again.get_key() == template.get_key(), 'the same files are the same template')
    print('  the same files again: the same template, reused')
    return template, n_files


def create(backend, template):
    print('\n2. A session made from it')
    started = time.monotonic()
    handle = backend.create(Sandbox.CreateOptions(template_key=template.get_key()), None)
    print(f'  made in {(time.monotonic() - started) * 1000:.0f} ms; its files are in {handle.get_session().get_workspace_path()}')
    return handle


def work(session, n_files):
    run(session, 'gcc', '-O2', '-Wall', '-o', 'count', 'count.c')
    counted = run(session, './count')
    expect(counted == str(n_files), 'the session has all files of the template')
    print(f'  gcc: a program in C, compiled and run in there, counts {counted} files')

    run(session, 'git', 'init', '-q')
    run(session, 'git', 'add', 'files')
    run(session, 'git', '-c', 'user.name=Tourist', '-c', 'user.email=tourist@example.org', 'commit', '-qm', 'From the tour')
    commit = run(session, 'git', 'rev-parse', 'HEAD')
    committed = run(session, 'sh', '-c', 'git ls-tree -r --name-only HEAD | wc -l')
    expect(committed == str(n_files), 'git has committed all files')
    print(f'  git: init, add, commit; commit {commit[:12]} has {committed} files')


def digest_of(session, path):
    """The SHA-256 and the size of a file of any size in the workspace, which is never in memory as a whole."""
    checksum, size = hashlib.sha256(), 0
    stream = session.open_read(path, None)
    while chunk := stream.read_bytes(65536, None).get_data():
        checksum.update(chunk)
        size += len(chunk)
    return checksum.hexdigest(), size


def exchange_files(session):
    print('\n3. What goes in and comes out')
    greeting = 'Grüße aus Python\n'
    session.write_text('notes.txt', greeting, None)
    seen = run(session, 'cat', 'notes.txt')
    expect(session.read_text('notes.txt', None) == greeting == f'{seen}\n', 'text comes back as it went in')
    print(f'  text: “{seen}” comes back as it went in')

    every_byte = bytes(range(256))
    session.write_bytes('bytes', GLib.Bytes.new(every_byte), None)
    expect(session.read_bytes('/workspace/bytes', None).get_data() == every_byte, 'bytes come back as they went in')
    print('  bytes: each of the 256 comes back as it went in')

    summed = run(session, 'sh', '-c', f'head -c {STREAM_BYTES} /dev/urandom | tee stream | sha256sum')
    digest, size = digest_of(session, 'stream')
    expect(size == STREAM_BYTES and summed.split()[0] == digest, 'the stream gives what the command has made')
    print(f'  stream: {size} bytes made in there, streamed out here, with the same SHA-256')
    return digest


def attach(backend, state):
    return backend.create(Sandbox.CreateOptions(state=state), None)


def show_refusal(backend, state, code, words):
    try:
        attach(backend, state)
        expect(False, words)
    except GLib.Error as error:
        expect(error.matches(Sandbox.error_quark(), code), words)
        print(f'  {words}: {code.value_nick.upper().replace("-", "_")}, “{error.message}”')


def hand_over(backend, handle, digest):
    """Gives the session to another process, and waits for that."""
    print('\n4. Stopped, and taken up by another process')
    state = handle.capture_state()
    show_refusal(backend, state, Sandbox.Error.BUSY, 'a session has one owner')

    handle.stop(None)
    json = state.to_json()
    print(f'  stopped; this is all that has to be kept:\n{json}')

    second = subprocess.run([sys.executable, __file__, '--attach', backend.get_state_directory(), json, digest],
                            stdout=subprocess.PIPE, text=True, check=False)
    expect(second.returncode == 0, 'the other process has found everything')
    print(second.stdout, end='')
    return state


def second_process(state_directory, json, digest):
    """The other process: all it knows of the session is where such sessions are, and the state."""
    state = Sandbox.State.new_from_json(json)
    backend = Sandbox.Registry.get_default().create_backend(state.get_backend(), state_directory)
    handle = attach(backend, state)
    session = handle.get_session()
    expect(session.read_text('notes.txt', None).startswith('Grüße'), 'the notes are there')
    expect(run(session, 'git', 'log', '-1', '--format=%s') == 'From the tour', 'the commit is there')
    expect(digest_of(session, 'stream') == (digest, STREAM_BYTES), 'the stream is there')
    print(f'  another process has taken it up, and found the notes, the commit and the {STREAM_BYTES} bytes')
    handle.stop(None)


def end(backend, handle, template, state):
    print('\n5. The end')
    handle.delete(None)
    show_refusal(backend, state, Sandbox.Error.NOT_FOUND, 'the session is deleted')

    backend.delete_template(template.get_key(), None)
    expect(not list(backend.list_sessions(None)) and not list(backend.list_templates(None)), 'everything is deleted')
    print('  the template is deleted too, and no other is left')
    shutil.rmtree(backend.get_state_directory())


def tour():
    print('A tour of sandbox-glib, in Python')
    backend = Sandbox.Registry.get_default().create_backend('bubblewrap', tempfile.mkdtemp(prefix='sandbox-tour-'))
    template, n_files = make_template(backend)
    handle = create(backend, template)
    work(handle.get_session(), n_files)
    digest = exchange_files(handle.get_session())
    state = hand_over(backend, handle, digest)
    end(backend, handle, template, state)


if __name__ == '__main__':
    try:
        if sys.argv[1:2] == ['--attach']:
            second_process(*sys.argv[2:])
        else:
            tour()
    except (GLib.Error, OSError) as error:
        sys.exit(f'The tour ends here: {getattr(error, "message", error)}')
