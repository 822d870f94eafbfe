//go:build unix && !linux

package hosts

import "fmt"

// These systems have no GPU that nvidia-smi knows: what follows is never used there.

func announce(*lease, holder) error { return nil }

func (l *lease) link() string { return "" }

func (h holder) remains(string) int { return 0 }

func markerOf(int) (string, bool) { return "", false }

func processName(pid int, _ string) string { return fmt.Sprintf("pid %d", pid) }
