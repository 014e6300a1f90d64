#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// A backend in JavaScript: a model to start from, and a program that uses it. It is the same as driver.py.
//
// JavaScript runs in one thread, so a host that has a driver of its own in JavaScript makes asynchronous calls only: below
// a synchronous one the driver's own promises and timers would wait for a main loop that does not run.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Sandbox from 'gi://Sandbox?version=1.0';

for (const call of ['probe', 'create'])
    Gio._promisify(Sandbox.Backend.prototype, `${call}_async`, `${call}_finish`);
for (const call of ['list_directory', 'make_directory', 'move', 'read_text', 'run', 'write_text'])
    Gio._promisify(Sandbox.Session.prototype, `${call}_async`, `${call}_finish`);
Gio._promisify(Sandbox.Handle.prototype, 'stop_async', 'stop_finish');

const failure = (code, message) => new GLib.Error(Sandbox.Error, code, message);
const encode = text => new TextEncoder().encode(text);
const parent = path => path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';

// One command. Its programs are promises of an exit status; they may write and have to watch for the kill.
const MemoryProcess = GObject.registerClass(
class MemoryProcess extends Sandbox.Process {
    // Asked to kill, it returns at once; that everything is dead is told by set_gone().
    vfunc_kill() {
        this.killed = true;
        this.wake?.();
        return true;
    }

    write(data) {
        this.push_stdout(new GLib.Bytes(data));
    }

    async start(program, driver, argv) {
        let status = 1;
        try {
            status = await program(this, driver, argv);
        } catch (error) {
            this.push_stderr(new GLib.Bytes(encode(`${error.message}\n`)));
        } finally {
            // Whatever happened, these come: without them nobody learns of the end. As waitpid() tells it, an exit status or
            // the number of the signal.
            this.set_exited(this.killed ? 9 : status << 8, 0, 0, 0);
            this.set_gone();
        }
    }
});

const programs = {
    async echo(process, driver, argv) {
        process.write(encode(`${argv.slice(1).join(' ')}\n`));
        return 0;
    },

    async cat(process, driver, argv) {
        for (const path of argv.slice(1)) {
            if (!driver.files.get(path))
                return 1;
            process.write(driver.files.get(path));
        }
        return 0;
    },

    async fail() {
        throw new Error('This program has an error');
    },

    async sleep(process, driver, argv) {
        await new Promise(resolve => {
            const source = GLib.timeout_add(GLib.PRIORITY_DEFAULT, Number(argv[1]) * 1000, () => {
                process.wake = null;
                resolve();
                return GLib.SOURCE_REMOVE;
            });
            process.wake = () => {
                process.wake = null;
                GLib.source_remove(source);
                resolve();
            };
        });
        return 0;
    },
};

// The driver: each function answers its request once, now or later, or throws.
const MemoryDriver = GObject.registerClass({
    Implements: [Sandbox.Driver],
}, class MemoryDriver extends GObject.Object {
    constructor() {
        super();
        // By path, which is checked and relative to the workspace: the content, or null for a directory.
        this.files = new Map([['.', null]]);
        this.processes = new Set();
    }

    find(path) {
        if (!this.files.has(path)) {
            this.checkDirectory(parent(path));
            throw failure(Sandbox.Error.NOT_FOUND, `There is no “${path}”`);
        }
        return this.files.get(path);
    }

    content(path) {
        const content = this.find(path);
        if (content === null)
            throw failure(Sandbox.Error.INVALID, `“${path}” is a directory`);
        return content;
    }

    checkDirectory(path) {
        if (this.find(path) !== null)
            throw failure(Sandbox.Error.PATH, `“${path}” is no directory`);
    }

    makeDirectories(path) {
        if (!this.files.has(path)) {
            this.makeDirectories(parent(path));
            this.files.set(path, null);
        }
        this.checkDirectory(path);
    }

    below(path) {
        return [...this.files.keys()].filter(name => name.startsWith(`${path}/`));
    }

    describe(path) {
        const content = this.find(path);
        const name = path.slice(path.lastIndexOf('/') + 1);
        const info = new Gio.FileInfo();
        info.set_name(name);
        info.set_display_name(name);
        info.set_file_type(content === null ? Gio.FileType.DIRECTORY : Gio.FileType.REGULAR);
        info.set_size(content?.length ?? 0);
        return info;
    }

    // What comes back is never more than was asked for.
    vfunc_read(path, offset, maximum, request) {
        request.return_bytes(new GLib.Bytes(this.content(path).slice(offset, offset + maximum)));
        return true;
    }

    vfunc_write(path, data, mode, flags, request) {
        if (this.files.has(path)) {
            this.content(path);
            if (flags & Sandbox.WriteFlags.EXCLUSIVE)
                throw failure(Sandbox.Error.EXISTS, `There is a “${path}” already`);
        } else if (flags & Sandbox.WriteFlags.PARENTS) {
            this.makeDirectories(parent(path));
        }
        this.checkDirectory(parent(path));
        this.files.set(path, data.toArray());
        request.return_done();
        return true;
    }

    vfunc_remove(path, flags, request) {
        const below = this.below(path);
        if (!(flags & Sandbox.RemoveFlags.MISSING_OK))
            this.find(path);
        if (below.length > 0 && !(flags & Sandbox.RemoveFlags.RECURSIVE))
            throw failure(Sandbox.Error.EXISTS, `“${path}” is not empty`);
        [path, ...below].forEach(name => this.files.delete(name));
        request.return_done();
        return true;
    }

    // These are optional: what is left out is refused by name, here open_write() and whole trees.
    vfunc_list(path, maximum, request) {
        this.checkDirectory(path);
        const names = [...this.files.keys()].filter(name => name !== '.' && parent(name) === path);
        const listing = Sandbox.Listing.new();
        names.slice(0, maximum).forEach(name => listing.add(this.describe(name)));
        listing.set_truncated(names.length > maximum);
        request.return_object(listing);
        return true;
    }

    vfunc_query_info(path, request) {
        request.return_object(this.describe(path));
        return true;
    }

    vfunc_make_directory(path, request) {
        if (this.files.has(path))
            throw failure(Sandbox.Error.EXISTS, `There is a “${path}” already`);
        this.makeDirectories(path);
        request.return_done();
        return true;
    }

    vfunc_move(origin, target, request) {
        this.find(origin);
        if (this.files.has(target))
            throw failure(Sandbox.Error.EXISTS, `There is a “${target}” already`);
        if (target.startsWith(`${origin}/`))
            throw failure(Sandbox.Error.INVALID, `“${origin}” cannot be moved into itself`);
        this.checkDirectory(parent(target));
        for (const name of [origin, ...this.below(origin)]) {
            this.files.set(target + name.slice(origin.length), this.files.get(name));
            this.files.delete(name);
        }
        request.return_done();
        return true;
    }

    vfunc_open_read(path, request) {
        request.return_object(Gio.MemoryInputStream.new_from_bytes(new GLib.Bytes(this.content(path))));
        return true;
    }

    // What cannot be enforced is refused by name before anything starts.
    vfunc_spawn(command, request) {
        const argv = command.get_argv();
        if (command.get_terminal() || command.get_limits() !== null)
            throw failure(Sandbox.Error.NOT_SUPPORTED, 'There are no terminals and no limits here');
        if (!Object.hasOwn(programs, argv[0]))
            throw failure(Sandbox.Error.NOT_FOUND, `There is no program “${argv[0]}”`);
        const process = new MemoryProcess();
        this.processes.add(process);
        request.return_object(process);
        process.start(programs[argv[0]], this, argv).finally(() => this.processes.delete(process));
        return true;
    }

    vfunc_set_network_policy(policy, request) {
        if (policy.get_mode() !== Sandbox.NetworkMode.DENY_ALL)
            throw failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here');
        request.return_done();
        return true;
    }

    vfunc_close(request) {
        this.processes.forEach(process => process.kill());
        request.return_done();
        return true;
    }
});

