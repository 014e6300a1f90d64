#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend in Python: a model to start from, and a program that uses it.

Its files are in memory and its programs are the functions below, so nothing of it touches the host. The session layer adds
text, paths, limits, deadlines, cancellation and run(); driver.js is the same in JavaScript.
"""

import os
import threading
import time

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, GObject, Sandbox


def failure(code, message):
    return GLib.Error.new_literal(Sandbox.error_quark(), message, code)


def parent(path):
    return os.path.dirname(path) or '.'


# ---- The programs: each yields output and returns its exit status ------------------------------------------------------

def echo(process, driver, argv):
    yield ' '.join(argv[1:]).encode() + b'\n'
    return 0


def cat(process, driver, argv):
    for path in argv[1:]:
        if driver.files.get(path) is None:
            return 1
        yield driver.files[path]
    return 0


def sleep(process, driver, argv):
    process.killed.wait(float(argv[1]))
    yield b''
    return 0


def fail(process, driver, argv):
    raise RuntimeError('This program has an error')


PROGRAMS = {'cat': cat, 'echo': echo, 'fail': fail, 'sleep': sleep}


class MemoryProcess(Sandbox.Process):
    """One command. It reports its ends from its own thread, which every process may."""

    def __init__(self):
        super().__init__()
        self.killed = threading.Event()

    def do_kill(self):
        # Asked to kill, it returns at once; that everything is dead is told by set_gone().
        self.killed.set()
        return True

    def start(self, driver, argv):
        threading.Thread(target=self.work, args=(driver, argv), daemon=True).start()

    def execute(self, output):
        while not self.killed.is_set():
            try:
                if not self.push_stdout(GLib.Bytes.new(next(output))):
                    break
            except StopIteration as end:
                return end.value or 0
        return 0

    def work(self, driver, argv):
        status = 1
        try:
            status = self.execute(PROGRAMS[argv[0]](self, driver, argv))
        except Exception as error:
            self.push_stderr(GLib.Bytes.new(f'{error}\n'.encode()))
        finally:
            # Whatever happened, these come: without them nobody learns of the end. As waitpid() tells it, an exit status
            # or the number of the signal.
            self.set_exited(9 if self.killed.is_set() else status << 8, 0, 0, 0)
            self.set_gone()


# ---- The driver: each function answers its request once, now or later, or raises ---------------------------------------

class MemoryDriver(GObject.Object, Sandbox.Driver):
    def __init__(self):
        super().__init__()
        # By path, which is checked and relative to the workspace: the content, or None for a directory.
        self.files = {'.': None}
        self.processes = []

    def find(self, path):
        if path not in self.files:
            self.check_directory(parent(path))
            raise failure(Sandbox.Error.NOT_FOUND, f'There is no “{path}”')
        return self.files[path]

    def content(self, path):
        content = self.find(path)
        if content is None:
            raise failure(Sandbox.Error.INVALID, f'“{path}” is a directory')
        return content

    def check_directory(self, path):
        if self.find(path) is not None:
            raise failure(Sandbox.Error.PATH, f'“{path}” is no directory')

    def make_directories(self, path):
        if path not in self.files:
            self.make_directories(parent(path))
            self.files[path] = None
        self.check_directory(path)

    def below(self, path):
        return [name for name in self.files if name.startswith(f'{path}/')]

    def describe(self, path):
        content = self.find(path)
        info = Gio.FileInfo()
        info.set_name(os.path.basename(path))
        info.set_display_name(os.path.basename(path))
        info.set_file_type(Gio.FileType.DIRECTORY if content is None else Gio.FileType.REGULAR)
        info.set_size(len(content or b''))
        return info

    # What comes back is never more than was asked for.
    def do_read(self, path, offset, maximum, request):
        request.return_bytes(GLib.Bytes.new(self.content(path)[offset:offset + maximum]))
        return True

    def do_write(self, path, data, mode, flags, request):
        if path in self.files:
            self.content(path)
            if flags & Sandbox.WriteFlags.EXCLUSIVE:
                raise failure(Sandbox.Error.EXISTS, f'There is a “{path}” already')
        elif flags & Sandbox.WriteFlags.PARENTS:
            self.make_directories(parent(path))
        self.check_directory(parent(path))
        self.files[path] = data.get_data() or b''
        request.return_done()
        return True

    def do_remove(self, path, flags, request):
        below = self.below(path)
        if not flags & Sandbox.RemoveFlags.MISSING_OK:
            self.find(path)
        if below and not flags & Sandbox.RemoveFlags.RECURSIVE:
            raise failure(Sandbox.Error.EXISTS, f'“{path}” is not empty')
        for name in path, *below:
            self.files.pop(name, None)
        request.return_done()
        return True

    # These are optional: what is left out is refused by name, here open_write() and whole trees.
    def do_list(self, path, maximum, request):
        self.check_directory(path)
        names = [name for name in self.files if name != '.' and parent(name) == path]
        listing = Sandbox.Listing.new()
        for name in names[:maximum]:
            listing.add(self.describe(name))
        listing.set_truncated(len(names) > maximum)
        request.return_object(listing)
        return True

    def do_query_info(self, path, request):
        request.return_object(self.describe(path))
        return True

    def do_make_directory(self, path, request):
        if path in self.files:
            raise failure(Sandbox.Error.EXISTS, f'There is a “{path}” already')
        self.make_directories(path)
        request.return_done()
        return True

    def do_move(self, origin, target, request):
        self.find(origin)
        if target in self.files:
            raise failure(Sandbox.Error.EXISTS, f'There is a “{target}” already')
        if target.startswith(f'{origin}/'):
            raise failure(Sandbox.Error.INVALID, f'“{origin}” cannot be moved into itself')
        self.check_directory(parent(target))
        for name in origin, *self.below(origin):
            self.files[target + name[len(origin):]] = self.files.pop(name)
        request.return_done()
        return True

    def do_open_read(self, path, request):
        request.return_object(Gio.MemoryInputStream.new_from_bytes(GLib.Bytes.new(self.content(path))))
        return True

    # What cannot be enforced is refused by name before anything starts.
    def do_spawn(self, command, request):
        argv = command.get_argv()
        if command.get_terminal() or command.get_limits() is not None:
            raise failure(Sandbox.Error.NOT_SUPPORTED, 'There are no terminals and no limits here')
        if argv[0] not in PROGRAMS:
            raise failure(Sandbox.Error.NOT_FOUND, f'There is no program “{argv[0]}”')
        process = MemoryProcess()
        self.processes = [process, *(other for other in self.processes if other.get_result() is None)]
        process.start(self, argv)
        request.return_object(process)
        return True

    def do_set_network_policy(self, policy, request):
        if policy.get_mode() != Sandbox.NetworkMode.DENY_ALL:
            raise failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here')
        request.return_done()
        return True

    def do_close(self, request):
        for process in self.processes:
            process.kill()
        request.return_done()
        return True


# ---- The backend: a probe, and the maker of drivers ------------------------------------------------------------------

class MemoryBackend(Sandbox.Backend):
    def do_probe(self, profile, request):
        report = Sandbox.Report.new(Sandbox.Grade.FULL)
        report.set_restrictions(Sandbox.Restrictions.NETWORK_DENIED | Sandbox.Restrictions.WRITE_CONTAINED |
                                Sandbox.Restrictions.SECRETS_HIDDEN | Sandbox.Restrictions.PROCESS_CONTAINED)
        request.return_object(report)
        return True

    def do_create_driver(self, options, workspace, request):
        network = options.get_network()
        if workspace is not None or options.get_profile() is not None:
            raise failure(Sandbox.Error.NOT_SUPPORTED, 'The workspace is in memory, and there is one view of it')
        if network is not None and network.get_mode() != Sandbox.NetworkMode.DENY_ALL:
            raise failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here')
        request.return_object(MemoryDriver())
        return True


# ---- A host that uses it like any other ------------------------------------------------------------------------------

def main():
    registry = Sandbox.Registry.get_default()
    registry.add_type('memory', 0, MemoryBackend)
    backend = registry.create_backend('memory', None)
    print('probe:', backend.probe(None, None).get_grade().value_nick)

    handle = backend.create(Sandbox.CreateOptions(), None)
    session = handle.get_session()
    session.write_text('greeting.txt', 'Hello from memory\n', None)
    print('read:', session.read_text('/workspace/greeting.txt', None).strip())

    session.make_directory('letters', None)
    session.move('greeting.txt', 'letters/first.txt', None)
    for info in session.list_directory('letters', None):
        print('list:', info.get_name(), f'({info.get_size()} bytes)')

    result = session.run(Sandbox.Command(argv=['cat', 'letters/first.txt']), None)
    print('cat:', result.dup_stdout_text().strip(), f'(exit status {result.get_exit_status()})')

    started = time.monotonic()
    result = session.run(Sandbox.Command(argv=['sleep', '60'], timeout_ms=200), None)
    print('sleep:', result.get_outcome().value_nick, 'early' if time.monotonic() - started < 5 else 'late')

    result = session.run(Sandbox.Command(argv=['fail']), None)
    print('fail:', result.dup_stderr_text().strip(), f'(exit status {result.get_exit_status()})')

    for argv in ['rm', '-rf', '/'], ['echo', 'x' * 200000]:
        try:
            session.run(Sandbox.Command(argv=argv), None)
        except GLib.Error as error:
            print(f'{argv[0]}:', Sandbox.Error(error.code).value_nick, '-', error.message)

    handle.stop(None)
    print('stopped')


if __name__ == '__main__':
    main()
