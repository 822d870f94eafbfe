package metric

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ pattern, log, want string }{
		{`acc=(?P<value>[\d.]+)%`, "acc=71.5%\nacc=72%", "m=71.5:1 m=72:2"},
		{`Top-1: (?P<value>\S+)`, "Epoch 3 Top-1: 0.5 Top-1: 0.6\n", "m=0.5@3:1 m=0.6@3:1"},
		{`it (?P<step>\d+).*loss (?P<value>[-\d.e]+)`, "it 20 loss 1e-05\n", "m=1e-05@20:1"},
		{`loss (?P<value>\S+)`, "\x1b[31mloss 0.5\x1b[0m\r\n", "m=0.5:1"},
		{`loss (?P<value>\S+)`, "progress\rloss 0.5\rloss 0.25\n", "m=0.5:2 m=0.25:3"},
		{`(?P<value>\d+) tests? passed|failed`, "failed\n12 tests passed\n", "m=12:2"},
		{`loss (?P<value>nan|[\d.]+)`, "loss nan\n", "m=nan:1"},
		{`\[(?P<value>[\d.]+),`, "[0.5,7,9]\n", "m=0.5:1"},
		{`epoch-(?P<value>\d+)`, "epoch-5\n", "m=5:1"},
		{`is (?P<value>[\d.]+)`, "it is 71. And so on.", "m=71.:1"},
		{`loss: (?P<value>.*)`, "loss: mse\n", ""},
		{`m`, "m: 5\n", ""},
	} {
		re := regexp.MustCompile(c.pattern)
		if re.SubexpIndex("value") < 0 {
			continue // the schema asks for the group
		}
		_, got := read(c.log, Want{Name: "m", Pick: "last", Pattern: re})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s in %q: %s, want %s", c.pattern, c.log, got, c.want)
		}
	}
}

func TestAPatternNeverTakesAPartOfANumber(t *testing.T) {
	for _, c := range []struct{ pattern, log, problem string }{
		{`loss=(?P<value>[\d.]+)`, "loss=1e-5", `line 1, column 6: m is printed as "1e-5", which is no number as it stands`},
		{`loss=(?P<value>\d+)`, "loss=12.5", `line 1, column 6: m is printed as "12.5", which is no number as it stands`},
		{`loss=.(?P<value>[\d.]+)`, "loss=-0.3", `line 1, column 6: m is printed as "-0.3", which is no number as it stands`},
		{`,(?P<value>[\d.]+)`, "1,234.5", `line 1, column 1: m is printed as "1,234.5", which is no number as it stands`},
		{`n=(?P<value>\d+)`, "n=1,234", `line 1, column 3: m is printed as "1,234", which is no number as it stands`},
		{`v=\d(?P<value>\d+)`, "v=123", `line 1, column 3: m is printed as "123", which is no number as it stands`},
	} {
		x, got := read(c.log, Want{Name: "m", Pick: "last", Pattern: regexp.MustCompile(c.pattern)})
		r := x.Results()[0]
		if len(got) > 0 || !r.Failed || r.Problem != c.problem {
			t.Errorf("%s in %q: %v, %q", c.pattern, c.log, got, r.Problem)
		}
	}
}

func TestAPatternBesideANameSeesTheSameLog(t *testing.T) {
	var log strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&log, "epoch %d\nval_loss: %d\nTop: %d%%\n", i, i, i)
	}
	wants := []Want{{Name: "val_loss", Pick: "last"}, {Name: "top", Pick: "max", Pattern: regexp.MustCompile(`Top: (?P<value>\d+)%`)}}
	x, got := read(log.String(), wants...)
	if len(got) != 4000 || got[3999] != "top=1999@1999:6000" || got[3998] != "val_loss=1999@1999:5999" {
		t.Errorf("%d readings, the last %s", len(got), got[len(got)-2:])
	}
	if rs := x.Results(); rs[0].Value != 1999 || rs[1].Value != 1999 {
		t.Errorf("%+v", rs)
	}
}
