// SPDX-License-Identifier: LGPL-2.1-or-later

// A host and a driver in Vala. Every function of the interface that is not here is optional.

class ToyProcess : Sandbox.Process {
  public bool hangs;

  public override bool kill () throws Error {
    if (hangs) {
      set_exited (Posix.Signal.KILL, 0, 0, 0);
      set_gone ();
    }
    return true;
  }
}

class ToyDriver : Object, Sandbox.Driver {
  public HashTable<string, Bytes> files = new HashTable<string, Bytes> (str_hash, str_equal);
  public ToyProcess[] processes = {};
  public bool later;

  public bool read (string path, uint64 offset, uint64 max, Sandbox.Request request) throws Error {
    var bytes = files[path];

    if (bytes == null)
      throw new Sandbox.Error.NOT_FOUND ("%s: no such file", path);
    if (later)
      Idle.add (() => {
        request.return_bytes (bytes);
        return Source.REMOVE;
      });
    else
      request.return_bytes (bytes);
    return true;
  }

  public bool write (string path, Bytes bytes, uint mode, Sandbox.WriteFlags flags, Sandbox.Request request) throws Error {
    files[path] = bytes;
    request.return_done ();
    return true;
  }

  public bool remove (string path, Sandbox.RemoveFlags flags, Sandbox.Request request) throws Error {
    files.remove (path);
    request.return_done ();
    return true;
  }

  public bool spawn (Sandbox.Command command, Sandbox.Request request) throws Error {
    var process = new ToyProcess ();
    var argv = command.argv;

    if (argv[0] != "echo" && argv[0] != "hang")
      throw new Sandbox.Error.NOT_FOUND ("%s: no such program", argv[0]);
    process.hangs = argv[0] == "hang";
    processes += process;
    if (!process.hangs) {
      process.push_stdout (new Bytes (string.joinv (" ", argv[1:argv.length]).data));
      process.set_exited (0, 0, 0, 0);
      process.set_gone ();
    }
    request.return_object (process);
    return true;
  }

  public bool set_network_policy (Sandbox.NetworkPolicy policy, Sandbox.Request request) throws Error {
    request.return_done ();
    return true;
  }

  public bool close (Sandbox.Request request) throws Error {
    foreach (var process in processes)
      process.kill ();
    request.return_done ();
    return true;
  }
}

class ToyBackend : Sandbox.Backend {
  public static ToyDriver? last;

  public override bool create_driver (Sandbox.CreateOptions options, Sandbox.Workspace? workspace, Sandbox.Request request) throws Error {
    last = new ToyDriver ();
    request.return_object (last);
    return true;
  }
}

Sandbox.Registry registry;

Sandbox.Handle make_handle () throws Error {
  var backend = registry.create_backend ("vala-toys", null);

  assert (backend.name == "vala-toys");
  return backend.create (new Sandbox.CreateOptions (), null);
}

void test_files () {
  try {
    var handle = make_handle ();
    var session = handle.session;

    assert (session.write_text ("file", "text", null));
    assert (session.read_text ("/workspace/file", null) == "text");
    assert (session.write_bytes ("data", new Bytes ({ 0, 255, 7 }), null));
    assert (session.read_bytes ("data", null).compare (new Bytes ({ 0, 255, 7 })) == 0);
    assert (handle.stop (null));
    assert (handle.phase == Sandbox.Phase.STOPPED);
  } catch (Error error) {
    assert_not_reached ();
  }
}

void test_errors () {
  try {
    var handle = make_handle ();
    var session = handle.session;
    int caught = 0;

    try {
      session.read_text ("missing", null);
    } catch (Sandbox.Error.NOT_FOUND error) {
      caught++;
    }
    try {
      session.read_text ("../outside", null);
    } catch (Sandbox.Error.PATH error) {
      caught++;
    }
    try {
      var cancellable = new Cancellable ();
      cancellable.cancel ();
      session.read_text ("file", cancellable);
    } catch (IOError.CANCELLED error) {
      caught++;
    }
    try {
      session.run (new Sandbox.Command ({ "nothing" }), null);
    } catch (Sandbox.Error error) {
      assert (error is Sandbox.Error.NOT_FOUND);
      caught++;
    }
    assert (caught == 4);
    handle.shutdown (null);
  } catch (Error error) {
    assert_not_reached ();
  }
}

void test_run () {
  try {
    var handle = make_handle ();
    var command = new Sandbox.Command ({ "echo", "a", "b" });

    command.timeout_ms = 5000;
    command.stdin = null;
    command.limits = null;
    var result = handle.session.run (command, null);
    assert (result.outcome == Sandbox.Outcome.EXITED);
    assert (result.check ());
    assert (result.dup_stdout_text () == "a b");

    command = new Sandbox.Command ({ "hang" });
    command.timeout_ms = 50;
    assert (handle.session.run (command, null).outcome == Sandbox.Outcome.TIMED_OUT);
    handle.stop (null);
  } catch (Error error) {
    assert_not_reached ();
  }
}

async void work (MainLoop loop) throws Error {
  var backend = registry.create_backend ("vala-toys", null);
  var handle = yield backend.create_async (new Sandbox.CreateOptions (), null);
  var session = handle.session;

  ToyBackend.last.later = true;
  assert (yield session.write_text_async ("file", "later", null));
  assert ((yield session.read_text_async ("file", null)) == "later");

  var result = yield session.run_async (new Sandbox.Command ({ "echo", "x" }), null);
  assert (result.exit_status == 0);

  var process = yield session.spawn_async (new Sandbox.Command ({ "hang" }), null);
  assert (session.list_processes ().get_n_items () == 1);
  assert (process.result == null);
  assert (yield process.stop_async (null));
  assert (process.result.outcome == Sandbox.Outcome.STOPPED);

  var cancellable = new Cancellable ();
  Timeout.add (20, () => {
    cancellable.cancel ();
    return Source.REMOVE;
  });
  try {
    yield session.run_async (new Sandbox.Command ({ "hang" }), cancellable);
    assert_not_reached ();
  } catch (IOError.CANCELLED error) {
  }
  assert (yield handle.stop_async (null));
  loop.quit ();
}

void test_async () {
  var loop = new MainLoop ();

  work.begin (loop, (source, result) => {
    try {
      work.end (result);
    } catch (Error error) {
      assert_not_reached ();
    }
  });
  loop.run ();
}

void test_refused () {
  try {
    var driver = new ToyDriver ();
    var session = new Sandbox.Session.for_driver (driver);
    bool caught = false;

    assert (session.id.length == 64);
    assert (session.resolve_path (".") == "/workspace");
    try {
      registry.create_backend ("nothing of this name", null);
    } catch (Sandbox.Error.NOT_FOUND error) {
      caught = true;
    }
    assert (caught);
  } catch (Error error) {
    assert_not_reached ();
  }
}

int main (string[] args) {
  Test.init (ref args);
  registry = new Sandbox.Registry ();
  try {
    registry.add_type ("vala-toys", 1, typeof (ToyBackend));
  } catch (Error error) {
    return 1;
  }

  Test.add_func ("/vala/files", test_files);
  Test.add_func ("/vala/errors", test_errors);
  Test.add_func ("/vala/run", test_run);
  Test.add_func ("/vala/async", test_async);
  Test.add_func ("/vala/refused", test_refused);

  return Test.run ();
}
