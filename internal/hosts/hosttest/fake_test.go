package hosttest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
)

func TestFakeIsAHost(t *testing.T) {
	hosttest.Run(t, func(*testing.T) hosttest.Host { return hosttest.NewFake("fake", 2, hosttest.Behave) })
}

type deaf struct{}

func (deaf) Status(hosts.Status) {}
func (deaf) Log([]byte)          {}

// A job of four hours takes no time in a bubble, and a host that is away gives its jobs back.
func TestFakeLivesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := hosttest.NewFake("fake", 1, func(hosts.Job) hosttest.Script {
			return hosttest.Script{Took: 4 * time.Hour, Later: []hosttest.Line{{After: time.Hour, Text: "loss=1\n"}}}
		})
		began := time.Now()
		for _, err := range f.Start(t.Context(), []hosts.Job{{ID: "a"}, {ID: "b"}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(2*time.Hour, func() { f.Unreachable(true) })
		if _, err := f.Watch(t.Context(), "a", deaf{}); !errors.Is(err, hosts.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Hour)
		f.Unreachable(false)
		for i, id := range []string{"a", "b"} {
			exit, err := f.Watch(t.Context(), id, deaf{})
			if err != nil || exit.Duration != 4*time.Hour || exit.LogBytes != 7 {
				t.Errorf("%s: %+v, %v", id, exit, err)
			}
			if got, want := time.Since(began), time.Duration(i+1)*4*time.Hour; got != want {
				t.Errorf("%s ended after %v, want %v", id, got, want)
			}
		}
	})
}
