// SPDX-License-Identifier: LGPL-2.1-or-later
// The driver of toys of tests/conformance/memory-driver.h, in JavaScript: files in a map, programs that push their output.
// It answers as it is told to: now, from a promise, when the test says so, or not at all. `cat` without a file hands out
// the pipes of a real cat, as a driver over Gio.Subprocess does.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Sandbox from 'gi://Sandbox?version=1.0';

const SIGKILL = 9;
const SIGTERM = 15;

export const encode = text => new TextEncoder().encode(text);
export const failure = (code, message) => new GLib.Error(Sandbox.Error, code, message);

const parentOf = path => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
const nameOf = path => path.slice(path.lastIndexOf('/') + 1);
const join = (path, name) => path === '.' ? name : `${path}/${name}`;

// What GIO says of the host's files, in the words of a driver.
function failureOf(error, what) {
    if (error instanceof Sandbox.Error)
        return [error.code, error.message];
    const codes = [
        [Gio.IOErrorEnum.NOT_FOUND, Sandbox.Error.NOT_FOUND],
        [Gio.IOErrorEnum.EXISTS, Sandbox.Error.EXISTS],
        [Gio.IOErrorEnum.NOT_DIRECTORY, Sandbox.Error.PATH],
        [Gio.IOErrorEnum.PERMISSION_DENIED, Sandbox.Error.DENIED],
        [Gio.IOErrorEnum.NOT_SUPPORTED, Sandbox.Error.NOT_SUPPORTED],
    ];
    const known = codes.find(([code]) => error instanceof GLib.Error && error.matches(Gio.IOErrorEnum, code));
    return [known?.[1] ?? Sandbox.Error.FAILED, `${what}: ${error.message}`];
}

// How far an import or export has come.
class Counts {
    constructor(request) {
        this.request = request;
        this.bytes = this.files = this.skipped = 0;
    }

    addFile(size) {
        this.bytes += size;
        this.files++;
        this.tell();
    }

    skip() {
        this.skipped++;
        this.tell();
    }

    tell() {
        this.request.report_progress(this.bytes, this.files, this.skipped);
    }
}

export const Process = GObject.registerClass(
class Process extends Sandbox.Process {
    constructor(driver, command) {
        super();
        this.driver = driver;
        this.argv = command.get_argv();
        this.signum = 0;
        this.ignoresTerm = this.argv[0] === 'hang';
        const environment = command.get_environment() ?? [];
        this.environment = Object.fromEntries(environment.map(entry => entry.split(/=(.*)/s).slice(0, 2)));
        this.cwd = command.get_cwd();
        this.given = command.get_stdin();
    }

    vfunc_send_signal(signum) {
        this.driver.calls.push('send_signal');
        if (signum === SIGKILL || (signum === SIGTERM && !this.ignoresTerm))
            this.end(signum);
        return true;
    }

    vfunc_kill() {
        this.driver.calls.push('kill');
        this.end(SIGKILL);
        return true;
    }

    end(signum) {
        this.signum ||= signum;
        this.child?.send_signal(this.signum);
        this.wake?.();
    }

    // True when the time is up, false when the process is to die.
    nap(ms) {
        return new Promise(resolve => {
            const source = ms === null ? 0 : GLib.timeout_add(GLib.PRIORITY_DEFAULT, ms, () => {
                this.wake = null;
                resolve(true);
                return GLib.SOURCE_REMOVE;
            });
            this.wake = () => {
                this.wake = null;
                if (source !== 0)
                    GLib.source_remove(source);
                resolve(false);
            };
            if (this.signum !== 0)
                this.wake();
        });
    }

    write(data) {
        return this.push_stdout(new GLib.Bytes(data));
    }

    writeError(data) {
        return this.push_stderr(new GLib.Bytes(data));
    }

    finish(status) {
        if (this.argv[0] !== 'vanish')
            this.set_exited(this.signum !== 0 ? this.signum : status, 2000, 1000, 4096);
        this.set_gone();
        this.driver.live.delete(this);
        if (this.driver.live.size === 0 && this.driver.closing !== null) {
            this.driver.closing.return_done();
            this.driver.closing = null;
        }
    }
});

