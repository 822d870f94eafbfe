package hosts

import (
	"encoding/json"
	"io"
	"os"
	"slices"
)

// fileGPU is what a job's supervisor writes about its GPUs: which they are before anything runs, then what was seen of
// them.
const fileGPU = "gpu"

// A gpuRecord is the content of fileGPU.
type gpuRecord struct {
	GPUs []GPU `json:"gpus"`
	// Links are the descriptors that only this job has, as /proc/PID/fd shows them.
	Links  []string `json:"links"`
	PeakMB *float64 `json:"peak_mb"`
	Util   float64  `json:"util"` // the sum of Seen values, in percent
	Seen   int      `json:"seen"`
}

// mean is the mean utilisation; nil if none was seen.
func (g gpuRecord) mean() *float64 {
	if g.Seen == 0 {
		return nil
	}
	m := g.Util / float64(g.Seen)
	return &m
}

func (d jobDir) readGPUs() (gpuRecord, bool) {
	var g gpuRecord
	f, err := openRegular(d.file(fileGPU))
	if f == nil || err != nil {
		return g, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return g, err == nil && json.Unmarshal(b, &g) == nil
}

// writeGPUs replaces the record, so that a reader never sees half of one.
func (d jobDir) writeGPUs(g gpuRecord) error {
	b, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := writeSmall(d.file(fileGPU+".new"), b); err != nil {
		return err
	}
	return os.Rename(d.file(fileGPU+".new"), d.file(fileGPU))
}

// hasGPU reports whether the job was given a GPU.
func (d jobDir) hasGPU(uuid string) bool {
	g, ok := d.readGPUs()
	return ok && slices.ContainsFunc(g.GPUs, func(g GPU) bool { return g.UUID == uuid })
}

// addGPUs tells in an exit what was seen of the job's GPUs.
func (d jobDir) addGPUs(e *Exit) {
	if g, ok := d.readGPUs(); ok {
		e.GPUs, e.PeakGPUMB, e.GPUUtilMean = g.GPUs, g.PeakMB, g.mean()
	}
}
