package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// drains are the states that the hosts went through, in order.
func drains(l *lab, run, host string) []string {
	var out []string
	for _, h := range bodies[ledger.HostState](l, run) {
		if h.Host == host {
			out = append(out, h.State)
		}
	}
	return out
}

func TestAHostThatFailsWhatOthersDoWellIsDrained(t *testing.T) {
	inLab(t, 40, nil, func(l *lab) {
		bad := l.host("bad", 1, fails(1, "cannot open /data\n"))
		l.host("good", 1, ok)
		l.run("r1")
		// It spoils three, a minute later it may show what it can, two minutes later again, then four, eight, sixteen.
		if n := len(bad.Jobs()); n < 4 || n > 10 {
			t.Errorf("it had %d", n)
		}
		if got := drains(l, "r1", "bad"); len(got) < 3 || got[0] != "serving" || got[1] != "drained" || got[2] != "drained" {
			t.Errorf("%q", got)
		}
	})
}

func TestADrainedHostThatIsWellAgainServes(t *testing.T) {
	inLab(t, 40, nil, func(l *lab) {
		n := 0
		h := l.host("bad", 1, func(j job) hosttest.Script {
			if n++; n <= 4 {
				return fails(1, "cannot open /data\n")(j)
			}
			return ok(j)
		})
		l.host("good", 1, ok)
		l.run("r1")
		if got := drains(l, "r1", "bad"); got[len(got)-1] != "serving" || len(h.Jobs()) < 10 {
			t.Errorf("%q, %d jobs", got, len(h.Jobs()))
		}
	})
}

func TestAFailureEverywhereIsNoHosts(t *testing.T) {
	inLab(t, 8, nil, func(l *lab) {
		l.host("a", 1, fails(1, "boom\n"))
		l.host("b", 1, fails(1, "boom\n"))
		l.run("r1")
		for _, h := range []string{"a", "b"} {
			if got := drains(l, "r1", h); len(got) != 1 {
				t.Errorf("%s: %q", h, got)
			}
		}
	})
}

func TestAFailureAfterALongTimeIsNotTheHosts(t *testing.T) {
	inLab(t, 12, nil, func(l *lab) {
		l.host("bad", 1, func(job) hosttest.Script {
			return hosttest.Script{Took: time.Minute, Code: 1, Log: "diverged at step 5\n"}
		})
		l.host("good", 1, ok)
		l.run("r1")
		if got := drains(l, "r1", "bad"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

func TestAnInterruptDoesNotWaitForADrainedHost(t *testing.T) {
	inLab(t, 40, nil, func(l *lab) {
		l.host("bad", 1, fails(1, "cannot open /data\n"))
		l.host("good", 1, ok)
		begun := time.Now()
		l.interrupted("r1", 90*time.Second)
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// One attempt, given to a drained host, that runs for long and then fails is the code's: the host is well.
func TestADrainedHostWhoseTrialsFailByThemselvesServes(t *testing.T) {
	inLab(t, 60, nil, func(l *lab) {
		n := 0
		l.host("bad", 2, func(j job) hosttest.Script {
			if n++; n <= 4 {
				return fails(1, "cannot open /data\n")(j)
			}
			return hosttest.Script{Took: time.Minute, Code: 1, Log: fmt.Sprintf("diverged%s\n", strings.Repeat("!", n))}
		})
		l.host("good", 1, ok)
		l.run("r1")
		if got := drains(l, "r1", "bad"); got[len(got)-1] != "serving" {
			t.Errorf("%q", got)
		}
	})
}

// What a drained host is given shows whether it is well: that it failed again is one attempt, not three.
func TestAHostThatIsDrainedAgainSaysWhy(t *testing.T) {
	inLab(t, 40, nil, func(l *lab) {
		l.host("bad", 1, fails(1, "cannot open /data\n"))
		l.host("good", 1, ok)
		l.run("r1")
		var why []string
		for _, h := range bodies[ledger.HostState](l, "r1") {
			if h.State == "drained" {
				why = append(why, h.Reason)
			}
		}
		if len(why) < 2 || !strings.HasPrefix(why[0], "3 attempts in a row failed here") || !strings.HasPrefix(why[1], "the one attempt that it was given failed too") {
			t.Errorf("%q", why)
		}
	})
}