// Each toy returns a status as waitpid() tells it, or a promise of one.
const programs = {
    cat(process, path) {
        if (path === undefined) {
            if (process.given !== null)
                process.write(process.given.toArray());
            return 0;
        }
        if (!process.driver.files.has(path)) {
            process.writeError(encode('no such file\n'));
            return 1 << 8;
        }
        process.write(process.driver.files.get(path));
        return 0;
    },

    echo(process, ...words) {
        process.write(encode(`${words.join(' ')}\n`));
        return 0;
    },

    env(process, name) {
        if (!Object.hasOwn(process.environment, name))
            return 1 << 8;
        process.write(encode(`${process.environment[name]}\n`));
        return 0;
    },

    exit: (process, status) => Number(status) << 8,

    flood(process, output, errors) {
        process.writeError(new Uint8Array(Number(errors)).fill(120));
        process.write(new Uint8Array(Number(output)).fill(120));
        return 0;
    },

    hang: async process => {
        while (await process.nap(1000000))
            ;
        return 0;
    },

    pwd(process) {
        process.write(encode(process.cwd === '.' ? '/workspace\n' : `/workspace/${process.cwd}\n`));
        return 0;
    },

    signal: (process, number) => Number(number),

    sleep: async (process, ms) => {
        await process.nap(ms === undefined ? null : Number(ms));
        return 0;
    },

    vanish: () => 0,

    yes: async process => {
        const data = new Uint8Array(4096).fill(121);
        // A while of output, then a breath, so that the thread lives.
        while (process.signum === 0 && process.write(data))
            await process.nap(0);
        return 0;
    },
};

