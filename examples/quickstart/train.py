"""Trains a network with one hidden layer on Fisher's Iris data, with the standard library alone.

Prints a line per epoch, and at the end what it has learnt:

    epoch=12 train_loss=0.2107 val_loss=0.2389
    val_accuracy=0.9667
"""

import argparse
import csv
import math
import pathlib
import random


def load():
    """Returns the rows as (four measurements, index of the species)."""
    path = pathlib.Path(__file__).with_name("iris.csv")
    with path.open(newline="") as f:
        rows = list(csv.DictReader(f))
    species = sorted({r["species"] for r in rows})
    names = [n for n in rows[0] if n != "species"]
    return [([float(r[n]) for n in names], species.index(r["species"])) for r in rows]


def split(rows, seed):
    """Shuffles by the seed; a third validates. Scales by what training sees only."""
    rows = rows[:]
    random.Random(seed).shuffle(rows)
    n = len(rows) // 3
    val, train = rows[:n], rows[n:]
    columns = list(zip(*[x for x, _ in train]))
    mean = [sum(c) / len(c) for c in columns]
    sd = [math.sqrt(sum((v - m) ** 2 for v in c) / len(c)) for c, m in zip(columns, mean)]

    def scale(part):
        return [([(v - m) / s for v, m, s in zip(x, mean, sd)], y) for x, y in part]

    return scale(train), scale(val)


class Network:
    """tanh, then softmax; each row of weights ends in its bias."""

    def __init__(self, inputs, hidden, outputs, rng):
        def layer(n, m):
            return [[rng.gauss(0, 1 / math.sqrt(m)) for _ in range(m)] + [0.0] for _ in range(n)]

        self.w1, self.w2 = layer(hidden, inputs), layer(outputs, hidden)

    def forward(self, x):
        h = [math.tanh(sum(w * v for w, v in zip(row, x)) + row[-1]) for row in self.w1]
        z = [sum(w * v for w, v in zip(row, h)) + row[-1] for row in self.w2]
        top = max(z)
        e = [math.exp(v - top) for v in z]
        total = sum(e)
        return h, [v / total for v in e]

    def step(self, x, y, lr):
        """One step of stochastic gradient descent on the cross-entropy."""
        h, p = self.forward(x)
        dz = [v - (k == y) for k, v in enumerate(p)]
        dh = [(1 - v * v) * sum(d * row[j] for d, row in zip(dz, self.w2)) for j, v in enumerate(h)]
        for d, row in zip(dz, self.w2):
            for j, v in enumerate(h):
                row[j] -= lr * d * v
            row[-1] -= lr * d
        for d, row in zip(dh, self.w1):
            for j, v in enumerate(x):
                row[j] -= lr * d * v
            row[-1] -= lr * d

    def score(self, rows):
        """Returns mean cross-entropy and accuracy."""
        loss = hits = 0
        for x, y in rows:
            p = self.forward(x)[1]
            loss -= math.log(max(p[y], 1e-12))
            hits += p[y] == max(p)
        return loss / len(rows), hits / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    train, val = split(load(), args.seed)
    rng = random.Random(args.seed)
    net = Network(len(train[0][0]), args.hidden, 3, rng)
    for epoch in range(1, args.epochs + 1):
        rng.shuffle(train)
        for x, y in train:
            net.step(x, y, args.lr)
        loss, accuracy = net.score(val)
        print(f"epoch={epoch} train_loss={net.score(train)[0]:.4f} val_loss={loss:.4f}", flush=True)
    print(f"val_accuracy={accuracy:.4f}")


if __name__ == "__main__":
    main()
