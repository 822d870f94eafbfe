package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// cronPath is the PATH that cron gives.
const cronPath = "/usr/bin:/bin"

// cron looks again in a process of its own, as cron would start it: without a terminal, in another directory, and with an
// environment of two variables. What holds here and not there is missing in the crontab.
func (d *doctor) cron(ctx context.Context) error {
	self, err := supervisor()
	if err != nil {
		return err
	}
	args := []string{"-C", d.app.Dir}
	for _, t := range d.app.Tags {
		args = append(args, "-t", t)
	}
	if d.app.State != "" {
		args = append(args, "--state", d.app.State)
	}
	if d.app.Inventory != "" {
		args = append(args, "--inventory", d.app.Inventory)
	}
	args = append(append(args, "doctor", "-o", "json", "--"), d.paths...)
	cmd := exec.CommandContext(ctx, self[0], args...)
	cmd.Args[0] = "xrun"
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), "PATH=" + cronPath}
	out, err := cmd.Output()
	var there checkedUp
	if e := json.NewDecoder(bytes.NewReader(out)).Decode(&there); e != nil {
		return fmt.Errorf("look again as cron would: %w", errors.Join(err, e))
	}
	here := map[string]bool{}
	for _, k := range d.found {
		here[k.Check+k.State+k.Message] = true
	}
	missing := 0
	for _, k := range there.Checks {
		if k.State == checkOK || here[k.Check+k.State+k.Message] {
			continue
		}
		missing++
		k.Message = fmt.Sprintf("started by cron: %s: %s", k.Check, k.Message)
		k.Check = "cron"
		k.code = exitError
		d.found = append(d.found, k)
	}
	if missing == 0 {
		d.ok("cron", "with HOME and PATH=%s alone it is the same", cronPath)
	}
	if path := os.Getenv("PATH"); missing > 0 && path != cronPath {
		d.ok("cron", "to give cron this PATH, write in the crontab: PATH=%s", path)
	}
	return nil
}
