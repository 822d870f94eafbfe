package hosts

import (
	"errors"
	"time"
)

// A Job is one attempt as a host sees it: what to run, where, for how long at most. Its ID is unique for ever and safe
// as a file name. Starting a job that was started before changes nothing.
type Job struct {
	ID   string
	Argv []string
	// Env is NAME=value, in this order, on top of what the host has: its own environment, its prelude, its env.
	Env    []string
	Tree   Tree
	Limits Limits
	// GPUs are those that it gets to itself, or shares as they say; nil: none.
	GPUs *GPUNeed
	// Params is the content of the file that Place.Params names.
	Params []byte
	// Setup comes before the command, Evaluate after one that ended well; nil: nothing does.
	Setup    *Setup
	Evaluate *Evaluation
	// Checkpoint is a directory below Place.Checkpoint that is deleted when the job ends well; "": none.
	Checkpoint string
}

// A Step is a program that runs beside the command of a job, with a log and limits of its own.
type Step struct {
	Argv []string
	Env  []string      // as that of a Job, instead of it
	Time time.Duration // from start to end; 0 is no limit
}

// A Setup runs in the job's tree, unless one with its Key succeeded on this host before. What it makes goes into the
// directory Key below Place.Setup, which is empty when it starts; those that wait for it wait.
type Setup struct {
	Step
	Key string
}

// An Evaluation runs when everything that the command started is gone, in a copy of Tree that nobody has touched, with
// the files that Files (names or globs) select below Place.Out, else below the job's tree.
type Evaluation struct {
	Step
	Tree  Tree
	Files []string
}

// Limits of a job. 0 is no limit.
type Limits struct {
	Time    time.Duration // from start to end
	Silence time.Duration // without output
	Grace   time.Duration // between TERM and KILL
	// Signal (USR1, USR2 or TERM) is sent to everything of the command that long before Time; "": none.
	Signal string
	Ahead  time.Duration
}

// A Tree is the code that is put into a job's working directory. Blobs is a directory that holds the bytes of each file
// under its sha256.
type Tree struct {
	ID    string
	Blobs string
	Files []TreeFile
}

// A TreeFile is one file of a Tree, by slash-separated path relative to its root. Mode is "100644", "100755" or
// "120000"; the bytes of a link are its target.
type TreeFile struct {
	Path, Mode, SHA256 string
}

// A Place is where a job lies on its host: absolute paths there.
type Place struct {
	Dir        string // the job directory
	Tree       string // the working directory
	Out        string // what the command writes there are artifacts
	Log        string
	Params     string // JSON of the parameters
	Checkpoint string // the directory in which those of trials lie, each under a name that the job's XRUN_CHECKPOINT_DIR gives
	Setup      string // the directory in which those of setups lie, by key
	Port       int    // a TCP port of the host that was free a moment ago, given to no other job
}

// A Want says which files of an ended job come home besides its log: everything in Place.Out, and what Tree selects of
// the working directory (slash-separated paths; nil is none). A name that both have is that of Place.Out. Limit bounds
// the bytes of all of them; 0 is no limit. What Keep selects stays on the host for good (nil is nothing).
type Want struct {
	Limit int64
	Tree  func(path string) bool
	Keep  func(path string) bool
}

// Brought says what became of the files of an ended job: slash-separated paths, sorted.
type Brought struct {
	Artifacts []string // came home
	Kept      []string // stay on the host, below KeptDir: what was to be kept, and what was Left
	KeptDir   string   // absolute there
	Left      []string // would have been more than the limit, which are Kept too, or cannot be brought; "." is all of Place.Out
}

// Capacity is what a host can take now.
type Capacity struct {
	Slots int // jobs that run at once
	Ahead int // further jobs that may be queued there, so that a slot never waits for us
	// What the machine has: 0 is not known. Memory is all of it, Disk what is free where the jobs lie; in bytes.
	CPUs         int
	Memory, Disk int64
	// GPUs that serve; each takes the jobs that need one, which take no slot. Note says what does not hold here, or why
	// there are none.
	GPUs []GPUInfo
	Note string
}

// Phase is where a job stands on its host.
type Phase string

// The phases of a job.
const (
	Queued  Phase = "queued" // handed over, not yet running
	Running Phase = "running"
	Ended   Phase = "ended"
)

// Status is news of a job.
type Status struct {
	Phase   Phase
	PID     int       // of its first process; 0 if unknown
	Started time.Time // by the host's clock: for display only
	GPUs    []GPU     // of one that runs
	Why     string    // of a queued one: what it waits for, if that is more than its turn
	// Over is said of one whose running was never seen: it has ended, and what is left to tell is its log.
	Over bool
}

// End says how a job ended.
type End string

// The ends of a job.
const (
	Exited       End = "exited"
	TimedOut     End = "timeout"
	Silent       End = "silence"
	Stopped      End = "stopped"  // we asked for it
	Vanished     End = "vanished" // its supervisor is gone and left no exit file
	NeverStarted End = "never_started"
	GPULost      End = "gpu_lost" // one of its GPUs is not there any more
)

// An Exit is the outcome of a job.
type Exit struct {
	End      End
	Code     int // exit status; 128 + signal number if a signal ended it; -1 unknown
	Duration time.Duration
	LogBytes int64
	Started  time.Time
	Reason   string // of Stopped: what Stop was given; of Vanished, NeverStarted: what is known
	// Step is "setup" or "evaluate" where not the command failed or was ended, but that.
	Step string
	// Path is the PATH that a program had which ended with another status than 0; "" where it is not known.
	Path string
	// DiskFull: where its log and its files lie there was no room when it ended. What they should say may be missing.
	DiskFull bool
	// GPUs that it had. PeakGPUMB is the most memory that was seen in use on one of them, GPUUtilMean their utilisation
	// in percent; nil: not known.
	GPUs                   []GPU
	PeakGPUMB, GPUUtilMean *float64
}

// An Observer hears what happens to one job, in order, from one goroutine at a time. Log gets the bytes of the log in
// pieces of any length; it must not keep them.
type Observer interface {
	Status(Status)
	Log(p []byte)
}

// ErrUnreachable is the error of a host that does not answer. What its jobs do is then unknown.
var ErrUnreachable = errors.New("host does not answer")
