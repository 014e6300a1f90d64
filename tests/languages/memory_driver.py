# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver of toys of tests/conformance/memory-driver.h, in Python: files in a dictionary, programs in threads.

It answers as it is told to: now, from an idle source, from a thread, when the test says so, never, or not at all.
"""

import os
import select
import signal
import threading

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, GObject, Sandbox

CHUNK = 4096


def failure(code, message):
    return GLib.Error.new_literal(Sandbox.error_quark(), message, code)


class Process(Sandbox.Process):
    """A toy in a thread of its own, with pipes of the operating system."""

    def __init__(self, driver, command):
        super().__init__()
        self.driver = driver
        self.argv = command.get_argv()
        self.environment = dict(entry.split('=', 1) for entry in command.get_environment() or [])
        self.cwd = command.get_cwd()
        self.given = command.get_stdin().get_data() if command.get_stdin() else b''
        self.ignores_term = self.argv[0] == 'hang'
        self.signum = 0
        self.over = False
        self.lock = threading.Lock()
        self.dying, self.die = os.pipe2(os.O_CLOEXEC)

        read_end, self.out = os.pipe2(os.O_CLOEXEC)
        output = Gio.UnixInputStream.new(read_end, True)
        read_end, self.err = os.pipe2(os.O_CLOEXEC)
        errors = Gio.UnixInputStream.new(read_end, True)
        self.input = -1
        stdin = None
        if command.wants_stdin_pipe():
            self.input, write_end = os.pipe2(os.O_CLOEXEC)
            stdin = Gio.UnixOutputStream.new(write_end, True)
        self.set_streams(stdin, output, errors)
        for fd in self.out, self.err:
            os.set_blocking(fd, False)

    def do_send_signal(self, signum):
        self.driver.note('send_signal')
        if signum == signal.SIGKILL or (signum == signal.SIGTERM and not self.ignores_term):
            self.end(signum)
        return True

    def do_kill(self):
        self.driver.note('kill')
        self.end(signal.SIGKILL)
        return True

    def end(self, signum):
        with self.lock:
            if not self.over:
                self.signum = self.signum or signum
                os.write(self.die, b'x')

    def poll(self, readable=(), writable=(), seconds=None):
        """False when the process is to die."""
        ready = select.select([self.dying, *readable], writable, [], seconds)
        return self.dying not in ready[0]

    def write(self, fd, data):
        while data:
            if not self.poll(writable=[fd]):
                return False
            try:
                data = data[os.write(fd, data[:CHUNK]):]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return False
        return True

    def start(self):
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        status = PROGRAMS[self.argv[0]](self, *self.argv[1:]) or 0
        with self.lock:
            self.over = True
            for fd in {self.out, self.err, self.input, self.dying, self.die} - {-1}:
                os.close(fd)
        if self.argv[0] != 'vanish':
            self.set_exited(int(self.signum) or status, 2000, 1000, 4096)
        self.set_gone()
        self.driver.forget(self)


# ---- The toys; each returns a status as waitpid() tells it

def run_echo(process, *words):
    process.write(process.out, ' '.join(words).encode() + b'\n')


def run_cat(process, *paths):
    for path in paths:
        if path not in process.driver.files:
            process.write(process.err, b'no such file\n')
            return 1 << 8
        process.write(process.out, process.driver.files[path])
    if not paths:
        process.write(process.out, process.given)
    while not paths and process.input >= 0 and process.poll([process.input]):
        data = os.read(process.input, CHUNK)
        if not data or not process.write(process.out, data):
            break


def run_pwd(process):
    path = '/workspace' if process.cwd == '.' else f'/workspace/{process.cwd}'
    process.write(process.out, path.encode() + b'\n')


def run_env(process, name):
    if name not in process.environment:
        return 1 << 8
    process.write(process.out, process.environment[name].encode() + b'\n')


def run_exit(process, status):
    return int(status) << 8


def run_signal(process, number):
    return int(number)


def run_flood(process, output, errors):
    process.write(process.err, b'x' * int(errors)) and process.write(process.out, b'x' * int(output))


def run_yes(process):
    while process.write(process.out, b'y' * CHUNK):
        pass


def run_sleep(process, milliseconds=None):
    process.poll(seconds=None if milliseconds is None else int(milliseconds) / 1000)


def run_nothing(process):
    pass


PROGRAMS = {
    'cat': run_cat, 'echo': run_echo, 'env': run_env, 'exit': run_exit, 'flood': run_flood, 'hang': run_sleep, 'pwd': run_pwd,
    'signal': run_signal, 'sleep': run_sleep, 'vanish': run_nothing, 'yes': run_yes,
}


class Driver(GObject.Object, Sandbox.Driver):
    def __init__(self):
        super().__init__()
        self.answer = 'now'
        self.held = []
        self.files = {}
        self.directories = {'.'}
        self.live = set()
        self.calls = []
        self.closing = None
        self.lock = threading.Lock()

    def note(self, name):
        self.calls.append((name, threading.get_ident()))

    def reply(self, request, answer):
        """Answers with a function of the request, in the manner that is set."""
        if self.answer == 'now':
            answer(request)
        elif self.answer == 'idle':
            GLib.idle_add(lambda: answer(request))
        elif self.answer == 'thread':
            threading.Thread(target=answer, args=(request,), daemon=True).start()
        elif self.answer == 'held':
            self.held.append((request, answer))
        elif self.answer == 'false':
            return False
        elif self.answer == 'error':
            raise failure(Sandbox.Error.DENIED, 'Not today')
        elif self.answer != 'dropped':
            raise ValueError(self.answer)
        return True

    def answer_held(self):
        while self.held:
            request, answer = self.held.pop()
            answer(request)

    def fail(self, request, code, message):
        return self.reply(request, lambda request: request.return_failure(code, message))

    def done(self, request):
        return self.reply(request, lambda request: request.return_done())

    def check_parent(self, path, make):
        parent = os.path.dirname(path) or '.'
        if parent in self.directories:
            return None
        if parent in self.files:
            return Sandbox.Error.PATH
        if not make:
            return Sandbox.Error.NOT_FOUND
        code = self.check_parent(parent, True)
        if code is None:
            self.directories.add(parent)
        return code

    def do_read(self, path, offset, maximum, request):
        self.note('read')
        if path in self.directories:
            return self.fail(request, Sandbox.Error.INVALID, f'{path}: a directory')
        if path not in self.files:
            return self.fail(request, self.check_parent(path, False) or Sandbox.Error.NOT_FOUND, f'{path}: no such file')
        data = GLib.Bytes.new(self.files[path][offset:offset + maximum])
        return self.reply(request, lambda request: request.return_bytes(data))

    def do_write(self, path, data, mode, flags, request):
        self.note('write')
        if path in self.directories:
            return self.fail(request, Sandbox.Error.INVALID, f'{path}: a directory')
        if flags & Sandbox.WriteFlags.EXCLUSIVE and path in self.files:
            return self.fail(request, Sandbox.Error.EXISTS, f'{path}: exists')
        code = self.check_parent(path, bool(flags & Sandbox.WriteFlags.PARENTS))
        if code is not None:
            return self.fail(request, code, f'{path}: no place for it')
        self.files[path] = data.get_data()
        return self.done(request)

    def do_remove(self, path, flags, request):
        self.note('remove')
        below = path + '/'
        there = path in self.directories or self.files.pop(path, None) is not None
        if not there and not flags & Sandbox.RemoveFlags.MISSING_OK:
            return self.fail(request, Sandbox.Error.NOT_FOUND, f'{path}: not there')
        if path in self.directories:
            inside = any(name.startswith(below) for name in [*self.files, *self.directories])
            if inside and not flags & Sandbox.RemoveFlags.RECURSIVE:
                return self.fail(request, Sandbox.Error.EXISTS, f'{path}: not empty')
            self.files = {name: data for name, data in self.files.items() if not name.startswith(below)}
            self.directories = {name for name in self.directories if name != path and not name.startswith(below)}
        return self.done(request)

    def do_spawn(self, command, request):
        self.note('spawn')
        program, cwd = command.get_argv()[0], command.get_cwd()
        if command.get_limits() is not None or command.get_terminal():
            return self.fail(request, Sandbox.Error.NOT_SUPPORTED, 'No limits and no terminals here')
        if program not in PROGRAMS:
            code = Sandbox.Error.DENIED if program in self.files else Sandbox.Error.NOT_FOUND
            return self.fail(request, code, f'{program}: not a program')
        if cwd not in self.directories:
            code = Sandbox.Error.PATH if cwd in self.files else Sandbox.Error.NOT_FOUND
            return self.fail(request, code, f'{cwd}: not a directory')
        process = Process(self, command)
        with self.lock:
            self.live.add(process)
        process.start()
        return self.reply(request, lambda request: request.return_object(process))

    def do_set_network_policy(self, policy, request):
        self.note('set_network_policy')
        if policy.get_mode() != Sandbox.NetworkMode.DENY_ALL:
            return self.fail(request, Sandbox.Error.NETWORK_DENIED, 'There is no network here')
        return self.done(request)

    def do_close(self, request):
        self.note('close')
        with self.lock:
            for process in self.live:
                process.end(signal.SIGKILL)
            if self.live:
                self.closing = request
                return True
        return self.done(request)

    def forget(self, process):
        closing = None
        with self.lock:
            self.live.discard(process)
            if not self.live:
                closing, self.closing = self.closing, None
        if closing is not None:
            closing.return_done()


class Backend(Sandbox.Backend):
    """Made by the registry; the drivers that it makes are kept for the test, and answer in the manner that is set."""

    answer = 'now'
    drivers = []

    def do_probe(self, profile, request):
        report = Sandbox.Report.new(Sandbox.Grade.PARTIAL)
        report.add_gap('Toys need no walls')
        request.return_object(report)
        return True

    def do_create_driver(self, options, workspace, request):
        network = options.get_network()
        if workspace is not None:
            raise failure(Sandbox.Error.NOT_SUPPORTED, 'No real files here')
        if network is not None and network.get_mode() != Sandbox.NetworkMode.DENY_ALL:
            raise failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here')
        driver = Driver()
        driver.answer = Backend.answer
        Backend.drivers.append(driver)
        request.return_object(driver)
        return True

    def do_plan(self, command, options):
        return '{"program": "%s"}' % command.get_argv()[0]
