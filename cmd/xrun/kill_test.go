package main

import (
	"fmt"
	"testing"
	"time"
)

// TestKilledAtAnyInstantNothingIsLostAndNothingRunsTwice kills xrun with -9 at random instants and at moments of its
// ledger, goes on with resume or with a new run, and is killed again, until one comes through. Supervisors are killed on
// the way too. Every trial has one result, no program that came to its end was started again, and the report is that of a
// run to which nothing happened.
func TestKilledAtAnyInstantNothingIsLostAndNothingRunsTwice(t *testing.T) {
	t.Parallel()
	want := unharmed(t)
	for kills := 0; kills < soaking(20, 220); {
		l := newLab(t, "kill")
		l.throughKills()
		l.onceEach()
		l.oneResultEach(40)
		l.sameReport(want)
		kills += l.lives
		if t.Failed() {
			return
		}
	}
}

// throughKills starts xrun until one comes to its end.
func (l *lab) throughKills() {
	l.Helper()
	again := l.rng.IntN(2) // of some labs with resume alone
	for {
		args := []string{"run", "-q"}
		if began(l) && l.rng.IntN(3) >= again {
			args = []string{"resume", "-q"}
		} else {
			l.runs++
		}
		if e := l.mishap(args); e.code == 3 {
			return
		} else if e.code != -1 {
			l.Fatalf("xrun %v: exit code %d\n%s", args, e.code, e.said)
		}
		l.lives++
	}
}

// began reports whether there is a run to resume.
func began(l *lab) bool {
	e := l.life(l.xrun("runs", "-o", "json"))
	if e.code != 0 {
		l.Fatalf("xrun runs: exit code %d\n%s%s", e.code, e.said, e.stdout)
	}
	return reRun.Match(e.stdout)
}

// mishap is a life that may end early. Each is granted more than the one before: on a slow machine no more than the start
// might fit in.
func (l *lab) mishap(args []string) end {
	l.Helper()
	grown := 4 + l.lives
	cmd := l.xrun(args...)
	var befall []func(int)
	switch l.rng.IntN(5) {
	case 0, 1:
		befall = append(befall, killAfter(time.Duration(20+l.rng.IntN(450))*time.Millisecond*time.Duration(grown)/4))
	case 2: // its supervisors first
		before, after := time.Duration(100+l.rng.IntN(300))*time.Millisecond, time.Duration(l.rng.IntN(400))*time.Millisecond*time.Duration(grown)/4
		befall = append(befall, func(pid int) {
			time.Sleep(before)
			l.killSupervisor("steps", "fails")
			killAfter(after)(pid)
		})
	default:
		moment := []string{"begun", "stored", "committed", "told"}[l.rng.IntN(4)]
		at := fmt.Sprintf("%s %d", moment, 1+l.rng.IntN(6*grown))
		cmd.Env = append(cmd.Env, "XRUN_TEST_KILL="+at)
	}
	return l.life(cmd, befall...)
}
