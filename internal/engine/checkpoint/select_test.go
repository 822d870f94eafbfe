package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGlobsSelectFilesOfAManifest(t *testing.T) {
	m := &Manifest{Files: []File{{Path: "a/uv.lock", Ignored: true}, {Path: "env/x/y"}, {Path: "train.py"}, {Path: "uv.lock"}}}
	for name, c := range map[string]struct{ globs, want, none []string }{
		"a file and nothing": {[]string{"uv.lock", "setup.py"}, []string{"uv.lock"}, []string{"setup.py"}},
		"everywhere":         {[]string{"**/*.lock"}, []string{"a/uv.lock", "uv.lock"}, nil},
		"a directory":        {[]string{"env"}, []string{"env/x/y"}, nil},
		"one file twice":     {[]string{"uv.*", "./uv.lock"}, []string{"uv.lock"}, nil},
		"no globs":           {nil, nil, nil},
	} {
		files, none, err := m.Select(c.globs)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: files\n%s", name, diff)
		}
		if diff := cmp.Diff(c.none, none); diff != "" {
			t.Errorf("%s: globs that name none\n%s", name, diff)
		}
	}
	if _, _, err := m.Select([]string{"[a"}); err == nil {
		t.Error("a glob that is not valid is no error")
	}
}