export const Driver = GObject.registerClass({
    Implements: [Sandbox.Driver],
}, class Driver extends GObject.Object {
    constructor() {
        super();
        this.answer = 'now';
        this.held = [];
        this.files = new Map();
        this.directories = new Set(['.']);
        this.live = new Set();
        this.calls = [];
        this.closing = null;
    }

    // Answers with a function of the request, in the manner that is set.
    reply(request, answer) {
        switch (this.answer) {
        case 'now':
            answer(request);
            break;
        case 'promise':
            this.later(request, answer);
            break;
        case 'held':
            this.held.push([request, answer]);
            break;
        case 'dropped':
            break;
        case 'false':
            return false;
        case 'error':
            throw failure(Sandbox.Error.DENIED, 'Not today');
        default:
            throw new TypeError(this.answer);
        }
        return true;
    }

    async later(request, answer) {
        await new Promise(resolve => GLib.timeout_add(GLib.PRIORITY_DEFAULT, 1, () => {
            resolve();
            return GLib.SOURCE_REMOVE;
        }));
        answer(request);
    }

    answerHeld() {
        for (const [request, answer] of this.held.splice(0))
            answer(request);
    }

    fail(request, code, message) {
        return this.reply(request, r => r.return_failure(code, message));
    }

    done(request) {
        return this.reply(request, r => r.return_done());
    }

    // The code of what is wrong with the parent of a path, or null.
    checkParent(path, make) {
        const parent = parentOf(path);
        if (this.directories.has(parent))
            return null;
        if (this.files.has(parent))
            return Sandbox.Error.PATH;
        if (!make)
            return Sandbox.Error.NOT_FOUND;
        const code = this.checkParent(parent, true);
        if (code === null)
            this.directories.add(parent);
        return code;
    }

    vfunc_read(path, offset, maximum, request) {
        this.calls.push('read');
        if (this.directories.has(path))
            return this.fail(request, Sandbox.Error.INVALID, `${path}: a directory`);
        if (!this.files.has(path))
            return this.fail(request, this.checkParent(path, false) ?? Sandbox.Error.NOT_FOUND, `${path}: no such file`);
        const data = this.files.get(path).slice(offset, offset + maximum);
        return this.reply(request, r => r.return_bytes(new GLib.Bytes(data)));
    }

    vfunc_write(path, data, mode, flags, request) {
        this.calls.push('write');
        if (this.directories.has(path))
            return this.fail(request, Sandbox.Error.INVALID, `${path}: a directory`);
        if (flags & Sandbox.WriteFlags.EXCLUSIVE && this.files.has(path))
            return this.fail(request, Sandbox.Error.EXISTS, `${path}: exists`);
        const code = this.checkParent(path, (flags & Sandbox.WriteFlags.PARENTS) !== 0);
        if (code !== null)
            return this.fail(request, code, `${path}: no place for it`);
        this.files.set(path, data.toArray());
        return this.done(request);
    }

    vfunc_remove(path, flags, request) {
        this.calls.push('remove');
        const isBelow = name => name.startsWith(`${path}/`);
        if (!this.files.delete(path) && !this.directories.has(path) && !(flags & Sandbox.RemoveFlags.MISSING_OK))
            return this.fail(request, Sandbox.Error.NOT_FOUND, `${path}: not there`);
        if (this.directories.has(path)) {
            const inside = [...this.files.keys(), ...this.directories].filter(isBelow);
            if (inside.length > 0 && !(flags & Sandbox.RemoveFlags.RECURSIVE))
                return this.fail(request, Sandbox.Error.EXISTS, `${path}: not empty`);
            for (const name of [...inside, path]) {
                this.files.delete(name);
                this.directories.delete(name);
            }
        }
        return this.done(request);
    }

    // The optional functions. There is no open_write: a stream in JavaScript could not be closed from a thread of GIO nor let
    // go of to the garbage collector, so that it is better refused; see Local for how a driver of real files has one.

    // The code of why nothing is there.
    missing(path) {
        return this.checkParent(path, false) ?? Sandbox.Error.NOT_FOUND;
    }

    exists(path) {
        return this.files.has(path) || this.directories.has(path);
    }

    describe(path) {
        const info = new Gio.FileInfo();
        info.set_name(nameOf(path));
        info.set_display_name(nameOf(path));
        info.set_file_type(this.files.has(path) ? Gio.FileType.REGULAR : Gio.FileType.DIRECTORY);
        info.set_size(this.files.get(path)?.length ?? 0);
        return info;
    }

    children(path) {
        return [...this.files.keys(), ...this.directories].filter(name => name !== '.' && parentOf(name) === path);
    }

    vfunc_list(path, maximum, request) {
        this.calls.push('list');
        if (!this.directories.has(path)) {
            const code = this.files.has(path) ? Sandbox.Error.PATH : this.missing(path);
            return this.fail(request, code, `${path}: no such directory`);
        }
        const listing = Sandbox.Listing.new();
        const children = this.children(path);
        for (const name of children.slice(0, maximum))
            listing.add(this.describe(name));
        listing.set_truncated(children.length > maximum);
        return this.reply(request, r => r.return_object(listing));
    }

    vfunc_query_info(path, request) {
        this.calls.push('query_info');
        if (!this.exists(path))
            return this.fail(request, this.missing(path), `${path}: not there`);
        const info = this.describe(path);
        return this.reply(request, r => r.return_object(info));
    }

    vfunc_make_directory(path, request) {
        this.calls.push('make_directory');
        if (this.exists(path))
            return this.fail(request, Sandbox.Error.EXISTS, `${path}: exists`);
        const code = this.checkParent(path, true);
        if (code !== null)
            return this.fail(request, code, `${path}: no place for it`);
        this.directories.add(path);
        return this.done(request);
    }

    vfunc_move(from, to, request) {
        this.calls.push('move');
        if (!this.exists(from))
            return this.fail(request, this.missing(from), `${from}: not there`);
        if (this.exists(to))
            return this.fail(request, Sandbox.Error.EXISTS, `${to}: exists`);
        const isBelow = name => name.startsWith(`${from}/`);
        const code = isBelow(to) ? Sandbox.Error.INVALID : this.checkParent(to, false);
        if (code !== null)
            return this.fail(request, code, `${to}: no place for it`);

        const moved = name => name === from || isBelow(name) ? `${to}${name.slice(from.length)}` : name;
        this.files = new Map([...this.files].map(([name, data]) => [moved(name), data]));
        this.directories = new Set([...this.directories].map(moved));
        return this.done(request);
    }

    vfunc_open_read(path, request) {
        this.calls.push('open_read');
        if (!this.files.has(path)) {
            const code = this.directories.has(path) ? Sandbox.Error.INVALID : this.missing(path);
            return this.fail(request, code, `${path}: no such file`);
        }
        const stream = Gio.MemoryInputStream.new_from_bytes(new GLib.Bytes(this.files.get(path)));
        return this.reply(request, r => r.return_object(stream));
    }

    vfunc_import_tree(path, directory, request) {
        this.calls.push('import_tree');
        if (directory.get_path() === null)
            return this.fail(request, Sandbox.Error.NOT_SUPPORTED, 'The directory has no path here');
        if (this.files.has(path))
            return this.fail(request, Sandbox.Error.PATH, `${path}: not a directory`);
        const code = path === '.' ? null : this.checkParent(path, true);
        if (code !== null)
            return this.fail(request, code, `${path}: no place for it`);
        try {
            this.directories.add(path);
            this.importEntries(path, directory, new Counts(request));
        } catch (error) {
            return this.fail(request, ...failureOf(error, 'Cannot import a directory'));
        }
        return this.done(request);
    }

    importEntries(path, directory, counts) {
        const attributes = 'standard::copy-name,standard::type';
        const entries = directory.enumerate_children(attributes, Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS, null);
        for (let info = entries.next_file(null); info !== null; info = entries.next_file(null)) {
            // There is none for bytes that are not UTF-8, which no string of JavaScript has.
            const plain = info.get_attribute_string('standard::copy-name');
            if (plain === null)
                throw failure(Sandbox.Error.NOT_SUPPORTED, 'Cannot import a file whose name is not UTF-8');
            const child = directory.get_child(plain);
            const name = join(path, plain.replaceAll('\\', '\\x5c'));
            const type = info.get_file_type();
            if (type === Gio.FileType.DIRECTORY && !this.files.has(name)) {
                this.directories.add(name);
                this.importEntries(name, child, counts);
            } else if (type === Gio.FileType.REGULAR && !this.directories.has(name)) {
                const [, data] = child.load_contents(null);
                this.files.set(name, data);
                counts.addFile(data.length);
            } else {
                counts.skip();
            }
        }
        entries.close(null);
    }

    vfunc_export_tree(path, directory, request) {
        this.calls.push('export_tree');
        if (directory.get_path() === null)
            return this.fail(request, Sandbox.Error.NOT_SUPPORTED, 'The directory has no path here');
        if (!this.directories.has(path)) {
            const code = this.files.has(path) ? Sandbox.Error.PATH : this.missing(path);
            return this.fail(request, code, `${path}: no such directory`);
        }
        try {
            if (!directory.query_exists(null))
                directory.make_directory_with_parents(null);
            if (directory.enumerate_children('standard::name', Gio.FileQueryInfoFlags.NONE, null).next_file(null) !== null)
                return this.fail(request, Sandbox.Error.EXISTS, 'The directory is not empty');
            this.exportEntries(path, directory, new Counts(request));
        } catch (error) {
            return this.fail(request, ...failureOf(error, 'Cannot export a directory'));
        }
        return this.done(request);
    }

    exportEntries(path, directory, counts) {
        for (const name of this.children(path)) {
            // A URI has every name, and its escapes are those of the session with another sign.
            const escaped = encodeURIComponent(nameOf(name)).replace(/%5Cx(..)/g, '%$1');
            const child = Gio.File.new_for_uri(`${directory.get_uri()}/${escaped}`);
            if (this.directories.has(name)) {
                child.make_directory(null);
                this.exportEntries(name, child, counts);
            } else {
                const data = this.files.get(name);
                const stream = child.create(Gio.FileCreateFlags.NONE, null);
                stream.write_all(data, null);
                stream.close(null);
                counts.addFile(data.length);
            }
        }
    }

    vfunc_spawn(command, request) {
        this.calls.push('spawn');
        const [name, ...words] = command.get_argv();
        const cwd = command.get_cwd();
        if (command.get_limits() !== null || command.get_terminal())
            return this.fail(request, Sandbox.Error.NOT_SUPPORTED, 'No limits and no terminals here');
        if (!Object.hasOwn(programs, name)) {
            const code = this.files.has(name) ? Sandbox.Error.DENIED : Sandbox.Error.NOT_FOUND;
            return this.fail(request, code, `${name}: not a program`);
        }
        if (!this.directories.has(cwd)) {
            const code = this.files.has(cwd) ? Sandbox.Error.PATH : Sandbox.Error.NOT_FOUND;
            return this.fail(request, code, `${cwd}: not a directory`);
        }

        const process = new Process(this, command);
        this.live.add(process);
        if (name === 'cat' && command.wants_stdin_pipe())
            this.startChild(process);
        else
            this.start(process, programs[name], words);
        return this.reply(request, r => r.return_object(process));
    }

    start(process, program, words) {
        const status = program(process, ...words);
        if (typeof status === 'number')
            process.finish(status);
        else
            status.then(value => process.finish(value));
    }

    startChild(process) {
        const flags = Gio.SubprocessFlags.STDIN_PIPE | Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE;
        const child = new Gio.Subprocess({argv: ['cat'], flags});
        child.init(null);
        process.child = child;
        process.set_streams(child.get_stdin_pipe(), child.get_stdout_pipe(), child.get_stderr_pipe());
        child.wait_async(null, (source, result) => {
            child.wait_finish(result);
            process.finish(child.get_status());
        });
    }

    vfunc_set_network_policy(policy, request) {
        this.calls.push('set_network_policy');
        if (policy.get_mode() !== Sandbox.NetworkMode.DENY_ALL)
            return this.fail(request, Sandbox.Error.NETWORK_DENIED, 'There is no network here');
        return this.done(request);
    }

    vfunc_close(request) {
        this.calls.push('close');
        if (this.live.size === 0)
            return this.done(request);
        this.closing = request;
        for (const process of this.live)
            process.end(SIGKILL);
        return true;
    }
});

