#!/usr/bin/env -S gjs -m
// SPDX-License-Identifier: LGPL-2.1-or-later
// A tour of the library in JavaScript, with promises: a template of real files, a session made from it, work, files in and
// out, another process that goes on with it, the end. demo.c and demo.py take the same tour with calls that wait, which
// JavaScript has as well; commands.js shows how commands run and end.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Sandbox from 'gi://Sandbox?version=1.0';
import System from 'system';

for (const call of ['create', 'delete_template', 'list_sessions', 'list_templates', 'prewarm'])
    Gio._promisify(Sandbox.Backend.prototype, `${call}_async`, `${call}_finish`);
for (const call of ['delete', 'stop'])
    Gio._promisify(Sandbox.Handle.prototype, `${call}_async`, `${call}_finish`);
for (const call of ['open_read', 'read_bytes', 'read_text', 'run', 'write_bytes', 'write_text'])
    Gio._promisify(Sandbox.Session.prototype, `${call}_async`, `${call}_finish`);
Gio._promisify(Gio.InputStream.prototype, 'read_bytes_async', 'read_bytes_finish');
Gio._promisify(Gio.Subprocess.prototype, 'communicate_utf8_async', 'communicate_utf8_finish');

const STREAM_BYTES = 20000000;

// What development packages put on every machine; together more than a thousand files
const DIRECTORIES = ['/usr/include/linux', '/usr/include/asm-generic', '/usr/include/glib-2.0', '/usr/include/json-glib-1.0'];

const COUNT_PROGRAM = `\
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
static int n;
static int count (const char *path, const struct stat *st, int type, struct FTW *ftw) { n += type != FTW_D; return 0; }
int main (void) { nftw ("files", count, 16, FTW_PHYS); printf ("%d\\n", n); }
`;

function expect(fact, words) {
    if (!fact)
        throw new Error(`this is not true: ${words}`);
}

// What a command printed, without the last newline. One that fails ends the tour.
async function run(session, ...argv) {
    const result = await session.run_async(new Sandbox.Command({argv}), null);
    try {
        result.check();
    } catch (error) {
        throw new Error(`${argv[0]}: ${result.dup_stderr_text()}${error.message}`);
    }
    return result.dup_stdout_text().trimEnd();
}

async function makeTemplate(backend) {
    print('\n1. A template of real files');
    const files = new Sandbox.FileSet();
    for (const directory of DIRECTORIES) {
        files.add_directory(`files/${GLib.path_get_basename(directory)}`, Gio.File.new_for_path(directory));
        print(`  ${directory}`);
    }
    const nFiles = files.nFiles;
    files.add('count.c', new TextEncoder().encode(COUNT_PROGRAM));
    expect(nFiles >= 1000, 'these directories have a thousand files');

    const template = await backend.prewarm_async('tour', files, null);
    print(`  ${nFiles} files, ${Math.floor(files.totalBytes / 1024)} KiB: template ${template.key.slice(0, 12)}…`);

    const again = await backend.prewarm_async('tour', files, null);
    expect(again.reused && again.key === template.key, 'the same files are the same template');
    print('  the same files again: the same template, reused');
    return [template, nFiles];
}

async function create(backend, template) {
    print('\n2. A session made from it');
    const started = GLib.get_monotonic_time();
    const handle = await backend.create_async(new Sandbox.CreateOptions({templateKey: template.key}), null);
    const ms = Math.floor((GLib.get_monotonic_time() - started) / 1000);
    print(`  made in ${ms} ms; its files are in ${handle.session.workspacePath}`);
    return handle;
}

async function work(session, nFiles) {
    await run(session, 'gcc', '-O2', '-Wall', '-o', 'count', 'count.c');
    const counted = await run(session, './count');
    expect(counted === `${nFiles}`, 'the session has all files of the template');
    print(`  gcc: a program in C, compiled and run in there, counts ${counted} files`);

    await run(session, 'git', 'init', '-q');
    await run(session, 'git', 'add', 'files');
    await run(session, 'git', '-c', 'user.name=Tourist', '-c', 'user.email=tourist@example.org', 'commit', '-qm', 'From the tour');
    const commit = await run(session, 'git', 'rev-parse', 'HEAD');
    const committed = await run(session, 'sh', '-c', 'git ls-tree -r --name-only HEAD | wc -l');
    expect(committed === `${nFiles}`, 'git has committed all files');
    print(`  git: init, add, commit; commit ${commit.slice(0, 12)} has ${committed} files`);
}

// The SHA-256 and the size of a file of any size in the workspace, which is never in memory as a whole.
async function digestOf(session, path) {
    const checksum = new GLib.Checksum(GLib.ChecksumType.SHA256);
    const stream = await session.open_read_async(path, null);
    let size = 0;
    for (;;) {
        const chunk = await stream.read_bytes_async(1 << 20, GLib.PRIORITY_DEFAULT, null);
        if (chunk.get_size() === 0)
            return [checksum.get_string(), size];
        checksum.update(chunk.toArray());
        size += chunk.get_size();
    }
}

