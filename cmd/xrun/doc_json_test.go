package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xrun-dev/xrun/internal/report"
)

// TestEveryKeyOfTheJSONIsDocumented compares docs/json.md with the types: no key is missing there, and none is made up.
func TestEveryKeyOfTheJSONIsDocumented(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	for command, of := range map[string]reflect.Type{
		"status": reflect.TypeFor[report.Status](), "gc": reflect.TypeFor[collected](),
		"doctor": reflect.TypeFor[checkedUp](), "import": reflect.TypeFor[imported](),
	} {
		_, section, ok := strings.Cut(string(b), "## xrun "+command+"\n\n```\n")
		shape, _, end := strings.Cut(section, "```")
		if !ok || !end {
			t.Errorf("docs/json.md has no shape for xrun %s", command)
			continue
		}
		shown := regexp.MustCompile(`[a-z_]+`).FindAllString(shape, -1)
		keys := jsonKeys(of)
		for _, k := range keys {
			if !slices.Contains(shown, k) {
				t.Errorf("xrun %s: %s is not in docs/json.md", command, k)
			}
		}
		for _, k := range shown {
			if !slices.Contains(keys, k) {
				t.Errorf("xrun %s: %s is in docs/json.md, and nowhere else", command, k)
			}
		}
	}
}

// jsonKeys lists the keys of a type and of all that it holds.
func jsonKeys(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return jsonKeys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = append(out, jsonKeys(f.Type)...)
		case name != "" && name != "-":
			out = append(append(out, name), jsonKeys(f.Type)...)
		}
	}
	return out
}
