package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
)

func main() {
	n, _ := strconv.Atoi(os.Args[2])
	dir := os.Args[1]
	if len(os.Args) > 3 {
		f, _ := os.Create(os.Args[3])
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	os.MkdirAll(dir, 0o700)
	ctx := context.Background()
	l, err := ledger.Open(ctx, dir)
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(bs ...ledger.Body) {
		var es []ledger.Event
		for _, b := range bs {
			at = at.Add(time.Millisecond)
			es = append(es, ledger.New("20260101-aaaa", at, b))
		}
		if err := l.Append(ctx, es...); err != nil {
			panic(err)
		}
	}
	add(ledger.RunStarted{Command: []string{"xrun", "run"}, PlanDigest: "abc", HostUser: "me@here"}, ledger.CodeStored{ID: "code1", Files: []ledger.CodeFile{{Path: "a.py", SHA256: "x"}}})
	var vals, lrs []string
	for i := range n / 4 {
		vals = append(vals, fmt.Sprint(i))
	}
	for _, lr := range []string{"0.1", "0.01", "0.001", "0.0001"} {
		lrs = append(lrs, lr)
	}
	add(ledger.ExperimentPlanned{Name: "big", Kind: "sweep", Objective: ledger.Objective{Metric: "acc", Direction: "maximize", Pick: "last"}, Axes: []ledger.Axis{{Name: "lr", Values: lrs, Ordered: true}, {Name: "i", Values: vals, Ordered: true}}, Code: "code1", Trials: n, Hosts: []string{"local"}, Spec: json.RawMessage(`{}`)})
	add(ledger.HostState{Host: "local", Kind: "local", Slots: 8, State: "serving"})
	var bs []ledger.Body
	key := func(i int) ledger.Key { return ledger.Key{"big", fmt.Sprintf("%08x%08x", uint32(i*2654435761), i)} }
	for i := range n {
		k := key(i)
		bs = append(bs, ledger.TrialPlanned{Key: k, Index: i, Params: json.RawMessage(fmt.Sprintf(`{"lr":%s,"i":%d,"batch":32,"model":"base"}`, lrs[i%4], i/4)), Seed: 0, Point: fmt.Sprintf("p%032d", i), Code: "code1", Command: []string{"python", "train.py", "--lr=" + lrs[i%4], fmt.Sprint("--i=", i/4)}, Parts: map[string]string{"code": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "command": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "params": fmt.Sprintf("%032x", i), "seed": "cccccccccccccccccccccccccccccc", "env": "dddddddddddddddddddddddddddddddd"}, Why: "new"})
		if len(bs) >= 4000 {
			add(bs...)
			bs = bs[:0]
		}
	}
	for i := range n {
		k := key(i)
		a := ledger.Attempt{k, 1}
		v := ledger.Number(float64((i*7919)%n) / float64(n))
		started := at
		zero := 0
		bs = append(bs, ledger.AttemptIntended{Attempt: a, Host: "local", Job: fmt.Sprint("job", i), JobDir: "/home/me/proj/.xrun/jobs/" + fmt.Sprint("job", i)}, ledger.AttemptStarted{Attempt: a, PID: 1000 + i, At: &started},
			ledger.MetricValues{Attempt: a, Metric: "acc", Values: []ledger.MetricValue{{Value: v, Line: 1}}})
		f := ledger.AttemptFinished{Attempt: a, Host: "local", State: ledger.Succeeded, ExitCode: &zero, Started: &started, DurationS: 0.0123, Objective: &v, Metrics: map[string]ledger.Number{"acc": v, "loss": v}, Picks: map[string]string{"acc": "last"}, Log: "runs/20260101-aaaa/big/" + k.Trial + "/attempt-1/log"}
		t := ledger.TrialFinished{Key: k, State: ledger.Succeeded, Attempt: 1}
		if i%500 == 77 {
			one := 1
			f.State, f.Cause, f.Message, f.Signature, f.Excerpt, f.ExitCode, f.Objective, f.Metrics = ledger.Failed, "exit", "exit status 1", fmt.Sprintf("exit 1: boom %d", i%3), "boom\n", &one, nil, nil
			t.State, t.Cause, t.Message = ledger.Failed, "exit", "exit status 1"
		}
		bs = append(bs, f, t)
		if len(bs) >= 4000 {
			add(bs...)
			bs = bs[:0]
		}
	}
	add(bs...)
	add(ledger.ExperimentFinished{Name: "big", StopReason: "complete"}, ledger.RunFinished{Outcome: "some_failed", ExitCode: 3})
	if err := l.Close(); err != nil {
		panic(err)
	}
}
