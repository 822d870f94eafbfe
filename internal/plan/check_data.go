package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	// What a program writes is made by it; that it is there from an earlier try means nothing.
	outputName = regexp.MustCompile(`(?i)(^|[^a-z])(out|output|outputs|outdir|logs?|logdir|save|savedir|dump|results?|runs?|work|workdir|tmp|temp|cache|figures?|plots?|report|wandb|mlruns|exp|experiments?)([^a-z]|$)`)
	inputName  = regexp.MustCompile(`(?i)(^|[^a-z])(data|dataset|datasets|datadir|corpus|input|inputs|train|train_file|val|valid|test|vocab|tokens)([^a-z]|$)`)
	inputFile  = regexp.MustCompile(`(?i)\.(csv|tsv|jsonl?|txt|npy|npz|pt|pth|bin|parquet|h5|hdf5|pkl|zip|tar|gz|arrow|tfrecord)$`)
	notNameRE  = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	optionRE   = regexp.MustCompile(`^(--?[A-Za-z][\w.-]*|[+~]{0,2}[A-Za-z_][\w.]*)=(.*)$`)
)

// paths finds arguments that are paths of this machine or of this checkout and mean nothing to a trial.
func (c *hereChecker) paths(cmd commandAt) {
	p, ok := programOf(cmd.argv)
	first := 1
	if ok {
		first = p.at + 1
	}
	option := ""
	for i := first; i < len(cmd.argv); i++ {
		arg, ok := literal(cmd.argv[i])
		if !ok {
			option = ""
			continue
		}
		name, value := option, arg
		if m := optionRE.FindStringSubmatch(arg); m != nil {
			name, value = m[1], m[2]
		}
		option = ""
		if strings.HasPrefix(value, "-") {
			option = value
			continue
		}
		at := append(slices.Clone(cmd.path), strconv.Itoa(i))
		switch {
		case strings.HasPrefix(value, "/"):
			c.absolute(value, at)
		case plausible(name, value):
			c.relative(name, value, at)
		}
	}
}

// plausible reports whether a value can be the path of an input: one that is given to an option for outputs is not.
func plausible(name, value string) bool {
	if value == "" || strings.Contains(value, "://") || strings.ContainsAny(value, " \t\n\"'*?$<>|;,") || strings.HasPrefix(value, "~") {
		return false
	}
	if outputName.MatchString(name) {
		return false
	}
	return name != "" && inputName.MatchString(name) || !outputName.MatchString(value)
}

// heavy is what is too much to be copied for each slot.
const heavy = 100 << 20

// relative is about a path below the code.
func (c *hereChecker) relative(name, value string, at []string) {
	file := path.Clean(value)
	if file == "." || file == ".." || inEnvironment(file) {
		return
	}
	shown := strings.TrimSuffix(value, "/")
	switch seen := c.look.At(file); {
	case seen.Kind != Nothing && !seen.Shipped:
		suggestion := declareData(file)
		if len(c.distant) == 0 {
			suggestion = "write its absolute path, or " + suggestion
		}
		switch {
		case strings.HasPrefix(file, "../"):
		case seen.Kind == RegularFile:
			suggestion += fmt.Sprintf(", or ship it: code: include: [%q]", file)
		default:
			suggestion += fmt.Sprintf(", or ship it: code: include: [%q]", file+"/**")
		}
		c.warn(at, suggestion, "no data: %s is here, but is not shipped: %s", shown, seen.Why)
	case seen.Shipped && seen.Bytes >= heavy:
		c.warn(at, declareData(file), "%s is shipped with the code: each slot gets a copy of %d MiB", shown, seen.Bytes>>20)
	case seen.Kind == Nothing && c.looksLikeInput(name, value):
		c.warn(at, declareData(file), "no data: %s is not found: neither in the code nor beside it", shown)
	}
}

func (c *hereChecker) looksLikeInput(name, value string) bool {
	if c.e.Setup != nil || c.e.Container != nil {
		return false // may bring it
	}
	rooted := strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../") || strings.HasPrefix(value, "data/") || strings.HasPrefix(value, "datasets/")
	file := inputFile.MatchString(value)
	switch {
	case name == "":
		return rooted && !outputName.MatchString(value)
	default:
		return inputName.MatchString(name) && (rooted || file)
	}
}

// declareData says how a host is told where a data set lies.
func declareData(file string) string {
	name := dataName(file)
	return fmt.Sprintf("declare it (here data: %s: \"v1\" and {data.%s}, on each host data: %s: \"/its/path\")", name, name, name)
}

// dataName is a name for a data set, made of its path.
func dataName(file string) string {
	base := strings.TrimSuffix(path.Base(file), path.Ext(file))
	name := notNameRE.ReplaceAllString(base, "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "corpus"
	}
	return name
}

// absolute is about a path that lies on this machine and is to be found on another.
func (c *hereChecker) absolute(value string, at []string) {
	home := c.m.Home()
	inside := func(dir string) bool { return dir != "" && dir != "/" && strings.HasPrefix(value, dir+"/") }
	if len(c.distant) == 0 || !inside(home) && !inside(c.spec.Root) || !c.m.Has(value) {
		return
	}
	c.warn(at, "declare it as data and say in hosts where it lies on each", "%s is a path of this machine, and host %s is another", value, c.distant[0].Name)
}

// quotedPath is a text in a program that can only be a path: it has a slash.
var quotedPath = regexp.MustCompile(`["']((?:\./)?[\w.-]+(?:/[\w.-]+)+)/?["']`)

// mostNamed is how many of them are told of one program.
const mostNamed = 3

// named finds data that the program names by itself, as the default of an option most of all, and that lies here and is
// not shipped. Where the spec speaks of data, by a placeholder, a path of its own or a setup, the default is not used.
func (c *hereChecker) named() {
	if c.e.Setup != nil || c.e.Container != nil || len(c.e.Data) > 0 || len(c.e.Inputs) > 0 {
		return
	}
	p, ok := programOf(c.e.Command)
	if !ok || p.kind == module || c.namesData(p.at+1) {
		return
	}
	found := map[string]bool{}
	for _, m := range quotedPath.FindAllStringSubmatch(c.look.Text(path.Clean(p.name)), -1) {
		file := path.Clean(m[1])
		if found[file] || len(found) == mostNamed || !inputName.MatchString(path.Dir(file)) || outputName.MatchString(file) {
			continue
		}
		seen := c.look.At(file)
		if seen.Kind == Nothing || seen.Shipped {
			continue
		}
		found[file] = true
		include := file
		if seen.Kind == Directory {
			include += "/**"
		}
		c.warn([]string{"command", strconv.Itoa(p.at)}, fmt.Sprintf("give the program its absolute path, or %s, or ship it: code: include: [%q]", declareData(file), include),
			"no data: %s names %s, which is here, but is not shipped: %s", p.name, file, seen.Why)
	}
}

// namesData reports whether an argument from first on says where some data lies.
func (c *hereChecker) namesData(first int) bool {
	for i := first; i < len(c.e.Command); i++ {
		arg := c.e.Command[i]
		value := optionValue(arg)
		name := strings.TrimSuffix(arg, value)
		if strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "$") || inputName.MatchString(name) || inputName.MatchString(value) {
			return true
		}
	}
	return false
}
