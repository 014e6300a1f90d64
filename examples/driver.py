#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A backend in Python: a model to start from, and a program that uses it.

Its files are in memory and its programs are the functions below, so nothing of it touches the host. The session layer adds
text, paths, limits, deadlines, cancellation and run(); driver.js is the same in JavaScript.
"""

import threading
import time

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import GLib, GObject, Sandbox


def failure(code, message):
    return GLib.Error.new_literal(Sandbox.error_quark(), message, code)


# ---- The programs: each yields output and returns its exit status ------------------------------------------------------

def echo(process, driver, argv):
    yield ' '.join(argv[1:]).encode() + b'\n'
    return 0


def cat(process, driver, argv):
    for path in argv[1:]:
        if path not in driver.files:
            return 1
        yield driver.files[path]
    return 0


def sleep(process, driver, argv):
    process.killed.wait(float(argv[1]))
    yield b''
    return 0


PROGRAMS = {'cat': cat, 'echo': echo, 'sleep': sleep}


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

    def work(self, driver, argv):
        output = PROGRAMS[argv[0]](self, driver, argv)
        status = 0
        while not self.killed.is_set():
            try:
                if not self.push_stdout(GLib.Bytes.new(next(output))):
                    break
            except StopIteration as end:
                status = end.value
                break
        # As waitpid() tells it: an exit status, or the number of the signal.
        self.set_exited(9 if self.killed.is_set() else status << 8, 0, 0, 0)
        self.set_gone()


# ---- The driver: each function answers its request once, now or later, or raises ---------------------------------------

class MemoryDriver(GObject.Object, Sandbox.Driver):
    def __init__(self):
        super().__init__()
        self.files = {}
        self.processes = []

    # Paths are checked and relative to the workspace. What comes back is never more than was asked for.
    def do_read(self, path, offset, maximum, request):
        if path not in self.files:
            raise failure(Sandbox.Error.NOT_FOUND, f'There is no file “{path}”')
        request.return_bytes(GLib.Bytes.new(self.files[path][offset:offset + maximum]))
        return True

    def do_write(self, path, data, mode, flags, request):
        if flags & Sandbox.WriteFlags.EXCLUSIVE and path in self.files:
            raise failure(Sandbox.Error.EXISTS, f'There is a file “{path}” already')
        self.files[path] = data.get_data()
        request.return_done()
        return True

    def do_remove(self, path, flags, request):
        if self.files.pop(path, None) is None and not flags & Sandbox.RemoveFlags.MISSING_OK:
            raise failure(Sandbox.Error.NOT_FOUND, f'There is no file “{path}”')
        request.return_done()
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

    result = session.run(Sandbox.Command(argv=['cat', 'greeting.txt']), None)
    print('cat:', result.dup_stdout_text().strip(), f'(exit status {result.get_exit_status()})')

    started = time.monotonic()
    result = session.run(Sandbox.Command(argv=['sleep', '60'], timeout_ms=200), None)
    print('sleep:', result.get_outcome().value_nick, 'early' if time.monotonic() - started < 5 else 'late')

    for argv in ['rm', '-rf', '/'], ['echo', 'x' * 200000]:
        try:
            session.run(Sandbox.Command(argv=argv), None)
        except GLib.Error as error:
            print(f'{argv[0]}:', Sandbox.Error(error.code).value_nick, '-', error.message)

    handle.stop(None)
    print('stopped')


if __name__ == '__main__':
    main()
