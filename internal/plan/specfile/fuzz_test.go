package specfile_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/xrun-dev/xrun/internal/plan/specfile"
)

// goDump is what a message looks like that shows Go values, or the evaluator's own, to a user.
var goDump = regexp.MustCompile(`0x[0-9a-f]{6}|&\{|%!|runtime error|goroutine |cue\.Value|\*adt\.|<nil>|interface \{\}`)

// FuzzLoad damages specs by bytes, words and lines: whatever comes of it, Load ends, with a spec or with problems that a
// user can find in the file.
func FuzzLoad(f *testing.F) {
	seeds := fuzzSeeds(f)
	for i := range seeds {
		f.Add(uint16(i), []byte(nil))
		f.Add(uint16(i), []byte{byte(i % 8), byte(i * 37), byte(i * 11), byte(i * 5 % 8), byte(i * 101), byte(i * 3)})
	}
	f.Fuzz(func(t *testing.T, seed uint16, ops []byte) {
		if len(ops) > 30 {
			return // more damage than ten blows finds nothing else
		}
		loads(t, mutated(seeds[int(seed)%len(seeds)], ops))
	})
}

// TestDamagedSpecs does some of the same without the engine that looks for new paths: a hundred times as many a second.
// XRUN_SOAK, 1 or a duration, lets it go on from another seed.
func TestDamagedSpecs(t *testing.T) {
	seeds := fuzzSeeds(t)
	seed, more := uint64(1), time.Duration(0)
	if s := os.Getenv("XRUN_SOAK"); s != "" {
		seed, more = uint64(time.Now().UnixNano()), 30*time.Second
		if d, err := time.ParseDuration(s); err == nil {
			more = d
		}
		t.Logf("seed %d", seed)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	begin := time.Now()
	for i := 0; (i < 200 || time.Since(begin) < more) && !t.Failed(); i++ {
		ops := make([]byte, 3*(1+r.IntN(8)))
		for j := range ops {
			ops[j] = byte(r.Uint32())
		}
		loads(t, mutated(seeds[r.IntN(len(seeds))], ops))
	}
}

// loads loads a text, and looks at what is said about it.
func loads(t *testing.T, text string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "damaged") // t.TempDir would keep all of them until the end
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "exp.cue"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = specfile.Load(ctx, specfile.Options{Dir: dir, MaxMemory: 2 << 30})
	if err == nil {
		return
	}
	problems, ok := errors.AsType[specfile.Problems](err)
	if !ok || len(problems) == 0 {
		t.Fatalf("not Problems: %v\n%s", err, text)
	}
	for _, p := range problems {
		words := p.Message
		if p.Suggestion != nil {
			words += "\n" + *p.Suggestion
		}
		// What a spec says itself may be shown.
		dump := goDump.FindString(words)
		switch {
		case p.Message == "", dump != "" && !strings.Contains(text, dump), strings.Contains(words, dir), strings.Contains(words, "cannot be evaluated"):
			t.Errorf("message %q\n%s", words, text)
		case p.File == "exp.cue" && strings.Contains(p.Message, "UTF-16"):
		case p.File != "exp.cue":
			t.Errorf("a problem elsewhere: %+v\n%s", p, text)
		case p.Line < 1 || p.Line > 1+strings.Count(text, "\n") || p.Col < 1:
			t.Errorf("no such place: %+v\n%s", p, text)
		}
	}
	if err := specfile.Render(io.Discard, problems, true); err != nil {
		t.Error(err)
	}
}

// fuzzSeeds are the specs to damage: all that this repository has.
func fuzzSeeds(f testing.TB) []string {
	f.Helper()
	var seeds []string
	for _, pattern := range []string{"testdata/bad/*.txtar", "testdata/jobs/*.cue", "template/*.cue", "../../../examples/*/*.cue"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if filepath.Ext(file) == ".cue" {
				seeds = append(seeds, string(b))
				continue
			}
			for _, in := range txtar.Parse(b).Files {
				if strings.HasSuffix(in.Name, "exp.cue") {
					seeds = append(seeds, string(in.Data))
				}
			}
		}
	}
	return seeds
}

var (
	fuzzWords = regexp.MustCompile(`[A-Za-z0-9_#$.]+|\s+|(?s:.)`)
	// vocabulary is what is put in the place of words.
	vocabulary = []string{
		"null", "true", "{", "}", "[", "]", "(", ")", ":", ",", "&", "|", "!", "?", "...", "_", "_|_", `""`, `"x"`, "'x'", "0", "-1", "1e400", "1e-400",
		"0.1", "int", "string", "*1", ">5", `=~"("`, "[...]", "{...}", "[string]: int", "for x in [1, 2] ", "if true ", "let x = 1\n", "experiments", "a",
		"schema.#Experiment", "schema.#File", "#X: {}\n", `"\(x)"`, "\ufeff", "\r\n", "\x00", "\xff", "“", `"""`, "//", "@tag(x)", "@embed(file=x)", "@if(x)",
		"package p\n", "import \"strings\"\n", "9007199254740993", "1/0", "len(", "close({", "error(\"x\")", "and([])", "list", "\n", "\t",
	}
)

// mutated applies blows of three bytes each: what, where, and where else.
func mutated(text string, ops []byte) string {
	for ; len(ops) >= 3; ops = ops[3:] {
		words := fuzzWords.FindAllString(text, -1)
		lines := strings.SplitAfter(text, "\n")
		if len(words) == 0 {
			return text
		}
		// 257 and 7 spread a byte over long texts.
		at, other := (int(ops[1])*257+int(ops[2])*7)%len(words), (int(ops[2])*257+int(ops[1])*7)%len(words)
		line, otherLine := at%len(lines), other%len(lines)
		switch ops[0] % 8 {
		case 0:
			text = strings.Join(slices.Delete(words, at, at+1), "")
		case 1:
			text = strings.Join(slices.Insert(words, at, words[at]), "")
		case 2:
			words[at], words[other] = words[other], words[at]
			text = strings.Join(words, "")
		case 3:
			words[at] = vocabulary[int(ops[2])%len(vocabulary)]
			text = strings.Join(words, "")
		case 4:
			text = strings.Join(slices.Delete(lines, line, line+1), "")
		case 5:
			text = strings.Join(slices.Insert(lines, line, lines[otherLine]), "")
		case 6:
			lines[line], lines[otherLine] = lines[otherLine], lines[line]
			text = strings.Join(lines, "")
		case 7:
			b := []byte(text)
			b[(int(ops[1])*257)%len(b)] = ops[2]
			text = string(b)
		}
	}
	return text
}
