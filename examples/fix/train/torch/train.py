#!/usr/bin/env python3
"""Trains the one-line-repair model with PyTorch, where there is a GPU.

It reads the dataset files and the checkpoints of `train`, computes the same network and the same loss, changes the weights
by the same rules (Muon and AdamW), and writes a checkpoint that `train export` makes a GGUF file of. Nothing depends on
it: what it does, the Go trainer does too.

    python3 train.py --data edits.set:3,reads.set:1 --valid heldout.set --minutes 20 --out model.ckpt
    python3 train.py --data heldout.set --init model.ckpt --loss        # only the loss, as the Go trainer computes it

It needs Python 3.9, numpy, and torch 1.13 or newer. The shape is that of `--init`, else of `--shape`, given as JSON:
Dim, Layers, Heads, KVHeads, HeadDim, Experts (0: dense), Active, FF, Context, RopeBase. Differences to the Go trainer:
a checkpoint holds weights only, so a run that was stopped starts its optimiser and its schedule anew; and the order of
the data is another.
"""
import argparse, json, math, os, struct, sys, time, zlib
import numpy as np
import torch
import torch.nn.functional as F

MAIN = dict(Vocab=2048, Dim=192, Layers=6, Heads=6, KVHeads=2, HeadDim=32, Experts=8, Active=2, FF=192, Context=1024, RopeBase=10000)


# Files

def load_set(path):
    """The examples of a dataset file: its vocabulary, and a list of tokens and weights. See package dataset."""
    b = np.fromfile(path, np.uint8)
    if b[:8].tobytes() != b"luthset1":
        sys.exit(f"{path} is not a file of training examples")
    vocab, crc, count = struct.unpack("<IIQ", b[8:24].tobytes())
    if zlib.crc32(b[24:]) != crc:
        sys.exit(f"{path} was damaged: its checksum is wrong")
    at, out = 24, []
    for _ in range(count):
        n = int.from_bytes(b[at:at + 4].tobytes(), "little")
        tokens = np.frombuffer(b[at + 5:at + 5 + 2 * n].tobytes(), "<u2").astype(np.int64)
        weights = b[at + 5 + 2 * n:at + 5 + 3 * n].astype(np.float32) / 100
        out.append((tokens, weights))
        at += 5 + 3 * n
    return vocab, out


def load_checkpoint(path):
    """The shape and the flat weights of a checkpoint, a GGUF file."""
    with open(path, "rb") as f:
        b = f.read()
    at = 8

    def take(fmt):
        nonlocal at
        v = struct.unpack_from("<" + fmt, b, at)
        at += struct.calcsize("<" + fmt)
        return v[0]

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return b[at - n:at].decode()

    if b[:4] != b"GGUF":
        sys.exit(f"{path} is not a checkpoint")
    tensors, keys = take("Q"), {}
    for _ in range(take("Q")):
        key, kind = text(), take("I")
        keys[key] = text() if kind == 8 else take({4: "I", 6: "f", 7: "?", 10: "Q"}[kind])
    if keys.get("general.architecture") != "luthier-checkpoint":
        sys.exit(f"{path} is not a checkpoint of a training run")
    places = {}
    for _ in range(tensors):
        name = text()
        size = math.prod([take("Q") for _ in range(take("I"))])
        kind, offset = take("I"), take("Q")
        places[name] = (offset, size)
    at = (at + 31) // 32 * 32
    offset, size = places["weights"]
    return json.loads(keys["luthier.shape"]), np.frombuffer(b, "<f4", size, at + offset)


def save_checkpoint(path, shape, flat):
    """Writes what load_checkpoint and Go's train.LoadModel read. The file appears under its name complete or not at all."""
    def text(s):
        s = s.encode()
        return struct.pack("<Q", len(s)) + s

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 2)
    for key, value in (("general.architecture", "luthier-checkpoint"), ("luthier.shape", json.dumps(shape))):
        head += text(key) + struct.pack("<I", 8) + text(value)
    head += text("weights") + struct.pack("<IQIQ", 1, flat.size, 0, 0)
    head += b"\0" * (-len(head) % 32)
    body = flat.astype("<f4").tobytes()
    with open(path + ".tmp", "wb") as f:
        f.write(head + body + b"\0" * (-len(body) % 32))
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".tmp", path)


# The network

