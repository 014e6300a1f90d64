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
for (const call of ['read_text', 'run', 'write_text'])
    Gio._promisify(Sandbox.Session.prototype, `${call}_async`, `${call}_finish`);
Gio._promisify(Sandbox.Handle.prototype, 'stop_async', 'stop_finish');

const failure = (code, message) => new GLib.Error(Sandbox.Error, code, message);
const encode = text => new TextEncoder().encode(text);

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
        const status = await program(this, driver, argv);
        // As waitpid() tells it: an exit status, or the number of the signal.
        this.set_exited(this.killed ? 9 : status << 8, 0, 0, 0);
        this.set_gone();
    }
});

const programs = {
    async echo(process, driver, argv) {
        process.write(encode(`${argv.slice(1).join(' ')}\n`));
        return 0;
    },

    async cat(process, driver, argv) {
        for (const path of argv.slice(1)) {
            if (!driver.files.has(path))
                return 1;
            process.write(driver.files.get(path));
        }
        return 0;
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
        this.files = new Map();
        this.processes = new Set();
    }

    // Paths are checked and relative to the workspace. What comes back is never more than was asked for.
    vfunc_read(path, offset, maximum, request) {
        if (!this.files.has(path))
            throw failure(Sandbox.Error.NOT_FOUND, `There is no file “${path}”`);
        request.return_bytes(new GLib.Bytes(this.files.get(path).slice(offset, offset + maximum)));
        return true;
    }

    vfunc_write(path, data, mode, flags, request) {
        if (flags & Sandbox.WriteFlags.EXCLUSIVE && this.files.has(path))
            throw failure(Sandbox.Error.EXISTS, `There is a file “${path}” already`);
        this.files.set(path, data.toArray());
        request.return_done();
        return true;
    }

    vfunc_remove(path, flags, request) {
        if (!this.files.delete(path) && !(flags & Sandbox.RemoveFlags.MISSING_OK))
            throw failure(Sandbox.Error.NOT_FOUND, `There is no file “${path}”`);
        request.return_done();
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

const shown = await session.run_async(new Sandbox.Command({argv: ['cat', 'greeting.txt']}), null);
print(`cat: ${shown.dup_stdout_text().trim()} (exit status ${shown.get_exit_status()})`);

const started = GLib.get_monotonic_time();
const slept = await session.run_async(new Sandbox.Command({argv: ['sleep', '60'], timeoutMs: 200}), null);
print(`sleep: ${nick(Sandbox.Outcome, slept.get_outcome())} ${GLib.get_monotonic_time() - started < 5000000 ? 'early' : 'late'}`);

for (const argv of [['rm', '-rf', '/'], ['echo', 'x'.repeat(200000)]]) {
    await session.run_async(new Sandbox.Command({argv}), null).catch(error =>
        print(`${argv[0]}: ${nick(Sandbox.Error, error.code)} - ${error.message}`));
}

await handle.stop_async(null);
print('stopped');