// A driver of real files: the workspace that the backend got answers every request about them, in C.
export const Local = GObject.registerClass({
    Implements: [Sandbox.Driver],
}, class Local extends GObject.Object {
    constructor(workspace) {
        super();
        this.workspace = workspace;
    }

    vfunc_read(path, offset, maximum, request) {
        return this.workspace.read(path, offset, maximum, request);
    }

    vfunc_write(path, data, mode, flags, request) {
        return this.workspace.write(path, data, mode, flags, request);
    }

    vfunc_remove(path, flags, request) {
        return this.workspace.remove(path, flags, request);
    }

    vfunc_list(path, maximum, request) {
        return this.workspace.list(path, maximum, request);
    }

    vfunc_query_info(path, request) {
        return this.workspace.query_info(path, request);
    }

    vfunc_make_directory(path, request) {
        return this.workspace.make_directory(path, request);
    }

    vfunc_move(from, to, request) {
        return this.workspace.move(from, to, request);
    }

    vfunc_open_read(path, request) {
        return this.workspace.open_read(path, request);
    }

    vfunc_open_write(path, request) {
        return this.workspace.open_write(path, request);
    }

    vfunc_import_tree(path, directory, request) {
        return this.workspace.import_tree(path, directory, request);
    }

    vfunc_export_tree(path, directory, request) {
        return this.workspace.export_tree(path, directory, request);
    }

    vfunc_close(request) {
        request.return_done();
        return true;
    }
});

