package specfile_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xrun-dev/xrun/internal/plan"
	"github.com/xrun-dev/xrun/internal/plan/specfile"
	"github.com/xrun-dev/xrun/schema"
)

// load loads what must be good.
func load(t *testing.T, o specfile.Options) *plan.Spec {
	t.Helper()
	s, err := specfile.Load(t.Context(), o)
	if problems, ok := errors.AsType[specfile.Problems](err); ok {
		var b strings.Builder
		_ = specfile.Render(&b, problems, false)
		t.Fatalf("problems:\n%s", b.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// minimal is an experiment without anything to spare.
const minimal = `schema.#Experiment & {command: ["x"], objective: {metric: "m", direction: "minimize"}}`

// open is one without a command.
const open = `schema.#Experiment & {objective: {metric: "m", direction: "minimize"}}`

func spec(body string) string {
	return "package exp\n\nimport \"github.com/xrun-dev/xrun/schema\"\n\n" + body + "\n"
}

func experimentNames(s *plan.Spec) []string {
	var names []string
	for _, e := range s.Experiments {
		names = append(names, e.Name)
	}
	return names
}

func hostNames(s *plan.Spec) []string {
	var names []string
	for _, h := range s.Hosts {
		names = append(names, h.Name)
	}
	return names
}

func experiment(t *testing.T, s *plan.Spec, name string) *plan.Experiment {
	t.Helper()
	i := slices.Index(experimentNames(s), name)
	if i < 0 {
		t.Fatalf("no experiment %s in %v", name, experimentNames(s))
	}
	return &s.Experiments[i]
}

func TestJobsOfEveryKindLoad(t *testing.T) {
	dir, err := filepath.Abs("testdata/jobs")
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, specfile.Options{Dir: dir})
	want := []string{"vision", "improve", "compare", "score-all", "adapter", "optimizer", "pretrain", "finetune", "search"}
	if diff := cmp.Diff(want, experimentNames(s)); diff != "" {
		t.Errorf("experiments are not in the order of the source:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"lab1", "lab2", "slurm", "lab3"}, hostNames(s)); diff != "" {
		t.Error(diff)
	}
	vision := experiment(t, s, "vision")
	if got := vision.Sweep.Grid; len(got) != 2 || got[0].Name != "rate" || got[0].Range.From.Text() != "0.0001" || got[1].Values[1].Text() != "128" {
		t.Errorf("grid = %+v", got)
	}
	if diff := cmp.Diff(plan.Seeds{0, 1, 2}, vision.Seeds); diff != "" {
		t.Error(diff)
	}
	if vision.Needs.GPUMemory != 40e9 || vision.Limits.Silence.String() != "15m" || vision.Metrics["peak_vram_mb"].AtMost.Text() != "40000" {
		t.Errorf("needs %+v, limits %+v, metrics %+v", vision.Needs, vision.Limits, vision.Metrics)
	}
	loop := experiment(t, s, "improve").Loop
	if loop.Stop.Crashes != 5 || loop.Stop.NoChange != 3 || loop.Stop.Wall.String() != "8h" || *loop.Stop.USD != 12.5 {
		t.Errorf("stop = %+v", loop.Stop)
	}
	if got := experiment(t, s, "score-all").Needs.GPUModel; !slices.Equal(got, []string{"A100"}) {
		t.Errorf("gpu_model = %q, want a list of one", got)
	}
	if got := experiment(t, s, "search").Sweep; !got.Canary.Off || got.Random.Params[0].Name != "rate" || got.Random.Seed != 7 || got.EarlyStop.MinStep.Text() != "3" {
		t.Errorf("sweep = %+v", got)
	}
	optimizer := experiment(t, s, "optimizer").Sweep
	if got := optimizer.Cases[0]; got[0].Name != "opt.name" || len(got[0].Values) != 1 || len(got[1].Values) != 2 {
		t.Errorf("cases = %+v", optimizer.Cases)
	}
	if got := optimizer.Exclude[0]; got[0].Values[0].Text() != "adam" || got[1].Values[0].Text() != "0.1" {
		t.Errorf("exclude = %+v", optimizer.Exclude)
	}
	if s.Settings.Overlap != "wait" || *s.Settings.Budget.GPUHours != 64 {
		t.Errorf("settings = %+v", s.Settings)
	}
	if got := s.Hosts[1].GPUs; got.Auto || len(got.List) != 2 || got.List[1].Text() != "2" {
		t.Errorf("gpus = %+v", got)
	}
}

// A team's own template may have defaults: the schema has none that would cancel them.
func TestTemplateDefaultsWork(t *testing.T) {
	dir, _ := filepath.Abs("testdata/jobs")
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"7-pipeline.cue"}})
	if got := experiment(t, s, "finetune"); got.Limits.Trial.String() != "6h" || got.Needs.GPUs != 1 {
		t.Errorf("finetune: limits %v, needs %v", got.Limits, got.Needs)
	}
	if got := experiment(t, s, "pretrain"); got.Limits.Trial.String() != "24h" {
		t.Errorf("pretrain: limits %v", got.Limits)
	}
}

