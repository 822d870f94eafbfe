package specfile

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"

	"github.com/xrun-dev/xrun/internal/plan"
)

// merge puts the units' values together into the spec: PATHs given together form one plan.
func (l *loader) merge() {
	m := &merger{loader: l, first: map[string]token.Pos{}, files: map[string]bool{}}
	for _, u := range l.units {
		m.unit(u)
	}
	m.settings()
	m.hosts()
	m.agents()
}

// A merger adds one unit after the other to the spec.
type merger struct {
	*loader
	first map[string]token.Pos // "hosts.a": where it is declared
	files map[string]bool      // of the units merged so far
	// what the inventory declares; taken as far as it is asked for.
	spareHosts  []plan.Host
	spareAgents []plan.Agent
	set         []settingsOf
}

// settingsOf are the settings of one unit.
type settingsOf struct {
	unit      *unit
	value     cue.Value
	inherited map[string]bool // the fields that a parent directory sets, whose package has been merged
}

func (m *merger) unit(u *unit) {
	for _, name := range []string{"experiments", "hosts", "agents"} {
		d := m.decoder(u)
		d.ordered(u.value.LookupPath(cue.MakePath(cue.Str(name))), []string{name}, func(entry string, v cue.Value, path []string) {
			if m.declare(u, path) {
				m.entry(u, d, v, path)
			}
		})
	}
	if s := u.value.LookupPath(cue.MakePath(cue.Str("settings"))); s.Exists() {
		set := settingsOf{u, s, map[string]bool{}}
		for _, name := range names(s) {
			set.inherited[name] = m.known(u, []string{"settings", name})
		}
		m.set = append(m.set, set)
	}
	for _, f := range u.source.files {
		m.files[f.Filename] = true
	}
}

func (m *merger) decoder(u *unit) *decoder {
	return &decoder{source: u.source, report: func(path []string, message, suggestion string) { m.at(u, path, message, suggestion) }}
}

// declare reports a name that another package has declared. The inventory gives way to the spec.
func (m *merger) declare(u *unit, path []string) bool {
	pos := u.source.find(path).pos
	if u.inventory && path[0] == "experiments" {
		m.at(u, path, "an inventory declares no experiments", "give the file as a PATH, without --inventory")
		return false
	}
	key := strings.Join(path, ".")
	if first, ok := m.first[key]; ok {
		if u.inventory || path[0] != "settings" && m.known(u, path) {
			return false
		}
		m.at(u, path, quote(path[1])+" is declared twice", "the other declaration is at "+m.place(first))
		return false
	}
	m.first[key] = pos
	return true
}

// known reports whether an entry comes from files of a package that was merged before: those of a parent directory.
func (m *merger) known(u *unit, path []string) bool {
	for _, p := range u.source.values(path) {
		if !m.files[p.pos.Filename()] {
			return false
		}
	}
	return true
}

func (m *merger) entry(u *unit, d *decoder, v cue.Value, path []string) {
	name := path[1]
	switch path[0] {
	case "experiments":
		e := plan.Experiment{Set: map[string]bool{}, Dir: u.dir}
		d.set, d.skip = e.Set, 2
		d.decode(v, reflect.ValueOf(&e).Elem(), path)
		d.set = nil
		e.Name = name
		m.spec.Experiments = append(m.spec.Experiments, e)
	case "hosts":
		h := plan.Host{}
		d.decode(v, reflect.ValueOf(&h).Elem(), path)
		h.Name = name
		if pos := u.source.find(path).pos; pos.IsValid() {
			h.From = m.rel(pos.Filename())
		}
		if u.inventory {
			m.spareHosts = append(m.spareHosts, h)
		} else {
			m.spec.Hosts = append(m.spec.Hosts, h)
		}
	case "agents":
		a := plan.Agent{}
		d.decode(v, reflect.ValueOf(&a).Elem(), path)
		a.Name = name
		if u.inventory {
			m.spareAgents = append(m.spareAgents, a)
		} else {
			m.spec.Agents = append(m.spec.Agents, a)
		}
	}
}

// hosts adds hosts of the inventory: all of them if the spec declares none, else those that are named.
func (m *merger) hosts() {
	if len(m.spec.Hosts) == 0 {
		m.spec.Hosts = m.spareHosts
	} else {
		for _, h := range m.spareHosts {
			if slices.ContainsFunc(m.spec.Experiments, func(e plan.Experiment) bool { return slices.Contains(e.Needs.Hosts, h.Name) }) {
				m.spec.Hosts = append(m.spec.Hosts, h)
			}
		}
	}
	if len(m.spec.Hosts) == 0 {
		m.spec.Hosts = []plan.Host{{Name: "local", Kind: "local", Slots: 1}}
	}
}

// agents adds those of the inventory that an experiment names.
func (m *merger) agents() {
	for _, a := range m.spareAgents {
		if slices.ContainsFunc(m.spec.Experiments, func(e plan.Experiment) bool { return e.Loop != nil && e.Loop.Agent == a.Name }) {
			m.spec.Agents = append(m.spec.Agents, a)
		}
	}
}

// settings come from any package, each field from one; the inventory's hold where no package says otherwise.
func (m *merger) settings() {
	for _, inventory := range []bool{false, true} {
		for _, s := range m.set {
			if s.unit.inventory != inventory {
				continue
			}
			d := m.decoder(s.unit)
			into := reflect.ValueOf(&m.spec.Settings).Elem()
			d.each(s.value, []string{"settings"}, func(name string, v cue.Value, path []string) {
				if s.inherited[name] || !m.declare(s.unit, path) {
					return
				}
				for i := range into.NumField() {
					if tag, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ","); tag == name {
						d.decode(v, into.Field(i), path)
					}
				}
			})
		}
	}
}

// portable is how a plan names a file, on any machine: relative to the root, or to the user's configuration directory.
func (l *loader) portable(file string) string {
	if rel, err := filepath.Rel(l.UserConfig, file); err == nil && l.UserConfig != "" && filepath.IsLocal(rel) && !within(l.root, file) {
		return UserConfigDir + filepath.ToSlash(rel)
	}
	return l.rel(file)
}

// listFiles records every CUE file that was read and is the user's.
func (l *loader) listFiles() error {
	seen := map[string]bool{}
	var add func(u *unit, inst *build.Instance)
	add = func(u *unit, inst *build.Instance) {
		for _, f := range inst.Files {
			if !u.module.ours(f.Filename) {
				seen[f.Filename] = true
			}
		}
		for _, dep := range inst.Imports {
			add(u, dep)
		}
	}
	for _, u := range l.units {
		add(u, u.inst)
	}
	for file := range seen {
		if !filepath.IsAbs(file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		l.spec.Files = append(l.spec.Files, plan.SourceFile{File: l.portable(file), SHA256: hex.EncodeToString(sum[:])})
		l.spec.AbsFiles = append(l.spec.AbsFiles, file)
	}
	slices.SortFunc(l.spec.Files, func(a, b plan.SourceFile) int { return strings.Compare(a.File, b.File) })
	slices.Sort(l.spec.AbsFiles)
	return nil
}