// Made by the registry; the drivers that it makes are kept for the test, and answer in the manner that is set.
export const made = {answer: 'now', drivers: []};

export const Backend = GObject.registerClass(
class Backend extends Sandbox.Backend {
    vfunc_probe(profile, request) {
        const report = Sandbox.Report.new(Sandbox.Grade.PARTIAL);
        report.add_gap('Toys need no walls');
        request.return_object(report);
        return true;
    }

    vfunc_create_driver(options, workspace, request) {
        const network = options.get_network();
        if (network !== null && network.get_mode() !== Sandbox.NetworkMode.DENY_ALL)
            throw failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here');
        if (workspace !== null) {
            request.return_object(new Local(workspace));
            return true;
        }
        const driver = new Driver();
        driver.answer = made.answer;
        made.drivers.push(driver);
        request.return_object(driver);
        return true;
    }

    vfunc_plan(command, _options) {
        return `{"program": "${command.get_argv()[0]}"}`;
    }
});

export function promisify() {
    for (const call of ['probe', 'create'])
        Gio._promisify(Sandbox.Backend.prototype, `${call}_async`, `${call}_finish`);
    for (const call of ['stop', 'shutdown'])
        Gio._promisify(Sandbox.Handle.prototype, `${call}_async`, `${call}_finish`);
    for (const call of ['read_bytes', 'read_text', 'write_bytes', 'write_text', 'remove_path', 'list_directory', 'query_info',
        'make_directory', 'move', 'open_read', 'open_write', 'import_directory', 'export_directory', 'spawn', 'run',
        'set_network_policy'])
        Gio._promisify(Sandbox.Session.prototype, `${call}_async`, `${call}_finish`);
    for (const call of ['wait', 'communicate', 'stop'])
        Gio._promisify(Sandbox.Process.prototype, `${call}_async`, `${call}_finish`);
    Gio._promisify(Gio.InputStream.prototype, 'read_bytes_async', 'read_bytes_finish');
    Gio._promisify(Gio.InputStream.prototype, 'close_async', 'close_finish');
    Gio._promisify(Gio.OutputStream.prototype, 'write_bytes_async', 'write_bytes_finish');
    Gio._promisify(Gio.OutputStream.prototype, 'close_async', 'close_finish');
}
