package hosts_test

import (
	"testing"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/hosts/hosttest"
)

func TestLocalIsAHost(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			hosttest.Run(t, func(t *testing.T) hosttest.Host { return newLocal(t, way) })
		})
	}
}

var _ hosttest.Host = (*hosts.Local)(nil)