// The backend: a probe, and the maker of drivers.
const MemoryBackend = GObject.registerClass(
class MemoryBackend extends Sandbox.Backend {
    vfunc_probe(profile, request) {
        const report = Sandbox.Report.new(Sandbox.Grade.FULL);
        report.set_restrictions(Sandbox.Restrictions.NETWORK_DENIED | Sandbox.Restrictions.WRITE_CONTAINED |
            Sandbox.Restrictions.SECRETS_HIDDEN | Sandbox.Restrictions.PROCESS_CONTAINED);
        request.return_object(report);
        return true;
    }

    vfunc_create_driver(options, workspace, request) {
        const network = options.get_network();
        if (workspace !== null || options.get_profile() !== null)
            throw failure(Sandbox.Error.NOT_SUPPORTED, 'The workspace is in memory, and there is one view of it');
        if (network !== null && network.get_mode() !== Sandbox.NetworkMode.DENY_ALL)
            throw failure(Sandbox.Error.NETWORK_DENIED, 'There is no network here');
        request.return_object(new MemoryDriver());
        return true;
    }
});

// A host that uses it like any other.
const nick = (type, value) => Object.keys(type).find(key => type[key] === value).toLowerCase().replace('_', '-');

const registry = Sandbox.Registry.get_default();
registry.add_type('memory', 0, MemoryBackend.$gtype);
const backend = registry.create_backend('memory', null);
print(`probe: ${nick(Sandbox.Grade, (await backend.probe_async(null, null)).get_grade())}`);

const handle = await backend.create_async(new Sandbox.CreateOptions(), null);
const session = handle.get_session();
await session.write_text_async('greeting.txt', 'Hello from memory\n', null);
print(`read: ${(await session.read_text_async('/workspace/greeting.txt', null)).trim()}`);

await session.make_directory_async('letters', null);
await session.move_async('greeting.txt', 'letters/first.txt', null);
const listing = await session.list_directory_async('letters', null);
for (let i = 0; i < listing.get_n_items(); i++) {
    const info = listing.get_item(i);
    print(`list: ${info.get_name()} (${info.get_size()} bytes)`);
}

const shown = await session.run_async(new Sandbox.Command({argv: ['cat', 'letters/first.txt']}), null);
print(`cat: ${shown.dup_stdout_text().trim()} (exit status ${shown.get_exit_status()})`);

const started = GLib.get_monotonic_time();
const slept = await session.run_async(new Sandbox.Command({argv: ['sleep', '60'], timeoutMs: 200}), null);
print(`sleep: ${nick(Sandbox.Outcome, slept.get_outcome())} ${GLib.get_monotonic_time() - started < 5000000 ? 'early' : 'late'}`);

const failed = await session.run_async(new Sandbox.Command({argv: ['fail']}), null);
print(`fail: ${failed.dup_stderr_text().trim()} (exit status ${failed.get_exit_status()})`);

for (const argv of [['rm', '-rf', '/'], ['echo', 'x'.repeat(200000)]]) {
    await session.run_async(new Sandbox.Command({argv}), null).catch(error =>
        print(`${argv[0]}: ${nick(Sandbox.Error, error.code)} - ${error.message}`));
}

await handle.stop_async(null);
print('stopped');
