# SPDX-License-Identifier: LGPL-2.1-or-later
"""The driver of toys of tests/conformance/memory-driver.h, in Python: files in a dictionary, programs in threads.

It answers as it is told to: now, from an idle source, from a thread, when the test says so, never, or not at all.
"""

import errno
import os
import re
import select
import signal
import threading

import gi
gi.require_version('Sandbox', '1.0')
from gi.repository import Gio, GLib, GObject, Sandbox

CHUNK = 4096
ERRORS = {
    errno.EACCES: Sandbox.Error.DENIED, errno.EEXIST: Sandbox.Error.EXISTS, errno.ENOENT: Sandbox.Error.NOT_FOUND,
    errno.ENOTDIR: Sandbox.Error.PATH, errno.EPERM: Sandbox.Error.DENIED,
}


def failure(code, message):
    return GLib.Error.new_literal(Sandbox.error_quark(), message, code)


def parent_of(path):
    return os.path.dirname(path) or '.'


def join(path, name):
    return name if path == '.' else f'{path}/{name}'


class WriteStream(Gio.FilterOutputStream):
    """Collects what is written to it; the file is replaced when it is closed, in whatever thread that is."""

    def __init__(self, driver, path):
        super().__init__(base_stream=Gio.MemoryOutputStream.new_resizable())
        self.driver = driver
        self.path = path

    def do_close_fn(self, cancellable):
        # A stream that is let go of is closed too, when its Python half is gone: the file stays as it was.
        if not hasattr(self, 'driver'):
            return True
        if cancellable is not None:
            cancellable.set_error_if_cancelled()
        collected = self.get_base_stream()
        collected.close(None)
        self.driver.files[self.path] = collected.steal_as_bytes().get_data() or b''
        return True


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