async function exchangeFiles(session) {
    print('\n3. What goes in and comes out');
    const greeting = 'Grüße aus JavaScript\n';
    await session.write_text_async('notes.txt', greeting, null);
    const seen = await run(session, 'cat', 'notes.txt');
    const back = await session.read_text_async('notes.txt', null);
    expect(back === greeting && greeting === `${seen}\n`, 'text comes back as it went in');
    print(`  text: “${seen}” comes back as it went in`);

    const everyByte = new GLib.Bytes(Uint8Array.from({length: 256}, (_, i) => i));
    await session.write_bytes_async('bytes', everyByte, null);
    const bytesBack = await session.read_bytes_async('/workspace/bytes', null);
    expect(bytesBack.equal(everyByte), 'bytes come back as they went in');
    print('  bytes: each of the 256 comes back as it went in');

    const summed = await run(session, 'sh', '-c', `head -c ${STREAM_BYTES} /dev/urandom | tee stream | sha256sum`);
    const [digest, size] = await digestOf(session, 'stream');
    expect(size === STREAM_BYTES && summed.startsWith(digest), 'the stream gives what the command has made');
    print(`  stream: ${size} bytes made in there, streamed out here, with the same SHA-256`);
    return digest;
}

const attach = (backend, state) => backend.create_async(new Sandbox.CreateOptions({state}), null);

async function showRefusal(backend, state, name, words) {
    const error = await attach(backend, state).then(() => null, reason => reason);
    expect(error?.matches?.(Sandbox.Error, Sandbox.Error[name]), words);
    print(`  ${words}: ${name}, “${error.message}”`);
}

// Gives the session to another process, and waits for that.
async function handOver(backend, handle, digest) {
    print('\n4. Stopped, and taken up by another process');
    const state = handle.capture_state();
    await showRefusal(backend, state, 'BUSY', 'a session has one owner');

    await handle.stop_async(null);
    const json = state.to_json();
    print(`  stopped; this is all that has to be kept:\n${json}`);

    const [script] = GLib.filename_from_uri(import.meta.url);
    const second = Gio.Subprocess.new(['gjs', '-m', script, '--attach', backend.stateDirectory, json, digest],
        Gio.SubprocessFlags.STDOUT_PIPE);
    const [said] = await second.communicate_utf8_async(null, null);
    expect(second.get_successful(), 'the other process has found everything');
    print(said.trimEnd());
    return state;
}

// The other process: all it knows of the session is where such sessions are, and the state.
async function secondProcess(stateDirectory, json, digest) {
    const state = Sandbox.State.new_from_json(json);
    const backend = Sandbox.Registry.get_default().create_backend(state.backend, stateDirectory);
    const handle = await attach(backend, state);
    const notes = await handle.session.read_text_async('notes.txt', null);
    expect(notes.startsWith('Grüße'), 'the notes are there');
    expect(await run(handle.session, 'git', 'log', '-1', '--format=%s') === 'From the tour', 'the commit is there');
    const [found, size] = await digestOf(handle.session, 'stream');
    expect(found === digest && size === STREAM_BYTES, 'the stream is there');
    print(`  another process has taken it up, and found the notes, the commit and the ${size} bytes`);
    await handle.stop_async(null);
}

async function end(backend, handle, template, state) {
    print('\n5. The end');
    await handle.delete_async(null);
    await showRefusal(backend, state, 'NOT_FOUND', 'the session is deleted');

    await backend.delete_template_async(template.key, null);
    const sessions = await backend.list_sessions_async(null);
    const templates = await backend.list_templates_async(null);
    expect(sessions.get_n_items() === 0 && templates.get_n_items() === 0, 'everything is deleted');
    print('  the template is deleted too, and no other is left');
    Gio.Subprocess.new(['rm', '-r', backend.stateDirectory], Gio.SubprocessFlags.NONE).wait_check(null);
}

async function tour() {
    print('A tour of sandbox-glib, in JavaScript');
    const backend = Sandbox.Registry.get_default().create_backend('bubblewrap', GLib.Dir.make_tmp('sandbox-tour-XXXXXX'));
    const [template, nFiles] = await makeTemplate(backend);
    const handle = await create(backend, template);
    await work(handle.session, nFiles);
    const digest = await exchangeFiles(handle.session);
    const state = await handOver(backend, handle, digest);
    await end(backend, handle, template, state);
}

// An await out here would do as well, but gjs 1.74 turns the processor in circles while it waits there.
const loop = new GLib.MainLoop(null, false);
const [option, ...values] = System.programArgs;
let status = 0;
(option === '--attach' ? secondProcess(...values) : tour()).catch(error => {
    printerr(`The tour ends here: ${error.message}`);
    status = 1;
}).finally(() => loop.quit());
loop.run();
System.exit(status);