// Integers beyond 2^53 stay exact, numbers need no float literal, a quoted number stays a string.
func TestNumbersStayExact(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec(`experiments: a: `+open+` & {
	command: ["x", "{lr}", "{b}"]
	seeds: [9007199254740993, -1]
	sweep: grid: {lr: [0.1, 1, 1e-4, 1/3, 1.50, 9007199254740993, 123456789012345678901234567890], b: ["yes", "1e-4", true]}
}`))
	e := experiment(t, load(t, specfile.Options{Dir: dir}), "a")
	var got []string
	for _, a := range e.Sweep.Grid {
		for _, v := range a.Values {
			got = append(got, v.String())
		}
	}
	want := []string{"0.1", "1", "0.0001", "0.3333333333333333", "1.5", "9007199254740993", "123456789012345678901234567890", "yes", `"1e-4"`, "true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if e.Seeds[0] != 9007199254740993 || e.Seeds[1] != -1 {
		t.Errorf("seeds = %v", e.Seeds)
	}
}

func TestOrderOfTheSourceIsKept(t *testing.T) {
	dir := tree(t, "-- b.cue --\n"+spec(`experiments: {
	for n in ["z", "m", "a"] {"e-\(n)": `+minimal+`}
}
experiments: beta: `+open+` & {command: ["{zeta}{alpha}"], sweep: grid: zeta: [1]}
experiments: beta: sweep: grid: alpha: [1]`)+"-- c.cue --\n"+spec(`experiments: alpha: `+minimal)+"-- a.cue --\n"+spec(`experiments: omega: `+minimal))
	s := load(t, specfile.Options{Dir: dir})
	if diff := cmp.Diff([]string{"omega", "e-z", "e-m", "e-a", "beta", "alpha"}, experimentNames(s)); diff != "" {
		t.Error(diff)
	}
	if g := experiment(t, s, "beta").Sweep.Grid; g[0].Name != "zeta" || g[1].Name != "alpha" {
		t.Errorf("grid = %v", g)
	}
}