def layout(s):
    """The weights in the order of a checkpoint: name, role, rows, columns."""
    d, q, kv = s["Dim"], s["Heads"] * s["HeadDim"], s["KVHeads"] * s["HeadDim"]
    yield "embed", "embed", s["Vocab"], d
    for i in range(s["Layers"]):
        yield f"{i}.attn_norm", "norm", 1, d
        for name, rows in (("q", q), ("k", kv), ("v", kv)):
            yield f"{i}.{name}", "matrix", rows, d
        yield f"{i}.q_norm", "norm", 1, s["HeadDim"]
        yield f"{i}.k_norm", "norm", 1, s["HeadDim"]
        yield f"{i}.out", "output", d, q
        yield f"{i}.ffn_norm", "norm", 1, d
        if s["Experts"]:
            yield f"{i}.router", "router", s["Experts"], d
        for e in range(max(1, s["Experts"])):
            yield f"{i}.gate.{e}", "matrix", s["FF"], d
            yield f"{i}.up.{e}", "matrix", s["FF"], d
            yield f"{i}.down.{e}", "output", d, s["FF"]
    yield "norm", "norm", 1, d


def initial(s, generator):
    """Random weights as those of Go's train.New."""
    parts = []
    for _, role, rows, cols in layout(s):
        scale = {"embed": 0.05, "router": 0.02, "matrix": 0.5 / math.sqrt(cols)}.get(role, 0)
        part = torch.randn(rows * cols, generator=generator) * scale
        parts.append(part + (role == "norm"))
    return torch.cat(parts).numpy()


class Net:
    def __init__(self, shape, flat, device):
        self.s, self.w, self.roles, at = shape, {}, {}, 0
        for name, role, rows, cols in layout(shape):
            part = torch.tensor(flat[at:at + rows * cols].reshape((cols,) if role == "norm" else (rows, cols)), device=device)
            self.w[name], self.roles[name] = part.requires_grad_(), role
            at += rows * cols
        if at != len(flat):
            sys.exit(f"the checkpoint has {len(flat)} weights, its shape needs {at}")
        half = shape["HeadDim"] // 2
        wave = (shape.get("RopeBase") or 10000.0) ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.arange(shape["Context"], dtype=torch.float64)[:, None] * wave
        self.cos, self.sin = angles.cos().float().to(device), angles.sin().float().to(device)

    def flat(self):
        return np.concatenate([p.detach().cpu().numpy().ravel() for p in self.w.values()])

    def norm(self, x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.w[name]

    def turn(self, x):
        """Rotates heads [batch, heads, time, width] by their positions; halves layout."""
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[:x.shape[2]], self.sin[:x.shape[2]]
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def attend(self, i, x):
        s, (n, t, _) = self.s, x.shape
        h = self.norm(x, f"{i}.attn_norm")
        q, k, v = ((h @ self.w[f"{i}.{p}"].T).view(n, t, -1, s["HeadDim"]).transpose(1, 2) for p in "qkv")
        q, k = self.turn(self.norm(q, f"{i}.q_norm")), self.turn(self.norm(k, f"{i}.k_norm"))
        group = s["Heads"] // s["KVHeads"]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        if hasattr(F, "scaled_dot_product_attention"):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / math.sqrt(s["HeadDim"])
            later = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
            o = scores.masked_fill(later, -math.inf).softmax(-1) @ v
        return o.transpose(1, 2).reshape(n, t, -1) @ self.w[f"{i}.out"].T

    def expert(self, i, e, h):
        return (F.silu(h @ self.w[f"{i}.gate.{e}"].T) * (h @ self.w[f"{i}.up.{e}"].T)) @ self.w[f"{i}.down.{e}"].T

    def feed(self, i, x):
        """What the experts make of tokens [tokens, width], how uneven they are loaded, and the busiest one's load over the mean."""
        s, h = self.s, self.norm(x, f"{i}.ffn_norm")
        if not s["Experts"]:
            return self.expert(i, 0, h), 0.0, 0.0
        probs = (h @ self.w[f"{i}.router"].T).softmax(-1)
        weight, choice = probs.topk(s["Active"], -1)
        weight = weight / weight.sum(-1, keepdim=True).clamp_min(2.0 ** -14)
        out = torch.zeros_like(x)
        for e in range(s["Experts"]):
            rows, slot = (choice == e).nonzero(as_tuple=True)
            out = out.index_add(0, rows, self.expert(i, e, h[rows]) * weight[rows, slot, None])
        share = torch.bincount(choice.ravel(), minlength=s["Experts"]) / choice.numel()
        return out, s["Experts"] * (share * probs.mean(0)).sum(), float(share.max()) * s["Experts"]

    def loss(self, tokens, weights, real):
        """Of a batch padded at the right: the weighted cross entropy summed up, the balancing loss, decisions, hits, load."""
        x, balance, load = F.embedding(tokens, self.w["embed"]), 0.0, 0.0
        for i in range(self.s["Layers"]):
            x = x + self.attend(i, x)
            out, uneven, busiest = self.feed(i, x[real])
            x = x.index_put((real,), x[real] + out)
            balance, load = balance + uneven, max(load, busiest)
        gain, target = weights[:, 1:], tokens[:, 1:]
        counts = gain != 0
        gain, target = gain[counts], target[counts]
        logits = self.norm(x[:, :-1][counts], "norm") @ self.w["embed"].T
        entropy = (F.cross_entropy(logits, target, reduction="none") * gain).sum()
        decisions = gain >= 0.995
        hits = (logits.argmax(-1) == target)[decisions].sum()
        return entropy, balance, int(decisions.sum()), int(hits), load


# Learning

class Optimiser:
    """Muon for matrices inside the layers (Keller Jordan), AdamW for everything else; the rules of package train."""

    def __init__(self, net, rate):
        self.net, self.rate, self.steps = net, rate, 0
        self.momentum = {k: torch.zeros_like(p) for k, p in net.w.items()}
        self.square = {k: torch.zeros_like(p) for k, p in net.w.items()}

    @torch.no_grad()
    def step(self, factor):
        grads = {k: torch.zeros_like(p) if p.grad is None else p.grad for k, p in self.net.w.items()}
        norm = math.sqrt(sum(float(g.double().pow(2).sum()) for g in grads.values()))
        if not math.isfinite(norm):
            return norm
        self.steps += 1
        alike = {}
        for k, p in self.net.w.items():
            g = grads[k] * min(1.0, 1.0 / max(norm, 1e-30))
            if self.net.roles[k] in ("matrix", "output"):
                self.momentum[k].mul_(0.95).add_(g)
                alike.setdefault(tuple(p.shape), []).append((p, g + 0.95 * self.momentum[k]))
            else:
                self.adam(k, p, g, factor * self.rate * 1.5)
        for (rows, cols), pairs in alike.items():
            steps = orthogonal(torch.stack([m for _, m in pairs]))
            rate = factor * self.rate
            for (p, _), step in zip(pairs, steps):
                p.mul_(1 - rate * 0.1).sub_(step, alpha=rate * 0.2 * math.sqrt(max(rows, cols)))
        return norm

    def adam(self, k, p, g, rate):
        m, v = self.momentum[k], self.square[k]
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.95).addcmul_(g, g, value=0.05)
        if self.net.roles[k] == "router":
            p.mul_(1 - rate * 0.1)
        correct = math.sqrt(1 - 0.95 ** self.steps)
        p.sub_(rate * correct / (1 - 0.9 ** self.steps) * m / (v.sqrt() + 1e-10 * correct))


