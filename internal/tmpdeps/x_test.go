package tmpdeps

import (
	_ "cuelang.org/go/cmd/cue/cmd"
	_ "cuelang.org/go/cue"
	_ "cuelang.org/go/cue/cuecontext"
	_ "cuelang.org/go/cue/format"
	_ "cuelang.org/go/cue/load"
	_ "cuelang.org/go/mod/modconfig"
	_ "github.com/alecthomas/kong"
	_ "github.com/go-git/go-git/v5"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hashicorp/go-hclog"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "gonum.org/v1/gonum/stat/distuv"
	_ "modernc.org/sqlite"
)