func TestSetHoldsWhatTheSpecSays(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec(`experiments: a: `+open+` & {
	seeds: 2
	limits: trial: "5m"
	sweep: {grid: "opt.lr": [1], max_trials: 5}
	command: ["true", "{params}"]
}`))
	got := experiment(t, load(t, specfile.Options{Dir: dir}), "a").Set
	want := map[string]bool{
		"command": true, "objective": true, "objective.metric": true, "objective.direction": true, "seeds": true,
		"limits": true, "limits.trial": true, "sweep": true, "sweep.grid": true, "sweep.grid.opt.lr": true, "sweep.max_trials": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRootFilesAndDir(t *testing.T) {
	dir := tree(t, "-- lib/lib.cue --\npackage lib\n\ntext: \"x\"\n-- exp/common.cue --\n"+spec("_m: "+minimal)+
		"-- exp/sub/exp.cue --\npackage exp\n\nimport \"example.com/repo/lib\"\n\nexperiments: a: _m & {description: lib.text}\n"+
		"-- cue.mod/module.cue --\nmodule: \"example.com/repo@v0\"\nlanguage: version: \"v0.17.0\"\n")
	s := load(t, specfile.Options{Dir: filepath.Join(dir, "exp"), Paths: []string{"sub"}})
	if s.Root != dir {
		t.Errorf("Root = %s, want %s", s.Root, dir)
	}
	if got, want := experiment(t, s, "a").Dir, filepath.Join(dir, "exp", "sub"); got != want {
		t.Errorf("Dir = %s, want %s", got, want)
	}
	var files []string
	for _, f := range s.Files {
		files = append(files, f.File)
		if len(f.SHA256) != 64 {
			t.Errorf("%s: sha256 %q", f.File, f.SHA256)
		}
	}
	want := []string{"exp/common.cue", "exp/sub/exp.cue", "lib/lib.cue"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	if len(s.AbsFiles) != 3 || s.AbsFiles[0] != filepath.Join(dir, "exp", "common.cue") {
		t.Errorf("AbsFiles = %q", s.AbsFiles)
	}
}

// The schema of the binary counts, wherever the repository says that it comes from.
func TestSchemaIsFoundInEveryModule(t *testing.T) {
	const (
		module = "-- cue.mod/module.cue --\nmodule: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\n"
		good   = "-- exp/exp.cue --\n"
	)
	stale := "package schema\n\n#Experiment: {old!: int}\n#Experiments: [string]: #Experiment\n"
	for name, files := range map[string]string{
		"none":         "",
		"no copy":      module,
		"a stale copy": module + "-- cue.mod/pkg/github.com/xrun-dev/xrun/schema/schema.cue --\n" + stale,
		"a dependency": module + "deps: \"github.com/xrun-dev/xrun@v0\": v: \"v0.7.3\"\n",
		"its own":      "-- cue.mod/module.cue --\nmodule: \"github.com/xrun-dev/xrun@v0\"\nlanguage: version: \"v0.17.0\"\n-- schema/schema.cue --\n" + stale,
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, files+good+spec("experiments: a: "+minimal))
			load(t, specfile.Options{Dir: dir, Paths: []string{"exp"}})
			load(t, specfile.Options{Dir: filepath.Join(dir, "exp")})
			load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}})
			dir = tree(t, files+good+"package exp\n\nexperiments: a: {command: [\"x\"], objectiv: {}}\n")
			if got := messages(t, specfile.Options{Dir: dir, Paths: []string{"exp"}}); !strings.Contains(got, `unknown field "objectiv"`) {
				t.Errorf("a package that does not import the schema is not checked:\n%s", got)
			}
		})
	}
}

// The schema's own package is not an experiment, nor are the other CUE files of a repository.
func TestOtherPackagesAreNotOurs(t *testing.T) {
	dir := tree(t, "-- exp/exp.cue --\n"+spec("experiments: a: "+minimal)+"-- k8s/deploy.cue --\npackage deploy\n\nreplicas: 3 & 4\n"+
		"-- broken/b.cue --\npackage b\n\nimport \"example.com/none\"\n\nx: none.y\n-- .hidden/x.cue --\npackage x\n\nexperiments: 3\n"+
		"-- .xrun/x.cue --\npackage x\n\nexperiments: 3\n-- cue.mod/pkg/x.cue --\npackage x\n\nexperiments: 3\n-- schema/schema.cue --\n"+schema.Source)
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}})
	if got := experimentNames(s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("experiments = %q", got)
	}
	if len(s.Files) != 1 {
		t.Errorf("files = %v", s.Files)
	}
}