def orthogonal(x):
    """Replaces each U·S·Vᵀ of a stack by about U·Vᵀ: five Newton-Schulz iterations."""
    tall = x.shape[1] > x.shape[2]
    if tall:
        x = x.transpose(1, 2)
    x = x / (x.pow(2).sum((1, 2), keepdim=True).sqrt() + 1e-7)
    for _ in range(5):
        a = x @ x.transpose(1, 2)
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.transpose(1, 2) if tall else x


class Mix:
    """Draws batches from several sets so that each gives its share of the tokens, in random orders."""

    def __init__(self, sources, context, rng):
        self.sources, self.context, self.rng = sources, context, rng
        self.used, self.orders = [0.0] * len(sources), [[] for _ in sources]

    def batch(self, size):
        out, n = [], 0
        while n < size:
            i = min(range(len(self.sources)), key=lambda j: self.used[j] / self.sources[j][1])
            if not self.orders[i]:
                self.orders[i] = list(self.rng.permutation(len(self.sources[i][0])))
            tokens, weights = self.sources[i][0][self.orders[i].pop()]
            out.append((tokens[-self.context:], weights[-self.context:]))
            n, self.used[i] = n + len(out[-1][0]), self.used[i] + len(out[-1][0])
        return out


def padded(batch, device):
    """A batch as rectangles: tokens, weights, and where there are tokens."""
    width = max(len(t) for t, _ in batch)
    tokens, weights = np.zeros((len(batch), width), np.int64), np.zeros((len(batch), width), np.float32)
    real = np.zeros((len(batch), width), bool)
    for i, (t, w) in enumerate(batch):
        tokens[i, :len(t)], weights[i, :len(t)], real[i, :len(t)] = t, w, True
    return (torch.from_numpy(a).to(device) for a in (tokens, weights, real))


