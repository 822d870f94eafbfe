package hosts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xrun-dev/xrun/internal/hosts"
)

// Memory that does not go away with its job keeps the GPU from the next one, until it has gone.
func TestMemoryThatStays(t *testing.T) {
	f := fakeMachine(t, 2)
	l := f.local(func(c *hosts.LocalConfig) { c.GPUPause = time.Second })
	fill := fmt.Sprintf(`sed -i 's/^0.*/0|%s|NVIDIA RTX 4090|24564|3000|0/' "$FAKE_GPU/gpus"`, f.uuids[0])
	if exit, _ := run(t, l, onGPUs(sh("fills", fill), hosts.GPUNeed{Count: 1})); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	c, err := l.Capacity(t.Context())
	if g := c.GPUs[0]; err != nil || g.State != hosts.GPUBusy || !strings.Contains(g.Why, "after its job: 3000 MB") {
		t.Errorf("%+v, %v", g, err)
	}
	if exit, log := run(t, l, onGPUs(sh("next", "echo $CUDA_VISIBLE_DEVICES"), hosts.GPUNeed{Count: 1})); exit.Code != 0 || log != f.uuids[1]+"\n" {
		t.Errorf("%+v, log %q", exit, log)
	}
	f.set("gpus", fmt.Sprintf("0|%s|NVIDIA RTX 4090|24564|4|0", f.uuids[0]), fmt.Sprintf("1|%s|NVIDIA A100|81920|4|0", f.uuids[1]))
	if exit, _ := run(t, l, onGPUs(sh("both", "true"), hosts.GPUNeed{Count: 2})); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if c, _ := l.Capacity(t.Context()); c.GPUs[0].State != hosts.GPUFree {
		t.Errorf("%+v", c.GPUs[0])
	}
}