func TestPathsFormOnePlan(t *testing.T) {
	dir := tree(t, "-- a/exp.cue --\n"+spec("experiments: a: "+minimal+"\nhosts: h1: schema.#Host & {kind: \"local\"}\nsettings: overlap: \"wait\"")+
		"-- b/exp.cue --\n"+spec("experiments: b: "+minimal+"\nsettings: deadline: \"8h\"")+"-- b/more.cue --\npackage more\n\nhosts: h2: kind: \"local\"\n")
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"b/exp.cue", "a", "b/more.cue", "./a"}})
	if diff := cmp.Diff([]string{"b", "a"}, experimentNames(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"h1", "h2"}, hostNames(s)); diff != "" {
		t.Error(diff)
	}
	if s.Hosts[1].From != "b/more.cue" || s.Settings.Overlap != "wait" || s.Settings.Deadline != "8h" {
		t.Errorf("host from %s, settings %+v", s.Hosts[1].From, s.Settings)
	}
}

// A package in a subdirectory includes the files of its parent: what they declare is declared once all the same.
func TestParentPackageIsNotDeclaredTwice(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal+"\nhosts: h: schema.#Host & {kind: \"local\"}\nsettings: overlap: \"wait\"")+
		"-- sub/exp.cue --\n"+spec("experiments: b: "+minimal))
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"./..."}})
	if diff := cmp.Diff([]string{"a", "b"}, experimentNames(s)); diff != "" {
		t.Error(diff)
	}
	if e := experiment(t, s, "b"); e.Dir != filepath.Join(dir, "sub") || len(s.Hosts) != 1 {
		t.Errorf("Dir %s, hosts %v", e.Dir, hostNames(s))
	}
	refined := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal)+"-- sub/exp.cue --\npackage exp\n\nexperiments: a: seeds: 3\n")
	if got := messages(t, specfile.Options{Dir: refined, Paths: []string{"./..."}}); !strings.Contains(got, "declared twice") {
		t.Error(got)
	}
}

// Directories may have any name.
func TestOddDirectories(t *testing.T) {
	for _, name := range []string{"my dir", "a@b", "x:y", "ü", "-x", "v1.2", "a+b", "(x)"} {
		dir := tree(t, "-- "+name+"/exp.cue --\n"+spec("experiments: a: "+minimal)+"-- "+name+"/sub/more.cue --\n"+spec("hosts: h: schema.#Host & {kind: \"local\"}"))
		for _, o := range []specfile.Options{
			{Dir: dir, Paths: []string{"./..."}},
			{Dir: dir, Paths: []string{name, name + "/sub"}},
			{Dir: filepath.Join(dir, name)},
			{Dir: dir, Paths: []string{name + "/exp.cue"}},
			{Dir: "/", Paths: []string{filepath.Join(dir, name)}},
		} {
			if s := load(t, o); len(s.Experiments) != 1 {
				t.Errorf("%q: %v", o.Paths, experimentNames(s))
			}
		}
	}
}

func TestTags(t *testing.T) {
	dir := tree(t, "-- a/exp.cue --\n"+spec("experiments: a: "+minimal+" & {needs: cpus: *1 | int @tag(cpus,type=int), mode: *\"formal\" | string @tag(mode,short=smoke|formal)}")+
		"-- a/prod.cue --\n@if(prod)\n\n"+spec("experiments: p: "+minimal)+"-- b/exp.cue --\n"+spec("experiments: b: "+minimal))
	s := load(t, specfile.Options{Dir: dir, Paths: []string{"a", "b"}, Tags: []string{"cpus=4", "smoke", "prod"}})
	if got := experiment(t, s, "a"); got.Needs.CPUs != 4 || got.Mode != "smoke" {
		t.Errorf("cpus %d, mode %s", got.Needs.CPUs, got.Mode)
	}
	experiment(t, s, "p")
	s = load(t, specfile.Options{Dir: dir, Paths: []string{"a"}})
	if got := experimentNames(s); !slices.Equal(got, []string{"a"}) {
		t.Errorf("without -t prod: %q", got)
	}
}