def sources(text, vocab, context):
    """The sets of file:share,file:share…"""
    out = []
    for item in text.split(","):
        path, _, share = item.partition(":")
        size, examples = load_set(path)
        if size != vocab:
            sys.exit(f"{path} has a vocabulary of {size}, the model one of {vocab}")
        if not examples:
            sys.exit(f"{path} has no examples")
        out.append((examples, float(share or 1)))
    return out


@torch.no_grad()
def evaluate(net, sets, size, device):
    """Mean weighted loss and part of decisions hit."""
    context, loss, weight, decisions, hits = net.s["Context"], 0.0, 0.0, 0, 0
    examples = sorted((e for s, _ in sets for e in s), key=lambda e: len(e[0]))
    while examples:
        width, take = min(len(examples[-1][0]), context), []
        while examples and (len(take) + 1) * width <= max(size, width):
            t, w = examples.pop()
            take.append((t[-context:], w[-context:]))
        entropy, _, n, hit, _ = net.loss(*padded(take, device))
        loss, weight = loss + float(entropy), weight + sum(float(np.abs(w[1:]).sum()) for _, w in take)
        decisions, hits = decisions + n, hits + hit
    return loss / max(weight, 1e-30), hits / max(decisions, 1)


def learn(net, mix, args, device):
    """Trains for some minutes or tokens: the learning rate rises for 2 % of the run and falls over its second half."""
    opt, began, seen, last, shown = Optimiser(net, args.rate), time.time(), 0, 0, time.time()
    valid = args.valid and sources(args.valid, net.s["Vocab"], net.s["Context"])
    while True:
        now = time.time()
        done = max(seen / args.tokens if args.tokens else 0, (now - began) / 60 / args.minutes if args.minutes else 0)
        if done >= 1:
            break
        batch = mix.batch(args.batch)
        weight = sum(float(np.abs(w[1:]).sum()) for _, w in batch) or 1.0
        for p in net.w.values():
            p.grad = None
        entropy, balance, decisions, hits, load = net.loss(*padded(batch, device))
        (entropy / weight + 0.01 * balance).backward()
        opt.step(min(1, done / 0.02 if opt.steps else 0.01, (1 - done) / 0.5))
        seen += sum(len(t) for t, _ in batch)
        if now - shown >= 10:
            print(f"step {opt.steps}  {100 * done:.0f} %  loss {float(entropy) / weight:.4f}  accuracy {hits / max(decisions, 1):.3f}"
                  f"  busiest expert {load:.2f}x  {(seen - last) / (now - shown):.0f} tokens/s", flush=True)
            last, shown = seen, now
            save_checkpoint(args.out, net.s, net.flat())
    save_checkpoint(args.out, net.s, net.flat())
    if valid:
        print("held out: loss %.6f accuracy %.4f" % evaluate(net, valid, args.batch, device))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="dataset files: file:share,file:share…")
    p.add_argument("--valid", help="dataset files that are held out")
    p.add_argument("--init", help="checkpoint to start from")
    p.add_argument("--shape", type=json.loads, default=MAIN, help="shape of a new model, as JSON; what it lacks is as in the shipped one")
    p.add_argument("--out", default="model.ckpt", help="checkpoint to write")
    p.add_argument("--loss", action="store_true", help="only print the loss on the data")
    p.add_argument("--minutes", type=float, default=0, help="length of the run")
    p.add_argument("--tokens", type=float, default=0, help="length of the run in tokens")
    p.add_argument("--batch", type=int, default=16384, help="tokens of a step")
    p.add_argument("--rate", type=float, default=0.002, help="learning rate")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if args.init:
        shape, flat = load_checkpoint(args.init)
    else:
        shape = {**MAIN, **args.shape}
        flat = initial(shape, torch.Generator().manual_seed(args.seed))
    net = Net(shape, flat, device)
    data = sources(args.data, shape["Vocab"], shape["Context"])
    if args.loss:
        print("loss %.6f accuracy %.4f" % evaluate(net, data, args.batch, device))
        return
    if not args.minutes and not args.tokens:
        sys.exit("give --minutes or --tokens, the length of the run")
    torch.manual_seed(args.seed)
    learn(net, Mix(data, shape["Context"], np.random.default_rng(args.seed)), args, device)


if __name__ == "__main__":
    main()
