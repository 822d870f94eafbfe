package metric

import (
	"bytes"
	"fmt"
	"testing"
)

// ordinary is a log of about n bytes in which one line of 200 prints the metric.
func ordinary(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		switch {
		case i%200 == 199:
			fmt.Fprintf(&b, "step=%d val_loss: %.6f\n", i, 1/float64(i))
		case i%50 == 7:
			fmt.Fprintf(&b, "2026-11-30 18:00:00,123 WARNING loader: worker %d is slow, the queue holds %d batches\n", i%8, i%64)
		default:
			fmt.Fprintf(&b, "2026-11-30 18:00:00,%03d INFO trainer: batch %d of shard /data/train/part-%05d.tar done in %d ms, reading the next one\n", i%1000, i, i%512, i%90)
		}
	}
	return b.Bytes()
}

// steps is a log in which every line has a step and none the metric.
func stepLog(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "[rank0] epoch 3 step %d/100000 loss=%.4f lr=1.0e-04 tokens/s=%d\n", i, 2/float64(i+1), 10000+i%100)
	}
	return b.Bytes()
}

func benchmark(b *testing.B, log []byte, wants ...string) {
	var w []Want
	for _, n := range wants {
		w = append(w, Want{Name: n, Pick: "last"})
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	x := New(w, nil)
	for b.Loop() {
		for rest := log; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			x.Write(rest[:n])
			rest = rest[n:]
		}
	}
	x.Close(false)
}

func BenchmarkOrdinary(b *testing.B)  { benchmark(b, ordinary(64<<20), "val_loss") }
func BenchmarkShortName(b *testing.B) { benchmark(b, ordinary(64<<20), "val_loss", "acc") }
func BenchmarkAbsent(b *testing.B)    { benchmark(b, ordinary(64<<20), "val_accuracy") }
func BenchmarkStepLines(b *testing.B) { benchmark(b, stepLog(64<<20), "val_loss") }
func BenchmarkEveryLine(b *testing.B) { benchmark(b, stepLog(16<<20), "loss") }

func BenchmarkProgress(b *testing.B) {
	line := []byte("\r 37%|███▋      | 370/1000 [00:10<00:17, 36.8it/s, loss=0.42]")
	benchmark(b, bytes.Repeat(line, 16<<20/len(line)), "val_loss")
}

func BenchmarkColours(b *testing.B) {
	line := []byte("\x1b[32mINFO\x1b[0m the quick brown fox jumps over the lazy dog, again and again\n")
	benchmark(b, bytes.Repeat(line, 16<<20/len(line)), "val_loss")
}

func BenchmarkNoLineEnds(b *testing.B) {
	benchmark(b, bytes.Repeat([]byte("the quick brown fox "), 1<<20), "val_loss")
}
