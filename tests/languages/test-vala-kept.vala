// SPDX-License-Identifier: LGPL-2.1-or-later

// Sessions that last, as a host in Vala sees them, over bubblewrap.

string place;

Sandbox.Backend make_backend () throws Error {
  return new Sandbox.Registry ().create_backend ("bubblewrap", place);
}

Sandbox.FileSet make_files () throws Error {
  var files = new Sandbox.FileSet ();

  files.add ("made/by hand", new Bytes ("bytes".data));
  return files;
}

Sandbox.CreateOptions from_template (Sandbox.Template template) {
  var options = new Sandbox.CreateOptions ();

  options.template_key = template.key;
  options.labels = new Variant.parsed ("{'project': 'x'}");
  return options;
}

Sandbox.CreateOptions from_state (Sandbox.State state) {
  var options = new Sandbox.CreateOptions ();

  options.state = state;
  return options;
}

void test_sync () {
  try {
    var backend = make_backend ();
    var template = backend.prewarm ("kit", make_files (), null);
    assert (!template.reused && template.key.length == 64);
    assert (backend.list_templates (null).get_n_items () == 1);

    var handle = backend.create (from_template (template), null);
    assert (handle.session.run (new Sandbox.Command ({ "cp", "made/by hand", "kept" }), null).exit_status == 0);
    var text = handle.capture_state ().to_json ();
    assert (handle.stop (null));

    var other = make_backend ();
    var state = new Sandbox.State.from_json (text);
    var listed = (Sandbox.State) other.list_sessions (null).get_item (0);
    assert (listed.session_id == state.session_id);
    assert (listed.labels.lookup_value ("project", null).get_string () == "x");
    handle = other.create (from_state (state), null);
    assert (handle.session.read_text ("kept", null) == "bytes");
    bool busy = false;
    try {
      backend.create (from_state (state), null);
    } catch (Sandbox.Error.BUSY error) {
      busy = true;
    }
    assert (busy);
    assert (handle.delete (null));
    assert (handle.phase == Sandbox.Phase.DELETED);

    handle = other.create (from_template (template), null);
    state = handle.capture_state ();
    assert (handle.shutdown (null));
    assert (other.delete_session (state, null));
    assert (other.delete_template (template.key, null));
  } catch (Error error) {
    Test.message ("%s", error.message);
    assert_not_reached ();
  }
}

async void work (MainLoop loop) throws Error {
  var backend = make_backend ();
  var template = yield backend.prewarm_async ("kit", make_files (), null);
  var handle = yield backend.create_async (from_template (template), null);
  var state = handle.capture_state ();

  assert ((yield backend.list_templates_async (null)).get_n_items () == 1);
  assert (yield handle.stop_async (null));
  assert ((yield backend.list_sessions_async (null)).get_n_items () == 1);
  handle = yield backend.create_async (from_state (state), null);
  assert ((yield handle.session.read_text_async ("made/by hand", null)) == "bytes");
  assert (yield handle.delete_async (null));
  handle = yield backend.create_async (from_template (template), null);
  state = handle.capture_state ();
  assert (yield handle.shutdown_async (null));
  assert (yield backend.delete_session_async (state, null));
  assert (yield backend.delete_template_async (template.key, null));
  loop.quit ();
}

void test_async () {
  var loop = new MainLoop ();

  work.begin (loop, (source, result) => {
    try {
      work.end (result);
    } catch (Error error) {
      Test.message ("%s", error.message);
      assert_not_reached ();
    }
  });
  loop.run ();
}

int main (string[] args) {
  Test.init (ref args);
  try {
    place = DirUtils.make_tmp ("vala-XXXXXX");
  } catch (Error error) {
    return 1;
  }

  Test.add_func ("/vala-kept/sync", test_sync);
  Test.add_func ("/vala-kept/async", test_async);
  int status = Test.run ();
  Posix.system ("rm -r -- '%s'".printf (place));

  return status;
}
