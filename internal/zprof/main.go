package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/xrun-dev/xrun/internal/ledger"
	"github.com/xrun-dev/xrun/internal/report"
)

func main() {
	ctx := context.Background()
	f, _ := os.Create(os.Args[2])
	pprof.StartCPUProfile(f)
	for range 60 {
		t := time.Now()
		l, err := ledger.OpenReader(ctx, os.Args[1])
		if err != nil {
			panic(err)
		}
		run, _ := l.Find(ctx, "last")
		if os.Args[3] == "status" {
			s, _ := report.Standing(ctx, l, run)
			s.Status(report.StatusOptions{}).Text(io.Discard)
		} else {
			s, _ := report.Brief(ctx, l, run)
			s.Show(io.Discard, "", "")
		}
		l.Close()
		if len(os.Args) > 4 {
			fmt.Println(time.Since(t))
		}
	}
	pprof.StopCPUProfile()
}
