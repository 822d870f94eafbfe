package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fillAll(s string, b Binding) string {
	return strings.Join(ParseCommand([]string{s}, nil).Argv(b), "\x00")
}

func TestPlaceholdersAreFilled(t *testing.T) {
	b := Binding{
		Params: params("lr", 1e-5, "model.name", "a b", "+opt", true, "weight-decay", 0.1, "brace", "{lr} {{x}} {seed}"),
		Seed:   7,
		Host: func(name string) (string, bool) {
			return map[string]string{"xrun.out": "/o ut", "data.corpus": "/data/{lr}"}[name], name == "xrun.out" || name == "data.corpus"
		},
	}
	for in, want := range map[string]string{
		"--lr={lr}":                        "--lr=1e-05",
		"{lr}{lr}":                         "1e-051e-05",
		"{model.name}/{seed}":              "a b/7",
		"{+opt} {weight-decay}":            "true 0.1",
		"{xrun.out}/x":                     "/o ut/x",
		"{data.corpus}":                    "/data/{lr}",
		"{brace}":                          "{lr} {{x}} {seed}",
		"{{lr}}":                           "{lr}",
		"{{{lr}}}":                         "{1e-05}",
		"a}}b{{c":                          "a}b{c",
		"{print $1}":                       "{print $1}",
		`awk '{print $1}' {lr}`:            `awk '{print $1}' 1e-05`,
		"{":                                "{",
		"}":                                "}",
		"{}":                               "{}",
		"{ lr }":                           "{ lr }",
		"{lr":                              "{lr",
		"{xrun.nothing}":                   "{xrun.nothing}",
		"":                                 "",
		"{params} x":                       "{params} x",
		`{"lr": {lr}, "seed": {seed}}`:     `{"lr": 1e-05, "seed": 7}`,
		"{9lr}{lr}":                        "{9lr}1e-05",
		"\xff{lr}\x00":                     "\xff1e-05\x00",
		"${HOME} is not ours but looks so": "${HOME} is not ours but looks so",
	} {
		if got := fillAll(in, b); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestParamsBecomeOneArgumentEachSortedByName(t *testing.T) {
	c := ParseCommand([]string{"p", "{params}", "--", "{params:--}"}, map[string]string{"B": "{lr}", "A": "x{seed}"})
	b := Binding{Params: params("lr", 0.1, "b{", "v}", "a", "x y"), Seed: 3}
	want := []string{"p", "a=x y", "b{=v}", "lr=0.1", "--", "--a=x y", "--b{=v}", "--lr=0.1"}
	if diff := cmp.Diff(want, c.Argv(b)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"A=x3", "B=0.1"}, c.Env(b)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"p", "--"}, c.Argv(Binding{})); diff != "" {
		t.Errorf("a point without parameters: %s", diff)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{lr}", "{{lr}}", "awk '{print $1}'", "{params}", "{params:--}", "a{b}c{{d}}e", "{xrun.out}", "}}{{", "{{{", "{seed}{", `{"a": {"b": 1}}`, "{+x}"} {
		f.Add(s, "v")
		f.Add("x{a}y", s)
	}
	f.Fuzz(func(t *testing.T, s, value string) {
		b := Binding{Params: Params{{"a", StringValue(value)}}, Seed: 1}
		c := ParseCommand([]string{s}, map[string]string{"E": s})
		c.Argv(b)
		// Doubled braces make any text a literal.
		if got := fillAll(braceDoubler.Replace(s), b); got != s {
			t.Fatalf("the literal %q becomes %q", s, got)
		}
		// A value goes in as it is, braces and all.
		if got := fillAll("<{a}>{a}", b); got != "<"+value+">"+value {
			t.Fatalf("the value %q becomes %q", value, got)
		}
		// What is hashed is a template of the same text, and one that a second filling does not change.
		var exact []string
		c.eachArg(&b, b.Params, true, nil, func(item []byte) { exact = append(exact, string(item)) })
		for i, e := range exact {
			if got := fillAll(e, Binding{}); i < len(c.Argv(b)) && got != c.Argv(b)[i] && !strings.Contains(s, "params") {
				t.Fatalf("%q is hashed as %q, which reads %q and not %q", s, e, got, c.Argv(b)[i])
			}
		}
		// Text without braces is text.
		plain := strings.NewReplacer("{", "", "}", "").Replace(s)
		if got := fillAll(plain, b); got != plain {
			t.Fatalf("%q becomes %q", plain, got)
		}
	})
}

func TestEnvironmentNamesOfParameters(t *testing.T) {
	for name, want := range map[string]string{"lr": "XRUN_PARAM_LR", "model.lr": "XRUN_PARAM_MODEL_LR", "+a-b/c@1": "XRUN_PARAM__A_B_C_1", "Ä": "XRUN_PARAM__"} {
		if got := EnvName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