class Counts:
    """How far an import or export has come."""

    def __init__(self, request):
        self.request = request
        self.bytes = self.files = self.skipped = 0

    def add_file(self, size):
        self.bytes += size
        self.files += 1
        self.tell()

    def skip(self):
        self.skipped += 1
        self.tell()

    def tell(self):
        self.request.report_progress(self.bytes, self.files, self.skipped)


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
        parent = parent_of(path)
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
        self.files[path] = data.get_data() or b''
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
            self.files = {name: data for name, data in [*self.files.items()] if not name.startswith(below)}
            self.directories = {name for name in self.directories if name != path and not name.startswith(below)}
        return self.done(request)

    # ---- The optional functions

    def missing(self, path):
        """The code of why nothing is there."""
        return self.check_parent(path, False) or Sandbox.Error.NOT_FOUND

    def exists(self, path):
        return path in self.files or path in self.directories

    def describe(self, path):
        info = Gio.FileInfo()
        name = os.path.basename(path)
        info.set_name(name)
        info.set_display_name(name)
        info.set_file_type(Gio.FileType.REGULAR if path in self.files else Gio.FileType.DIRECTORY)
        info.set_size(len(self.files.get(path, b'')))
        return info

    def children(self, path):
        return [name for name in [*self.files, *self.directories] if name != '.' and parent_of(name) == path]

    def do_list(self, path, maximum, request):
        self.note('list')
        if path not in self.directories:
            code = Sandbox.Error.PATH if path in self.files else self.missing(path)
            return self.fail(request, code, f'{path}: no such directory')
        listing = Sandbox.Listing.new()
        children = self.children(path)
        for name in children[:maximum]:
            listing.add(self.describe(name))
        listing.set_truncated(len(children) > maximum)
        return self.reply(request, lambda request: request.return_object(listing))

    def do_query_info(self, path, request):
        self.note('query_info')
        if not self.exists(path):
            return self.fail(request, self.missing(path), f'{path}: not there')
        info = self.describe(path)
        return self.reply(request, lambda request: request.return_object(info))

    def do_make_directory(self, path, request):
        self.note('make_directory')
        if self.exists(path):
            return self.fail(request, Sandbox.Error.EXISTS, f'{path}: exists')
        code = self.check_parent(path, True)
        if code is not None:
            return self.fail(request, code, f'{path}: no place for it')
        self.directories.add(path)
        return self.done(request)

    def do_move(self, origin, target, request):
        self.note('move')
        if not self.exists(origin):
            return self.fail(request, self.missing(origin), f'{origin}: not there')
        if self.exists(target):
            return self.fail(request, Sandbox.Error.EXISTS, f'{target}: exists')
        code = Sandbox.Error.INVALID if target.startswith(f'{origin}/') else self.check_parent(target, False)
        if code is not None:
            return self.fail(request, code, f'{target}: no place for it')

        def moved(name):
            return target + name[len(origin):] if name == origin or name.startswith(f'{origin}/') else name

        self.files = {moved(name): data for name, data in [*self.files.items()]}
        self.directories = {moved(name) for name in self.directories}
        return self.done(request)

    def do_open_read(self, path, request):
        self.note('open_read')
        if path not in self.files:
            code = Sandbox.Error.INVALID if path in self.directories else self.missing(path)
            return self.fail(request, code, f'{path}: no such file')
        # A stream of Python cannot be read from, but one that GIO has will do.
        stream = Gio.MemoryInputStream.new_from_bytes(GLib.Bytes.new(self.files[path]))
        return self.reply(request, lambda request: request.return_object(stream))

    def do_open_write(self, path, request):
        self.note('open_write')
        code = Sandbox.Error.INVALID if path in self.directories else self.check_parent(path, True)
        if code is not None:
            return self.fail(request, code, f'{path}: no place for it')
        stream = WriteStream(self, path)
        return self.reply(request, lambda request: request.return_object(stream))

    def do_import_tree(self, path, directory, request):
        self.note('import_tree')
        if directory.get_path() is None:
            return self.fail(request, Sandbox.Error.NOT_SUPPORTED, 'The directory has no path here')
        if path in self.files:
            return self.fail(request, Sandbox.Error.PATH, f'{path}: not a directory')
        code = self.check_parent(path, True) if path != '.' else None
        if code is not None:
            return self.fail(request, code, f'{path}: no place for it')
        counts = Counts(request)
        try:
            self.directories.add(path)
            self.import_entries(path, directory.get_path(), counts)
        except OSError as error:
            code = ERRORS.get(error.errno, Sandbox.Error.FAILED)
            return self.fail(request, code, f'Cannot import a directory: {error.strerror}')
        return self.done(request)

    def import_entries(self, path, directory, counts):
        for entry in os.scandir(directory):
            # Bytes that are not UTF-8 and backslashes are told as the session tells them.
            escaped = os.fsencode(entry.name.replace('\\', r'\x5c')).decode('utf-8', 'backslashreplace')
            name = join(path, escaped)
            if entry.is_dir(follow_symlinks=False) and name not in self.files:
                self.directories.add(name)
                self.import_entries(name, entry.path, counts)
            elif entry.is_file(follow_symlinks=False) and name not in self.directories:
                with open(entry.path, 'rb') as file:
                    self.files[name] = file.read()
                counts.add_file(len(self.files[name]))
            else:
                counts.skip()

    def do_export_tree(self, path, directory, request):
        self.note('export_tree')
        target = directory.get_path()
        if target is None:
            return self.fail(request, Sandbox.Error.NOT_SUPPORTED, 'The directory has no path here')
        if path not in self.directories:
            code = Sandbox.Error.PATH if path in self.files else self.missing(path)
            return self.fail(request, code, f'{path}: no such directory')
        try:
            os.makedirs(target, exist_ok=True)
            if os.listdir(target):
                return self.fail(request, Sandbox.Error.EXISTS, 'The directory is not empty')
            self.export_entries(path, os.fsencode(target), Counts(request))
        except OSError as error:
            code = ERRORS.get(error.errno, Sandbox.Error.FAILED)
            return self.fail(request, code, f'Cannot export a directory: {error.strerror}')
        return self.done(request)

    def export_entries(self, path, directory, counts):
        for name in self.children(path):
            plain = re.sub(rb'\\x(..)', lambda match: bytes.fromhex(match[1].decode()), os.path.basename(name).encode())
            target = os.path.join(directory, plain)
            if name in self.directories:
                os.mkdir(target)
                self.export_entries(name, target, counts)
            else:
                with open(target, 'xb') as file:
                    file.write(self.files[name])
                counts.add_file(len(self.files[name]))

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


class Local(GObject.Object, Sandbox.Driver):
    """A driver of real files: the workspace that the backend got answers every request about them, in C."""

    def __init__(self, workspace):
        super().__init__()
        self.workspace = workspace

    def do_read(self, path, offset, maximum, request):
        return self.workspace.read(path, offset, maximum, request)

    def do_write(self, path, data, mode, flags, request):
        return self.workspace.write(path, data, mode, flags, request)

    def do_remove(self, path, flags, request):
        return self.workspace.remove(path, flags, request)

    def do_list(self, path, maximum, request):
        return self.workspace.list(path, maximum, request)

    def do_query_info(self, path, request):
        return self.workspace.query_info(path, request)

    def do_make_directory(self, path, request):
        return self.workspace.make_directory(path, request)

    def do_move(self, origin, target, request):
        return self.workspace.move(origin, target, request)

    def do_open_read(self, path, request):
        return self.workspace.open_read(path, request)

    def do_open_write(self, path, request):
        return self.workspace.open_write(path, request)

    def do_import_tree(self, path, directory, request):
        return self.workspace.import_tree(path, directory, request)

    def do_export_tree(self, path, directory, request):
        return self.workspace.export_tree(path, directory, request)

    def do_close(self, request):
        request.return_done()
        return True


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
        if network is not None and network.get_mode() != Sandbox.NetworkMode.DENY_ALL:
            raise failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here')
        if workspace is not None:
            request.return_object(Local(workspace))
            return True
        driver = Driver()
        driver.answer = Backend.answer
        Backend.drivers.append(driver)
        request.return_object(driver)
        return True

    def do_plan(self, command, options):
        return '{"program": "%s"}' % command.get_argv()[0]
