package plan

import "testing"

func TestTheKeyOfASetupIsWhatItDependsOn(t *testing.T) {
	e := Experiment{
		Setup: &Setup{Command: []string{"uv", "sync"}},
		Env:   map[string]string{"VENV": "{xrun.setup}/venv", "LR": "{lr}", "SEED": "{seed}", "BRACE": "{print $1}"},
		Sweep: &Sweep{Grid: Axes{{Name: "lr"}}},
	}
	if env := e.SetupEnv(); len(env) != 2 || env["VENV"] == "" || env["BRACE"] == "" {
		t.Errorf("%v", env)
	}
	parts := Parts{"setup": "a", "setup: uv.lock": "b", "command": "c", "env": "d"}
	key := e.SetupKey(parts)
	same := func(change func()) bool {
		change()
		return e.SetupKey(parts) == key
	}
	if !same(func() { parts["command"], parts["env"] = "x", "y" }) || !same(func() { e.Env["LR"] = "lr is {lr}" }) {
		t.Error("another parameter is another setup")
	}
	if same(func() { parts["setup: uv.lock"] = "x" }) {
		t.Error("another key file is the same setup")
	}
	key = e.SetupKey(parts)
	if same(func() { e.Env["VENV"] = "elsewhere" }) {
		t.Error("another environment is the same setup")
	}
}
