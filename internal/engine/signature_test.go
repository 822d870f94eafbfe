package engine

import (
	"strings"
	"testing"
)

func TestSignaturesNameTheKindOfFailure(t *testing.T) {
	one, none := 1, (*int)(nil)
	torch := `Traceback (most recent call last):
  File "/home/u/lab/train.py", line 210, in main
    loss = model(batch)
  File "/home/u/lab/model.py", line 33, in forward
    return self.net(x)
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl
    return forward_call(*args)
  File "/usr/lib/python3/dist-packages/x.py", line 1, in y
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x768 and 512x10)`
	for _, c := range []struct {
		cause Cause
		code  *int
		log   string
		want  string
	}{
		{CauseExit, &one, torch, "exit 1: RuntimeError: mat# and mat# shapes cannot be multiplied (#x# and #x#) in model.py forward"},
		{CauseExit, &one, strings.ReplaceAll(torch, "/opt/venv", "/other") + "\n\n   \n", "exit 1: RuntimeError: mat# and mat# shapes cannot be multiplied (#x# and #x#) in model.py forward"},
		{CauseExit, &one, "\x1b[31m" + strings.ReplaceAll(torch, "\n", "\x1b[0m\n\x1b[1m") + "\x1b[0m", "exit 1: RuntimeError: mat# and mat# shapes cannot be multiplied (#x# and #x#) in model.py forward"},
		{CauseExit, &one, "  File \"old.py\", line 1, in f\nTraceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nKeyError: 'a'", "exit 1: KeyError: 'a' in <string> <module>"},
		{CauseExit, &one, "Segfault at 0x7ffe12ab (pid 4242) 12:30:01.5 in /tmp/x-99/run, 1.5e-05", "exit 1: Segfault at # (pid #) # in #, #e-#"},
		{CauseExit, &one, "no job 6f9619ff-8b86-d011-b42d-00c04fc964ff at deadbeef01", "exit 1: no job # at #"},
		{CauseKilled, &one, "", "killed 1:"},
		{CauseVanished, none, "\x1b]0;title\x07last words\r", "vanished: last words"},
		{CauseExit, &one, strings.Repeat("é", 500), "exit 1: " + strings.Repeat("é", 120) + "…"},
	} {
		var tail tailKeeper
		tail.write([]byte(c.log))
		if got := signature(c.cause, c.code, tail.lines()); got != c.want {
			t.Errorf("%.60q…:\ngot  %s\nwant %s", c.log, got, c.want)
		}
	}
}

func TestTheTailIsTheEndOfTheLog(t *testing.T) {
	var k tailKeeper
	for i := range 5000 {
		k.write([]byte(strings.Repeat("x", i%50) + "\n"))
	}
	k.write([]byte("end\xff\n\n"))
	if l := k.lines(); l[len(l)-1] != "end\ufffd" || len(k.buf) > 2*tailBytes {
		t.Errorf("%q, %d bytes kept", l[len(l)-1], len(k.buf))
	}
	if got := k.excerpt(1); got != "end\ufffd" {
		t.Errorf("%q", got)
	}
	k.write([]byte(strings.Repeat("y", 3*tailBytes)))
	if got := k.excerpt(3); len([]rune(got)) != 301 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters", len(got))
	}
	if new(tailKeeper).excerpt(3) != "" {
		t.Error("an empty log has an excerpt")
	}
}