func TestTheTagWhoseValueIsOfAnotherTypeIsNamed(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec("_size: number @tag(size,type=number)\n_n: int @tag(n,type=int)\n_on: bool @tag(on,type=bool)\nexperiments: a: "+minimal))
	for _, bad := range []string{"n=1.5", "n=x", "on=yes", "size=0x"} {
		tags := []string{"size=1K", "n=0x10", "on=T"}
		for i, tag := range tags {
			if tag[:strings.Index(tag, "=")] == bad[:strings.Index(bad, "=")] {
				tags[i] = bad
			}
		}
		_, err := specfile.Load(t.Context(), specfile.Options{Dir: dir, Tags: tags})
		if want := "the value of -t " + bad + " does not have the type of the tag: "; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", tags, err)
		}
	}
	load(t, specfile.Options{Dir: dir, Tags: []string{"size=1K", "n=0x10", "on=T"}})
}

func TestInventory(t *testing.T) {
	inventory := "-- user/xrun/hosts.cue --\nhosts: {far: {kind: \"ssh\", address: \"far\"}, near: kind: \"local\", own: {kind: \"ssh\", address: \"other\"}}\n" +
		"-- user/xrun/agents.cue --\npackage mine\n\nagents: {helper: kind: \"claude\", idle: kind: \"codex\"}\nsettings: {overlap: \"fail\", keep_runs: 7}\n"
	loop := spec("experiments: a: " + minimal + ` & {loop: {agent: "helper", hypothesis: name: "h"}}`)
	tests := []struct {
		name, exp string
		hosts     []string
	}{
		{"no host in the spec: all of the inventory", "", []string{"far", "near", "own"}},
		{"hosts in the spec: only those", `hosts: own: kind: "local"`, []string{"own"}},
		{"and those that needs.hosts names", `hosts: own: kind: "local"` + "\nexperiments: a: needs: hosts: [\"far\", \"own\"]", []string{"own", "far"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := tree(t, inventory+"-- exp/exp.cue --\n"+loop+test.exp+"\nsettings: overlap: \"wait\"\n")
			for _, o := range []specfile.Options{
				{Dir: dir, Paths: []string{"exp"}, UserConfig: filepath.Join(dir, "user")},
				{Dir: dir, Paths: []string{"exp"}, Inventory: "user/xrun", UserConfig: filepath.Join(dir, "nowhere")},
			} {
				s := load(t, o)
				if diff := cmp.Diff(test.hosts, hostNames(s)); diff != "" {
					t.Error(diff)
				}
				if s.Settings.Overlap != "wait" || *s.Settings.KeepRuns != 7 || len(s.Agents) != 1 || s.Agents[0].Name != "helper" {
					t.Errorf("settings %+v, agents %+v", s.Settings, s.Agents)
				}
				if own := s.Hosts[slices.Index(hostNames(s), test.hosts[0])]; own.From == "" {
					t.Error("From is empty")
				}
			}
		})
	}
	t.Run("no host anywhere: this machine", func(t *testing.T) {
		dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal))
		s := load(t, specfile.Options{Dir: dir, UserConfig: filepath.Join(dir, "user")})
		if h := s.Hosts; len(h) != 1 || h[0].Name != "local" || h[0].Kind != "local" || h[0].Slots != 1 || h[0].From != "" {
			t.Errorf("hosts = %+v", h)
		}
	})
	t.Run("an inventory that is not there", func(t *testing.T) {
		dir := tree(t, "-- exp.cue --\n"+spec("experiments: a: "+minimal))
		if got := messages(t, specfile.Options{Dir: dir, Inventory: "none.cue"}); !strings.Contains(got, "none.cue: no such inventory") {
			t.Error(got)
		}
	})
}

func TestFindingsStandAtTheUsersLines(t *testing.T) {
	dir := tree(t, "-- exp.cue --\n"+spec(`experiments: a: `+open+` & {
	command: ["x", "{lr}"]
	sweep: zip: {
		lr: [1, 2]
		batch: [1, 2, 3]
	}
}
experiments: b: needs: gups: 1`))
	got := messages(t, specfile.Options{Dir: dir})
	for _, want := range []string{"exp.cue:9:10: experiments.a.sweep.zip.batch: ", `exp.cue:12:24: experiments.b.needs.gups: unknown field`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}
