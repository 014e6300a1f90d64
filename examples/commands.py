#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How commands run and end, in Python. Synchronous calls need no main loop; commands.c and commands.js show the same, and
demo.py is the tour to begin with.
"""

import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, Sandbox


def run(session, *argv, **properties):
    """What started gives a result, however it ended; what did not start raises a GLib.Error."""
    print('  $', shlex.join(argv))
    result = session.run(Sandbox.Command(argv=argv, **properties), None)
    for text in result.dup_stdout_text(), result.dup_stderr_text():
        lines = text.splitlines()
        for line in lines[:6]:
            print('     ', line)
        if len(lines) > 6:
            print('      …')
    print('    →', describe(result))
    return result


def describe(result):
    outcome = result.get_outcome()
    if outcome == Sandbox.Outcome.EXITED:
        return f'exited with {result.get_exit_status()}'
    if outcome == Sandbox.Outcome.SIGNALED:
        return f'ended by signal {result.get_signal()} ({signal.strsignal(result.get_signal())})'
    if outcome == Sandbox.Outcome.TIMED_OUT:
        return f'timed out: killed after {result.get_wall_time_us() // 1000} ms'
    if outcome == Sandbox.Outcome.OUTPUT_LIMIT:
        return f'wrote too much: killed, {result.get_stdout().get_size()} bytes are kept'
    return outcome.value_nick


def create(directory):
    print('\n1. A session over a directory')
    backend = Sandbox.Registry.get_default().create_backend('bubblewrap', None)
    handle = backend.create(Sandbox.CreateOptions(workspace_path=directory), None)
    print(f'  {directory} on the host is {handle.get_session().get_workspace_path()} in the sandbox')
    return handle


def files(session):
    print('\n2. Files, as text and as bytes')
    session.write_text('notes.txt', 'Grüße aus Python\n', None)
    print('  notes.txt says:', session.read_text('notes.txt', None), end='')

    every_byte = bytes(range(256))
    session.write_bytes('bytes.bin', GLib.Bytes.new(every_byte), None)
    back = session.read_bytes('/workspace/bytes.bin', None).get_data()
    print(f'  bytes.bin: wrote {len(every_byte)} bytes, read', 'the same back' if back == every_byte else 'something else back')


def commands(session):
    print('\n3. Commands, and how they end')
    run(session, 'sh', '-c', 'echo Hello from $(uname -n); pwd; ls; cat notes.txt')
    print('  with “pears” and “apples” as its input:')
    run(session, 'sort', stdin=GLib.Bytes.new(b'pears\napples\n'))
    run(session, 'sh', '-c', 'echo That went wrong >&2; exit 3')
    run(session, 'sh', '-c', 'kill -SEGV $$')
    print('  allowed to take 300 ms:')
    run(session, 'sleep', '60', timeout_ms=300)
    print('  allowed to write 1000 bytes:')
    run(session, 'yes', max_output=1000)
    used = run(session, 'sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done')
    print(f'    it used {(used.get_user_time_us() + used.get_system_time_us()) // 1000} ms of processor time',
          f'and {used.get_peak_memory_bytes() // 1024} KiB of memory')


def borders(session):
    print('\n4. What a command does not see')
    print('  the environment is the command\'s own:')
    run(session, 'env', environment=['GREETING=hello'])
    print('  the host\'s files are not there:')
    run(session, 'ls', '/root', '/home', '/etc/shadow')

    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(('127.0.0.1', port)).close()
        print(f'  there is no network; the server at port {port}, which this program has just reached, is not there:')
        run(session, 'bash', '-c', f'echo hello >/dev/tcp/127.0.0.1/{port}')


def find_uid(argv):
    """The real uid of the process with this command line, as the host sees it."""
    cmdline = ''.join(f'{argument}\0' for argument in argv).encode()
    for process in Path('/proc').glob('[0-9]*'):
        try:
            if (process / 'cmdline').read_bytes() == cmdline:
                status = (process / 'status').read_text()
                return next(line.split()[1] for line in status.splitlines() if line.startswith('Uid:'))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return None


def identity(session, directory):
    print('\n5. Who a command is, seen from both sides')
    run(session, 'sh', '-c', 'id; touch made-inside; stat -c "%n belongs to uid %u" made-inside')

    argv = ['sleep', '4711.5']
    process = session.spawn(Sandbox.Command(argv=argv), None)
    print(f'  outside: this program is uid {os.getuid()}, a command of its sandbox uid {find_uid(argv)}')
    process.kill()
    process.wait(None)
    print(f'  outside: made-inside belongs to uid {(Path(directory) / "made-inside").stat().st_uid}, as its directory does')


def streams(session):
    print('\n6. Talking to a command while it runs')
    command = Sandbox.Command(argv=['sh', '-c', 'while read word; do echo "you said $word"; done'])
    process = session.spawn(command, None)
    answers = Gio.DataInputStream.new(process.get_stdout())
    for word in 'word-1', 'word-2':
        process.get_stdin().write_all(f'{word}\n'.encode(), None)
        answer, _ = answers.read_line_utf8(None)
        print(f'  said {word}, heard “{answer}”')
    process.get_stdin().close(None)
    process.wait(None)
    print('  closed its input; it exited with', process.get_result().get_exit_status())


def errors(session):
    print('\n7. Errors have codes')
    try:
        session.run(Sandbox.Command(argv=['no-such-program']), None)
    except GLib.Error as error:
        if error.matches(Sandbox.error_quark(), Sandbox.Error.NOT_FOUND):
            print('  NOT_FOUND:', error.message)
    try:
        session.read_text('../outside', None)
    except GLib.Error as error:
        if error.matches(Sandbox.error_quark(), Sandbox.Error.PATH):
            print('  PATH:', error.message)

    # A command that fails is no error by itself; who wants one asks for it.
    result = session.run(Sandbox.Command(argv=['false']), None)
    try:
        result.check()
    except GLib.Error as error:
        if error.matches(Sandbox.error_quark(), Sandbox.Error.FAILED):
            print('  FAILED:', error.message)


def together(session):
    print('\n8. Several at once, with callbacks')
    loop = GLib.MainLoop()
    waiting = 4
    succeeded = 0
    cancelled = None

    def ran(session, async_result):
        nonlocal waiting, succeeded, cancelled
        try:
            session.run_finish(async_result).check()
            succeeded += 1
        except GLib.Error as error:
            if not error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.CANCELLED):
                raise
            cancelled = error.message
        waiting -= 1
        if waiting == 0:
            loop.quit()

    cancellable = Gio.Cancellable()
    started = time.monotonic()
    for _ in range(3):
        session.run_async(Sandbox.Command(argv=['sleep', '0.5']), None, ran)
    session.run_async(Sandbox.Command(argv=['sleep', '60']), cancellable, ran)
    GLib.timeout_add(200, cancellable.cancel)
    loop.run()
    print(f'  {succeeded} commands that sleep 500 ms took {(time.monotonic() - started) * 1000:.0f} ms together')
    print('  the one that sleeps a minute, which has been cancelled:', cancelled)


def stop(handle):
    print('\n9. The end')
    session = handle.get_session()
    process = session.spawn(Sandbox.Command(argv=['sleep', '60']), None)
    handle.stop(None)
    dead = process.get_result().get_outcome() == Sandbox.Outcome.STOPPED
    print('  stopped; what still ran is dead:', 'yes' if dead else 'no')
    try:
        session.spawn(Sandbox.Command(argv=['true']), None)
    except GLib.Error as error:
        if error.matches(Sandbox.error_quark(), Sandbox.Error.STOPPED):
            print('  STOPPED:', error.message)


def main():
    print('How commands run and end, in Python')
    directory = tempfile.mkdtemp(prefix='sandbox-commands-')
    try:
        handle = create(directory)
        session = handle.get_session()
        files(session)
        commands(session)
        borders(session)
        identity(session, directory)
        streams(session)
        errors(session)
        together(session)
        stop(handle)
    except GLib.Error as error:
        sys.exit(f'It ends here: {error.message}')
    # The files stay: they are the host's.
    n_files = len(os.listdir(directory))
    shutil.rmtree(directory)
    print(f'  the directory still had its {n_files} files; they are removed now')


if __name__ == '__main__':
    main()
