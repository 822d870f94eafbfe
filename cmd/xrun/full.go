package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/xrun-dev/xrun/internal/hosts"
	"github.com/xrun-dev/xrun/internal/ledger"
)

// diskFull makes of the error of a full disk one that says where room has to be made; any other it leaves as it is.
func (a *app) diskFull(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) && !errors.Is(err, hosts.ErrDiskFull) {
		return err
	}
	where := ""
	if f, ok := errors.AsType[*ledger.FullError](err); ok {
		if f.Path != "" {
			where = filepath.Dir(f.Path)
		}
	} else if f, ok := errors.AsType[*os.PathError](err); ok {
		if strings.HasPrefix(f.Path, "/dev/") {
			return err // its output
		}
		where = filepath.Dir(f.Path)
	}
	e := &cliError{code: exitError, kind: "disk_full"}
	first, _, _ := strings.Cut(err.Error(), "\n") // what follows is the same disk
	e.msg = "the disk is full: " + first
	if where != "" {
		e.msg = fmt.Sprintf("the disk of %s is full: %s", where, first)
	}
	e.hint = "make room there; then `xrun resume` goes on: nothing that finished is lost, and what runs is left alone"
	return e
}
