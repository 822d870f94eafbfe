package plan

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
)

// samples draws the points of a random search. Each parameter has a generator of its own (PCG, seeded with the seed and
// the parameter's name), so that a larger n keeps the first samples and a further parameter does not change the others.
func (r *Random) samples() block {
	out := make(block, r.N)
	for _, d := range r.Params {
		h := fnv.New64a()
		h.Write([]byte(d.Name))
		g := rand.New(rand.NewPCG(r.Seed, h.Sum64()))
		for i := range out {
			out[i] = append(out[i], Param{d.Name, d.draw(g)})
		}
	}
	return out
}

// draw takes one value. Numbers have 12 significant digits at most; both bounds of an int can be drawn.
func (d Dist) draw(g *rand.Rand) Value {
	if d.Dist == "choice" {
		return d.Values[g.IntN(len(d.Values))]
	}
	if d.Dist == "int" {
		lo, hi := d.Min.rat().Num(), d.Max.rat().Num()
		width := new(big.Int).Sub(hi, lo)
		if !width.IsUint64() || width.Uint64() == math.MaxUint64 {
			width.SetUint64(math.MaxUint64 - 1)
		}
		n := new(big.Int).SetUint64(g.Uint64N(width.Uint64() + 1))
		return Value{Number, n.Add(n, lo).String()}
	}
	lo, _ := d.Min.Float64()
	hi, _ := d.Max.Float64()
	u := g.Float64()
	if d.Dist == "loguniform" {
		return FloatValue(min(hi, max(lo, round(math.Exp(math.Log(lo)+u*(math.Log(hi)-math.Log(lo)))))))
	}
	// Not lo + u*(hi-lo): the width may be more than a float64 holds.
	return FloatValue(min(hi, max(lo, round((1-u)*lo+u*hi))))
}
